import type { Transaction } from 'kysely';
import type { Call } from '../http/handler.ts';
import type { ChangeRow } from '../store/compute-schema.ts';
import type { Schema } from '../store/schema.ts';

/**
 * Reads of sub-users, roles and policies may lag behind writes (compute specification, section 1, rule 6). For that, each change stores the
 * previous state of the object; a read shows the oldest stored state that is younger than the lag.
 */
type Lagging = Pick<Call, 'account' | 'settings' | 'now'>;

/** Stores the state of an object before a change; undefined if the object did not exist. Nothing is stored if reads do not lag. */
export async function noteChange(
  transaction: Transaction<Schema>,
  { account, settings: { staleness = 0 }, now }: Lagging,
  kind: ChangeRow['kind'],
  id: string,
  before: object | undefined,
): Promise<void> {
  if (staleness <= 0) return;
  const at = now();
  await transaction
    .deleteFrom('changes')
    .where('account', '=', account.id)
    .where('kind', '=', kind)
    .where('at', '<=', at - staleness)
    .execute();
  const values = { account: account.id, kind, id, at, before: before === undefined ? null : JSON.stringify(before) };
  await transaction.insertInto('changes').values(values).execute();
}

/** The objects of an account as a lagging read shows them. */
export async function showPast<T extends { id: string }>(
  { account, settings: { staleness = 0 }, now, store }: Lagging & Pick<Call, 'store'>,
  kind: ChangeRow['kind'],
  current: readonly T[],
): Promise<T[]> {
  if (staleness <= 0) return [...current];
  const rows = await store.db
    .selectFrom('changes')
    .select(['id', 'before'])
    .where('account', '=', account.id)
    .where('kind', '=', kind)
    .where('at', '>', now() - staleness)
    .orderBy('sequence', 'desc')
    .execute();
  // The oldest state comes last and replaces the newer ones.
  const past = new Map(rows.map(({ id, before }) => [id, before === null ? undefined : (JSON.parse(before) as T)]));
  const known = new Set(current.map(({ id }) => id));
  const gone = [...past].flatMap(([id, before]) => (known.has(id) || before === undefined ? [] : [before]));
  return [...current.flatMap((each) => (past.has(each.id) ? (past.get(each.id) ?? []) : [each])), ...gone];
}
