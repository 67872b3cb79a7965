import { sql, type Transaction } from 'kysely';
import type { Call } from '../http/handler.ts';
import { assertWithinLimit } from '../limit.ts';
import type { PolicyRow } from '../store/compute-schema.ts';
import type { ImageRow, Schema, UserRow } from '../store/schema.ts';
import { contactColumns } from './contact.ts';

/** Lists are read and sent whole: their size is limited, because they take memory, and the service does nothing else while it writes them. */
interface Listed {
  policies: PolicyRow;
  users: UserRow;
  images: ImageRow;
}

/** The columns with the longest texts of each list, and the column of the account. */
const listed: { readonly [T in keyof Listed]: { owner: keyof Listed[T] & string; texts: readonly (keyof Listed[T] & string)[] } } = {
  policies: { owner: 'account', texts: ['rules', 'description'] },
  users: { owner: 'account', texts: ['email', ...contactColumns] },
  images: { owner: 'owner', texts: ['tags', 'acl'] },
};

/** Rows up to this number of characters, and roles up to this number of members, are not counted: their number is limited. */
const fewCharacters = 1000;
const fewMembers = 10;

/**
 * Rejects a row that was written in the transaction if the list of the account is now too long. A row that did not grow is never rejected.
 * @throws {LimitReached} 409
 */
export async function assertListFits<T extends keyof Listed>(
  transaction: Transaction<Schema>,
  { account, settings }: Pick<Call, 'account' | 'settings'>,
  table: T,
  after: Listed[T],
  before?: Listed[T],
): Promise<void> {
  const { owner, texts } = listed[table];
  const measure = (row: Listed[T]): number => texts.reduce((sum, text) => sum + String(row[text] ?? '').length, 0);
  if (measure(after) <= Math.max(fewCharacters, before ? measure(before) : 0)) return;
  const length = sql.join(
    texts.map((text) => sql`coalesce(length(${sql.ref(text)}), 0)`),
    sql` + `,
  );
  const { rows } = await sql<{ total: number }>`
    select cast(sum(${length}) as bigint) as total from ${sql.table(table)} where ${sql.ref(owner)} = ${account.id}`.execute(transaction);
  const subject = { has: `the ${table} of an account may have`, counted: 'characters' };
  assertWithinLimit(settings, 'listCharacters', rows[0]?.total ?? 0, subject);
}

/**
 * Rejects members of a role that were written in the transaction if the roles of the account now have too many. A role that did not grow is
 * never rejected. @throws {LimitReached} 409
 */
export async function assertMembersFit(
  transaction: Transaction<Schema>,
  { account, settings }: Pick<Call, 'account' | 'settings'>,
  after: number,
  before: number,
): Promise<void> {
  if (after <= Math.max(fewMembers, before)) return;
  const { total } = await transaction
    .selectFrom('role_members')
    .innerJoin('roles', 'roles.id', 'role_members.role')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('roles.account', '=', account.id)
    .executeTakeFirstOrThrow();
  assertWithinLimit(settings, 'accountMembers', total, { has: 'the roles of an account may have', counted: 'members', field: 'members' });
}
