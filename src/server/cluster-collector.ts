import { randomUUID } from 'node:crypto';
import { sql, type Kysely } from 'kysely';
import { gatherItems, sliceList } from '../base/batches.ts';
import { findReferenced } from './storage/garbage.ts';
import { listValues } from './store/list-rows.ts';
import type { Schema } from './store/schema.ts';
import type { Store } from './store/store.ts';
import { beginCollection } from './store/postgres/collector.ts';
import { leaveDuty, takeDuty } from './store/postgres/duties.ts';
import {
  findHorizon,
  findKeep,
  findNoted,
  forgetGarbage,
  listGarbage,
  measureGarbage,
  seeGarbage,
  type Horizon,
  type Note,
} from './store/postgres/garbage.ts';

/** Ids per query, and contents removed concurrently. */
const batchSize = 500;
const removedAtOnce = 8;

/** Rows read per query. */
const rowsAtOnce = 5000;

/** Seconds without renewal after which a collector is considered dead. */
const dutySeconds = 60;

/**
 * Milliseconds by which orphans must be older than all running work, and than the time for which contents are kept: the clocks of the byte
 * store and the database may differ by this much.
 */
const orphanAge = 3_600_000;

/** Options of a collection. */
export interface CollectOptions {
  readonly store: Pick<Store, 'db' | 'bytes'>;
  /**
   * Milliseconds for which unreferenced contents are kept: a backup of the database of at most this age has all of its contents. They are
   * kept longer if a live gateway reports a longer time.
   */
  readonly keep?: number | undefined;
  /** True if the operator says that no other database uses the contents. */
  readonly takeOver?: boolean | undefined;
  /** True to scan all contents for those that a crash left without a note. */
  readonly sweep: boolean;
  /** True to report what would be removed without removing it. */
  readonly dryRun?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called for each id that is removed, or would be. */
  readonly onGone?: ((id: string, why: Reason) => void) | undefined;
}

/**
 * Why a content is removed: its object was overwritten or deleted (`unused`); nothing refers to it and no note exists (`orphan`); or its
 * upload in parts was never completed (`unfinished`).
 */
export type Reason = 'unused' | 'orphan' | 'unfinished';

/** Result of a collection. */
export interface Collected {
  /** Number of removed contents that were overwritten or deleted. */
  readonly removed: number;
  /** Number of removed contents that nothing referred to and that had no note, or that were never completed. */
  readonly orphans: number;
  /** Number of contents that wait for readers, or for the end of the time for which they are kept. */
  readonly waiting: number;
  /** Start of the longest-running work on any gateway, milliseconds since 1970: contents overwritten later must wait. */
  readonly horizon: number;
}

const counts: Record<Reason, number> = { unused: 0, orphan: 0, unfinished: 0 };

/** Number of contents removed by this process so far, by reason. */
export function countRemoved(): Readonly<typeof counts> {
  return counts;
}

/** Removes contents, unless nothing is to be removed, and reports them. @returns how many */
async function removeAll({ store, dryRun = false, onGone }: CollectOptions, ids: readonly string[], why: Reason): Promise<number> {
  for (const some of dryRun ? [] : sliceList(ids, removedAtOnce)) {
    await Promise.all(some.map((id) => store.bytes.remove(id)));
    counts[why] += some.length;
  }
  ids.forEach((id) => onGone?.(id, why));
  return ids.length;
}

/** Removes noted contents that nobody can be reading any more, after a final check that nothing refers to them. */
async function removeNoted(
  options: CollectOptions & { readonly keep: number },
  horizon: Horizon,
  goOn: () => Promise<boolean>,
): Promise<number> {
  const { store, keep, dryRun = false } = options;
  let removed = 0;
  for (let after = ''; await goOn();) {
    const notes: readonly Note[] = await listGarbage(store.db, horizon, { keep, after, most: batchSize });
    const last = notes.at(-1);
    if (last === undefined) break;
    const ids = notes.map(({ bytes }) => bytes);
    const referenced = await findReferenced(store.db, ids);
    const unused = ids.filter((id) => !referenced.has(id));
    removed += await removeAll(options, unused, 'unused');
    if (!dryRun) await forgetGarbage(store.db, notes);
    after = last.bytes;
  }
  return removed;
}

/**
 * Removes contents that no row names: a crash left them between storing the bytes and the row.
 * @param before milliseconds; contents written later are kept
 */
async function removeOrphans(options: CollectOptions, before: number, goOn: () => Promise<boolean>): Promise<number> {
  const { store } = options;
  let removed = 0;
  for await (const ids of gatherItems(store.bytes.list(before), batchSize)) {
    if (!(await goOn())) return removed;
    const referenced = await findReferenced(store.db, ids);
    const unused = ids.filter((id) => !referenced.has(id));
    // The order matters: a content that lost its last reference before the first query has its note by the second. Noted contents are
    // removed by `removeNoted`.
    const noted = await findNoted(store.db, unused);
    const orphans = unused.filter((id) => !noted.has(id));
    removed += await removeAll(options, orphans, 'orphan');
  }
  return removed;
}

/** Aborts uploads in parts that began before such a time: whoever began them is gone. */
async function removeUnfinished(options: CollectOptions, before: number, goOn: () => Promise<boolean>): Promise<number> {
  const { store, dryRun = false, onGone } = options;
  let removed = 0;
  for await (const { id, abort } of store.bytes.listUnfinished?.(before) ?? []) {
    if (!(await goOn())) break;
    if (!dryRun) {
      await abort();
      counts.unfinished += 1;
    }
    onGone?.(id, 'unfinished');
    removed += 1;
  }
  return removed;
}

/** Rows of a content table that no entry names: when two links are deleted at the same time, each deletion still sees the other link. */
async function findLostRows(db: Kysely<Schema>, table: 'contents' | 'pieces', column: 'id' | 'content'): Promise<string[]> {
  const name = sql.ref(column);
  const found: string[] = [];
  for (let after: string | undefined = ''; after !== undefined;) {
    const { rows } = await sql<{ id: string; used: boolean }>`
      select id, exists (select 1 from entries where content = id) as used
      from (select distinct ${name} as id from ${sql.table(table)} where ${name} > ${after} order by 1 limit ${rowsAtOnce}) as page
      order by id`.execute(db);
    found.push(...rows.filter(({ used }) => !used).map(({ id }) => id));
    after = rows.at(-1)?.id;
  }
  return found;
}

async function removeLostRows({ store: { db }, dryRun = false, onGone }: CollectOptions): Promise<number> {
  let removed = 0;
  for (const [table, column] of [
    ['contents', 'id'],
    ['pieces', 'content'],
  ] as const) {
    const lost = await findLostRows(db, table, column);
    for (const batch of sliceList(lost, batchSize)) {
      const name = sql.ref(column);
      if (!dryRun) {
        await sql`
          delete from ${sql.table(table)} where ${name} in (select value from ${listValues(db, JSON.stringify(batch))})
          and not exists (select 1 from entries where content = ${sql.ref(`${table}.${column}`)})`.execute(db);
        counts.orphan += batch.length;
      }
      batch.forEach((id) => onGone?.(id, 'orphan'));
    }
    removed += lost.length;
  }
  return removed;
}

/**
 * Removes contents that nothing refers to and that nobody reads, on any of the gateways of a database.
 * @returns undefined if another collector is running
 * @throws {LocalError} if another database may use the contents; an error about lack of space if the store is still full afterwards
 */
export async function collect(options: CollectOptions): Promise<Collected | undefined> {
  const { store, sweep, dryRun = false, signal, takeOver } = options;
  const { db } = store;
  const holder = randomUUID();
  if (!(await takeDuty(db, 'collect', holder, dutySeconds))) return undefined;
  const goOn = async (): Promise<boolean> => signal?.aborted !== true && (await takeDuty(db, 'collect', holder, dutySeconds));
  try {
    const begin = async (): Promise<unknown> => (dryRun ? undefined : beginCollection(db, store.bytes, takeOver));
    const full = await begin();
    // Notes marked as seen now can be removed once all running work began later, usually by the next collection.
    await seeGarbage(db);
    const horizon = await findHorizon(db);
    const { keep: kept, now } = await findKeep(db);
    const keep = Math.max(kept, options.keep ?? 0);
    const begun = Math.floor(horizon.milliseconds) - orphanAge;
    const before = Math.min(begun, Math.floor(now - keep) - orphanAge);
    const removed = await removeNoted({ ...options, keep }, horizon, goOn);
    const stillFull = full === undefined ? undefined : await begin();
    if (stillFull !== undefined) throw stillFull;
    const lost = sweep && (await goOn()) ? await removeLostRows(options) : 0;
    const orphans = sweep && (await goOn()) ? await removeOrphans(options, before, goOn) : 0;
    const unfinished = sweep && (await goOn()) ? await removeUnfinished(options, begun, goOn) : 0;
    const waiting = (await measureGarbage(db)).count - (dryRun ? removed : 0);
    return { removed, orphans: orphans + lost + unfinished, waiting, horizon: horizon.milliseconds };
  } finally {
    await leaveDuty(db, 'collect', holder);
  }
}
