import { randomUUID } from 'node:crypto';
import { sql, type Kysely } from 'kysely';
import { gatherItems, sliceList } from '../base/batches.ts';
import { findReferenced } from './storage/contents.ts';
import { listValues } from './store/list-rows.ts';
import type { Schema } from './store/schema.ts';
import type { Store } from './store/store.ts';
import { leaveDuty, takeDuty } from './store/postgres/duties.ts';
import {
  findHorizon,
  findNoted,
  forgetGarbage,
  listGarbage,
  measureGarbage,
  seeGarbage,
  type Horizon,
  type Note,
} from './store/postgres/garbage.ts';

/** Ids looked at in one query, and contents removed at once. */
const batchSize = 500;
const removedAtOnce = 8;

/** Rows looked through in one query. */
const rowsAtOnce = 5000;

/** Seconds for which a collector that does not say more is taken for alive. */
const dutySeconds = 60;

/** Milliseconds by which orphans are older than whatever runs: clocks of the byte store and of the database may differ by so much. */
const orphanAge = 3_600_000;

/** What a collector works with. */
export interface CollectOptions {
  readonly store: Pick<Store, 'db' | 'bytes'>;
  /** Milliseconds for which what nothing refers to is kept: a backup of the database that is not older has all its contents. */
  readonly keep?: number | undefined;
  /** Whether to look through all contents for those that a crash left, which no note tells of. */
  readonly sweep: boolean;
  /** Removes nothing, and says what would go. */
  readonly dryRun?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Told of each id that goes, or would. */
  readonly onGone?: ((id: string, why: Reason) => void) | undefined;
}

/**
 * Why a content goes: its object was overwritten or deleted; nothing refers to it and nobody noted why; or who stored it in parts ended before
 * the last of them.
 */
export type Reason = 'unused' | 'orphan' | 'unfinished';

/** What a collection did. */
export interface Collected {
  /** Contents that were overwritten or deleted, and are removed. */
  readonly removed: number;
  /** Contents that nothing ever referred to, no note tells of, or that were never finished, and are removed. */
  readonly orphans: number;
  /** Contents that wait for readers, or until they were kept for as long as is wanted. */
  readonly waiting: number;
  /** Start of what runs longest on any gateway, milliseconds since 1970: what was overwritten later waits. */
  readonly horizon: number;
}

/** Contents that this process has removed. */
const counts: Record<Reason, number> = { unused: 0, orphan: 0, unfinished: 0 };

/** How many contents this process has removed so far, and why. */
export function countRemoved(): Readonly<typeof counts> {
  return counts;
}

async function removeAll(store: Pick<Store, 'bytes'>, ids: readonly string[], why: Reason): Promise<void> {
  for (const some of sliceList(ids, removedAtOnce)) {
    await Promise.all(some.map((id) => store.bytes.remove(id)));
    counts[why] += some.length;
  }
}

/** Removes what was noted and nobody can be reading any more, after a last look whether something refers to it. */
async function removeNoted(options: CollectOptions, horizon: Horizon, goOn: () => Promise<boolean>): Promise<number> {
  const { store, keep = 0, dryRun = false, onGone } = options;
  let removed = 0;
  for (let after = ''; await goOn();) {
    const notes: readonly Note[] = await listGarbage(store.db, horizon, { keep, after, most: batchSize });
    const last = notes.at(-1);
    if (last === undefined) break;
    const ids = notes.map(({ bytes }) => bytes);
    const referenced = await findReferenced(store.db, ids);
    const unused = ids.filter((id) => !referenced.has(id));
    if (!dryRun) {
      await removeAll(store, unused, 'unused');
      await forgetGarbage(store.db, notes);
    }
    unused.forEach((id) => onGone?.(id, 'unused'));
    removed += unused.length;
    after = last.bytes;
  }
  return removed;
}

/** Removes contents that no row names and that are older than all that runs: what a crash left between storing bytes and their row. */
async function removeOrphans(options: CollectOptions, { milliseconds }: Horizon, goOn: () => Promise<boolean>): Promise<number> {
  const { store, dryRun = false, onGone } = options;
  let removed = 0;
  for await (const ids of gatherItems(store.bytes.list(Math.floor(milliseconds) - orphanAge), batchSize)) {
    if (!(await goOn())) return removed;
    const referenced = await findReferenced(store.db, ids);
    const unused = ids.filter((id) => !referenced.has(id));
    // In this order: what is not referred to any more by the first look is noted by the second. Notes are removed by their own rules.
    const noted = await findNoted(store.db, unused);
    const orphans = unused.filter((id) => !noted.has(id));
    if (!dryRun) await removeAll(store, orphans, 'orphan');
    orphans.forEach((id) => onGone?.(id, 'orphan'));
    removed += orphans.length;
  }
  return removed;
}

/** Gives up contents that were begun before all that runs: whoever stored them is gone. */
async function removeUnfinished(options: CollectOptions, { milliseconds }: Horizon, goOn: () => Promise<boolean>): Promise<number> {
  const { store, dryRun = false, onGone } = options;
  let removed = 0;
  for await (const { id, abort } of store.bytes.listUnfinished?.(Math.floor(milliseconds) - orphanAge) ?? []) {
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

/** Goes through the ids of a table in pages. */
async function forPages(read: (after: string) => Promise<{ ids: readonly string[]; last: string | undefined }>): Promise<string[]> {
  const found: string[] = [];
  for (let after = ''; ;) {
    const { ids, last } = await read(after);
    found.push(...ids);
    if (last === undefined) return found;
    after = last;
  }
}

/** Rows of a table of contents that no entry names: two links that were deleted at the same time each found the other. */
function findLostRows(db: Kysely<Schema>, table: 'contents' | 'pieces', column: 'id' | 'content'): Promise<string[]> {
  const name = sql.ref(column);
  return forPages(async (after) => {
    const { rows } = await sql<{ id: string; used: boolean }>`
      select id, exists (select 1 from entries where content = id) as used
      from (select distinct ${name} as id from ${sql.table(table)} where ${name} > ${after} order by 1 limit ${rowsAtOnce}) as page
      order by id`.execute(db);
    return { ids: rows.filter(({ used }) => !used).map(({ id }) => id), last: rows.at(-1)?.id };
  });
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
 * Removes contents that nothing refers to and nobody reads, on any of the gateways of a database.
 * @returns undefined where another collector is at work.
 */
export async function collect(options: CollectOptions): Promise<Collected | undefined> {
  const { store, sweep, dryRun = false, signal } = options;
  const { db } = store;
  const holder = randomUUID();
  if (!(await takeDuty(db, 'collect', holder, dutySeconds))) return undefined;
  const goOn = async (): Promise<boolean> => signal?.aborted !== true && (await takeDuty(db, 'collect', holder, dutySeconds));
  try {
    // Seen now, they can go when all that runs began later: mostly at the next collection.
    await seeGarbage(db);
    const horizon = await findHorizon(db);
    const removed = await removeNoted(options, horizon, goOn);
    const lost = sweep && (await goOn()) ? await removeLostRows(options) : 0;
    const orphans = sweep && (await goOn()) ? await removeOrphans(options, horizon, goOn) : 0;
    const unfinished = sweep && (await goOn()) ? await removeUnfinished(options, horizon, goOn) : 0;
    const waiting = (await measureGarbage(db)).count - (dryRun ? removed : 0);
    return { removed, orphans: orphans + lost + unfinished, waiting, horizon: horizon.milliseconds };
  } finally {
    await leaveDuty(db, 'collect', holder);
  }
}
