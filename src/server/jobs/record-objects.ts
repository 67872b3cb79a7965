import { randomUUID } from 'node:crypto';
import { sql, type Transaction } from 'kysely';
import { ApiError } from '../../base/errors.ts';
import { groupBy } from '../../base/group-by.ts';
import type { ServiceSettings } from '../settings.ts';
import { releaseContents, type Garbage } from '../storage/garbage.ts';
import { ensureDirectory, findForWriting, findObstacle, putEntry, refuseDirectory, type Found } from '../storage/entries.ts';
import { chooseObjectHeaders, defaultCopies } from '../storage/headers.ts';
import { refuseJobPlace } from '../storage/job-places.ts';
import { parentOf, refuseRoot, refuseUploads, type Place } from '../storage/paths.ts';
import { changeCount } from '../store/counts.ts';
import { listRows } from '../store/list-rows.ts';
import { insertRows } from '../store/row-bytes.ts';
import type { EntryRow, Schema } from '../store/schema.ts';
import { failOutput } from './collect-outputs.ts';
import { openOutputRoom, type Placed, type TakeOutputRoom } from './output-room.ts';
import type { Failure, NamedObject, NewObject } from './outcome.ts';
import type { Result } from './result.ts';

/** Inserts the contents of objects that are stored in database rows. */
async function putRows(transaction: Transaction<Schema>, objects: readonly NewObject[]): Promise<void> {
  const rows = objects.flatMap(({ content, row }) => (content !== null && row ? [{ id: content, bytes: row }] : []));
  await insertRows(transaction, rows);
}

/** Creates objects and their missing directories; each object gets the role tags of its directory. */
export async function putObjects(transaction: Transaction<Schema>, objects: readonly NewObject[], now: number): Promise<void> {
  await putRows(transaction, objects);
  for (const [parent, group] of groupBy(objects, ({ place }) => place.parent)) {
    const above = group[0] && parentOf(group[0].place);
    const roleTags = above ? await ensureDirectory(transaction, above, now) : '[]';
    const headers = group[0] && JSON.stringify(chooseObjectHeaders({}, group[0].place));
    const rows = group.map(({ place, content, size, md5 }) => [place.name, randomUUID(), size, md5, content]);
    await sql`
      insert into entries (parent, name, type, etag, mtime, size, md5, content, copies, headers, role_tags, children)
      select ${parent}, value ->> 0, 'object', value ->> 1, cast(${now} as bigint), cast(value ->> 2 as bigint), value ->> 3, value ->> 4,
        cast(${defaultCopies} as bigint), ${headers}, ${roleTags}, 0
      from ${listRows(transaction, rows)}`.execute(transaction);
    if (above) await changeCount(transaction, above, group.length);
  }
}

function listObjects(result: Result): readonly NewObject[] {
  if (result.kind === 'output') return result.output.objects;
  return 'failure' in result ? (result.failure.objects ?? []) : [];
}

/** All objects that were stored for a result. */
export function listStored(result: Result): NewObject[] {
  const named = result.kind === 'output' ? result.output.named : [];
  return [...listObjects(result), ...named];
}

/**
 * The result without its objects, which cannot be stored: an output becomes a failure, and a failure loses the objects that it would have
 * kept.
 */
function withoutObjects(result: Result, failure: Failure): Result {
  const { task, zone } = result;
  if (result.kind === 'output') return { kind: 'failure', task, zone, failure };
  if (!('failure' in result)) return result;
  return { ...result, failure: { code: result.failure.code, message: result.failure.message } };
}

/** @throws {ApiError} the error of a PUT of the object */
async function findNamedPlace(transaction: Transaction<Schema>, place: Place): Promise<Found> {
  refuseRoot(place);
  refuseUploads(place);
  await refuseJobPlace(transaction, place, 'write');
  const found = await findForWriting(transaction, place);
  refuseDirectory(place, found.entry);
  return found;
}

/** The objects that a task named, in order, each with the entry that it replaces; or the failure of one that cannot be stored. */
async function checkNamed(transaction: Transaction<Schema>, result: Result): Promise<readonly Placed[] | Failure> {
  const placed: Placed[] = [];
  for (const { place, size } of result.kind === 'output' ? result.output.named : []) {
    try {
      const { entry } = await findNamedPlace(transaction, place);
      placed.push({ place, size, replaced: entry });
    } catch (error) {
      if (error instanceof ApiError) return failOutput(place.path, error);
      throw error;
    }
  }
  return placed;
}

/** The failure if the objects of a result cannot be stored; undefined if they can, and then their room is reserved. */
async function findFailure(transaction: Transaction<Schema>, takeRoom: TakeOutputRoom, result: Result): Promise<Failure | undefined> {
  const named = await checkNamed(transaction, result);
  if ('code' in named) return named;
  const refusal = takeRoom([...listObjects(result), ...named]);
  return refusal && failOutput(named[0]?.place.path, refusal);
}

/** Stores the objects that tasks named, replacing existing ones. @returns the contents that were replaced */
export async function putNamed(transaction: Transaction<Schema>, named: readonly NamedObject[], now: number): Promise<Garbage[]> {
  await putRows(transaction, named);
  const replaced: (EntryRow | undefined)[] = [];
  for (const { place, content, size, md5, headers, copies } of named) {
    const { parent, entry } = await findNamedPlace(transaction, place);
    replaced.push(entry);
    const version = { type: 'object' as const, etag: randomUUID(), mtime: now, size, md5, content, copies, headers };
    await putEntry(transaction, place, entry, { ...version, role_tags: entry?.role_tags ?? parent.role_tags });
  }
  return releaseContents(transaction, replaced);
}

/**
 * Finds objects that cannot be stored at their paths before anything is written, so that only the task concerned fails.
 * @returns the results that can be recorded, and the objects whose contents nothing refers to
 */
export async function settleObjects(
  transaction: Transaction<Schema>,
  results: readonly Result[],
  settings: ServiceSettings,
): Promise<{ settled: Result[]; unused: NewObject[] }> {
  const obstacles = new Map<string, string>();
  for (const [parent, group] of groupBy(results.flatMap(listObjects), ({ place }) => place.parent)) {
    const above = group[0] && parentOf(group[0].place);
    const obstacle = above && (await findObstacle(transaction, above, group.length));
    if (obstacle !== undefined) obstacles.set(parent, obstacle);
  }
  const named = results.flatMap((result) => (result.kind === 'output' ? result.output.named : []));
  const takeRoom = await openOutputRoom(transaction, settings, [...results.flatMap(listObjects), ...named]);
  const unused: NewObject[] = [];
  const settled: Result[] = [];
  for (const result of results) {
    const obstacle = listObjects(result)
      .map(({ place }) => obstacles.get(place.parent))
      .find((found) => found !== undefined);
    const failure =
      obstacle === undefined
        ? await findFailure(transaction, takeRoom, result)
        : { code: 'UserTaskError', message: `the output cannot be stored: ${obstacle}` };
    if (failure) unused.push(...listStored(result));
    settled.push(failure ? withoutObjects(result, failure) : result);
  }
  return { settled, unused };
}
