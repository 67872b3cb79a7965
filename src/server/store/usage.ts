import { sql, type Kysely, type RawBuilder } from 'kysely';
import { sliceList } from '../../base/batches.ts';
import { batchSize, createFold, type DirectoryKey } from './counts.ts';
import { isPostgres } from './engine-of.ts';
import { prepareQuery } from './prepared-query.ts';
import type { Schema } from './schema.ts';

/** What an account uses of the object storage. */
export interface Usage {
  /** Total size of its objects, including links, and of the parts of its open uploads. */
  readonly bytes: number;
  /** Number of its objects and links, without directories and parts. */
  readonly objects: number;
}

const nothing: Usage = { bytes: 0, objects: 0 };

/** Maximum number of entries counted by one query. */
const pageSize = 100_000;

/** The rows whose sum is the usage of each account. One query reads all of them at the same moment. */
function selectParts(db: Kysely<Schema>): RawBuilder<unknown> {
  const rows = sql`select login, bytes, objects from storage_usage`;
  return isPostgres(db) ? sql`${rows} union all select login, bytes, objects from usage_changes` : rows;
}

const selectUsage = prepareQuery((db, { login }: { login: string }) =>
  sql<Usage>`select cast(coalesce(sum(bytes), 0) as bigint) as bytes, cast(coalesce(sum(objects), 0) as bigint) as objects
    from (${selectParts(db)}) as parts where login = ${login}`.compile(db),
);

/** What an account uses; in a transaction this includes its own writes. */
export async function readUsage(db: Kysely<Schema>, login: string): Promise<Usage> {
  const [usage = nothing] = await selectUsage(db, { login });
  return usage;
}

/** What accounts use, by login. Accounts that never had an object are not included. */
export async function listUsage(db: Kysely<Schema>): Promise<ReadonlyMap<string, Usage>> {
  const { rows } = await sql<Usage & { login: string }>`
    select login, cast(sum(bytes) as bigint) as bytes, cast(sum(objects) as bigint) as objects
    from (${selectParts(db)}) as parts group by login`.execute(db);
  return new Map(rows.map(({ login, ...usage }) => [login, usage]));
}

/** True if entries of an earlier release still have to be counted, so that usage is unknown. */
async function isUncounted(db: Kysely<Schema>): Promise<boolean> {
  const rows = await db.selectFrom('storage_usage').select('login').where('login', '=', '').execute();
  return rows.length > 0;
}

/** @returns the number of folded changes */
async function foldBatch(db: Kysely<Schema>): Promise<number> {
  const { rows } = await sql<{ changes: number }>`
    with folded as (
      delete from usage_changes where (login, number) in (
        select login, number from usage_changes order by login, number limit ${batchSize} for update skip locked
      ) returning login, bytes, objects
    ), sums as (
      select login, cast(sum(bytes) as bigint) as bytes, cast(sum(objects) as bigint) as objects from folded group by login
    ), added as (
      insert into storage_usage as of (login, bytes, objects) select login, bytes, objects from sums order by login
      on conflict (login) do update set bytes = of.bytes + excluded.bytes, objects = of.objects + excluded.objects
    )
    select count(*) as changes from folded`.execute(db);
  return rows[0]?.changes ?? 0;
}

/** Adds usage changes to the rows of their accounts, in small transactions for which no writer waits. */
export const foldUsage = createFold(foldBatch);

/** The last entry of the page after another entry; undefined if nothing is left. */
async function findPageEnd(db: Kysely<Schema>, after: DirectoryKey): Promise<DirectoryKey | undefined> {
  const { rows } = await sql<DirectoryKey>`
    select parent, name from (
      select parent, name from entries where (parent, name) > (${after.parent}, ${after.name}) order by parent, name limit ${pageSize}
    ) as page order by parent desc, name desc limit 1`.execute(db);
  return rows[0];
}

/** Usage of `entries` that has not been counted, by login, at one moment. */
async function findUncounted(db: Kysely<Schema>): Promise<Map<string, Usage>> {
  const totals = new Map<string, Usage>();
  const work = db.transaction().setIsolationLevel('repeatable read');
  await work.execute(async (transaction) => {
    for (const [login, { bytes, objects }] of await listUsage(transaction)) totals.set(login, { bytes: -bytes, objects: -objects });
    // A single query over all entries would take longer than the query timeout.
    let after: DirectoryKey = { parent: '', name: '' };
    for (let end = await findPageEnd(transaction, after); end; end = await findPageEnd(transaction, after)) {
      const { rows } = await sql<Usage & { login: string }>`
        select split_part(parent, '/', 2) as login, cast(coalesce(sum(size), 0) as bigint) as bytes,
          count(*) filter (where split_part(parent, '/', 3) <> 'uploads') as objects
        from entries where type = 'object' and (parent, name) > (${after.parent}, ${after.name})
          and (parent, name) <= (${end.parent}, ${end.name}) group by 1`.execute(transaction);
      for (const { login, bytes, objects } of rows) {
        const before = totals.get(login) ?? nothing;
        totals.set(login, { bytes: before.bytes + bytes, objects: before.objects + objects });
      }
      after = end;
    }
  });
  return totals;
}

/**
 * Counts entries that existed before usage was recorded; writers continue meanwhile, and their changes are recorded. Does nothing if this
 * has been done. After a kill it starts anew.
 */
export async function countEarlier(db: Kysely<Schema>): Promise<void> {
  if (!isPostgres(db) || !(await isUncounted(db))) return;
  const totals = [...(await findUncounted(db))].filter(([login]) => login !== '');
  await db.transaction().execute(async (transaction) => {
    const marker = await transaction.deleteFrom('storage_usage').where('login', '=', '').executeTakeFirst();
    // Another process has done it.
    if (Number(marker.numDeletedRows) === 0) return;
    const rows = totals.map(([login, usage]) => ({ login, ...usage }));
    for (const batch of sliceList(rows, batchSize)) await transaction.insertInto('usage_changes').values(batch).execute();
  });
}
