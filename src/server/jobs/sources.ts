import { createWriteStream, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { readAll, type ByteStream } from '../../api/message.ts';
import { storage } from '../../api/storage.ts';
import { sliceList } from '../../base/batches.ts';
import { ApiError } from '../../base/errors.ts';
import { findAccount } from '../access/accounts.ts';
import { holdEntry, openContent } from '../storage/contents.ts';
import { placeOfAbsolute, type Place } from '../storage/paths.ts';
import { isAmong } from '../store/list-rows.ts';
import type { JobReduceInputRow } from '../store/job-schema.ts';
import type { EntryRow } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { ActiveJob, Source } from './active-job.ts';
import { createJudge, loadParty, type Judge, type Party } from './party.ts';
import type { Failure } from './outcome.ts';

const notObject = 'a directory, not an object';

/** Paths looked up in one query. */
const batchSize = 500;

/** True if a lookup failed. */
function isFailure(value: Place | Source | Failure): value is Failure {
  return 'code' in value;
}

function failMissing(path: string, why = 'no such object'): Failure {
  return { code: 'EJ_NOENT', message: `${why}: "${path}"` };
}

function placeInput(path: string): Place | Failure {
  try {
    return placeOfAbsolute(path) ?? failMissing(path, 'not the path of an object');
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return failMissing(path, error.message);
  }
}

async function findEntries({ db }: Store, places: readonly Place[]): Promise<ReadonlyMap<string, EntryRow>> {
  const rows = await db.selectFrom('entries').selectAll().where(isAmong(db, places)).execute();
  return new Map(rows.map((row) => [`${row.parent}/${row.name}`, row]));
}

/** A path that a job reads, and the party on whose behalf it does. */
export interface Wanted {
  readonly path: string;
  /** Number of the party that added it, if that is not the creator; otherwise null. */
  readonly adder: number | null;
  /** True if the job wrote the object itself: then it may be read regardless of policies. */
  readonly isOwn: boolean;
}

/** The path to read for an input of a phase. After the first phase inputs are the job's own outputs, unless a task named the path. */
export function wantInput(phase: number, { input, adder, given }: Pick<JobReduceInputRow, 'input' | 'adder' | 'given'>): Wanted {
  return { path: input, adder, isOwn: phase > 0 && given === 0 };
}

/** Another party that added inputs. It is not kept after a batch: a job can have as many as inputs. */
async function findAdder({ db }: Store, { id }: ActiveJob, number: number): Promise<Party> {
  const row = await db.selectFrom('job_adders').selectAll().where('job', '=', id).where('number', '=', number).executeTakeFirstOrThrow();
  return loadParty(db, row);
}

/** Creates a check on behalf of the creator of a job and of those who added inputs: undefined if all concerned may read the object. */
function createReadingJudge(store: Store, job: ActiveJob): (place: Place, adder: number | null) => Promise<Failure | undefined> {
  const accounts = new Map([[job.account.login, job.account]]);
  const creator = createJudge(store, job.creator, job);
  const adders = new Map<number, Promise<Judge>>();
  const findJudge = (number: number): Promise<Judge> => {
    const judge = adders.get(number) ?? findAdder(store, job, number).then((party) => createJudge(store, party, job));
    adders.set(number, judge);
    return judge;
  };
  return async (place, adder) => {
    const account = accounts.get(place.login) ?? (await findAccount(store.db, 'storage', place.login));
    if (!account) return failMissing(place.path);
    accounts.set(place.login, account);
    try {
      await creator(storage.getObject, account, place);
      if (adder !== null) await (await findJudge(adder))(storage.getObject, account, place);
      return undefined;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return error.status === 404 ? failMissing(place.path) : { code: 'EJ_ACCES', message: `permission denied: "${place.path}"` };
    }
  };
}

async function resolveBatch(store: Store, job: ActiveJob, wanted: readonly Wanted[]): Promise<(Source | Failure)[]> {
  const places = wanted.map(({ path }) => placeInput(path));
  const valid = places.filter((place): place is Place => !isFailure(place));
  const entries = valid.length === 0 ? new Map<string, EntryRow>() : await findEntries(store, valid);
  const judge = createReadingJudge(store, job);
  const resolve = async (place: Place | Failure, { adder, isOwn }: Wanted): Promise<Source | Failure> => {
    if (isFailure(place)) return place;
    const refusal = isOwn ? undefined : await judge(place, adder);
    if (refusal) return refusal;
    const entry = entries.get(place.path);
    if (!entry) return failMissing(place.path);
    if (entry.type === 'directory') return failMissing(place.path, notObject);
    return { place, content: entry.content, size: entry.size ?? 0 };
  };
  return Promise.all(wanted.map((each, index) => resolve(places[index] ?? failMissing(each.path), each)));
}

/** Looks up the paths on behalf of the parties concerned: for each path, in order, a source to read or the failure. */
export async function resolveSources(store: Store, job: ActiveJob, wanted: readonly Wanted[]): Promise<(Source | Failure)[]> {
  const found: (Source | Failure)[] = [];
  for (const some of sliceList(wanted, batchSize)) found.push(...(await resolveBatch(store, job, some)));
  return found;
}

/** Files up to this size in bytes are written synchronously. */
const smallSize = 64 * 1024;

async function copyBytes(body: ByteStream, size: number, file: string): Promise<void> {
  // Synchronously: that costs less than handing the bytes to another thread.
  if (size <= smallSize) writeFileSync(file, await readAll(body), { mode: 0o600 });
  else await pipeline(body, createWriteStream(file, { mode: 0o600 }));
}

/** Places the content of a source at `file`; false if the object was replaced since it was looked up. */
async function placeContent(store: Store, { content, size }: Source, file: string, shared: boolean): Promise<boolean> {
  if (content === null || size === 0) {
    await writeFile(file, '');
    return true;
  }
  if (shared && (await shareContent(store, content, file))) return true;
  const body = await openContent(store, content, { start: 0, end: size });
  if (body) await copyBytes(body, size, file);
  return body !== undefined;
}

/** Places a content at `file` without copying it, if it has a file of its own in the byte store. False if it has none. */
async function shareContent(store: Store, content: string, file: string): Promise<boolean> {
  return !content.startsWith('pieces/') && (await store.bytes.place(content, file));
}

/** Places the bytes of an object at `file` that is replaced repeatedly: its content is held from the lookup on. */
async function placeHeld(store: Store, place: Place, file: string, shared: boolean): Promise<Failure | undefined> {
  const held = await holdEntry(store, place);
  if (!held) return failMissing(place.path);
  try {
    const { content, type, size } = held.entry;
    if (type === 'directory') return failMissing(place.path, notObject);
    if (content !== null && shared && (await shareContent(store, content, file))) return undefined;
    await copyBytes(held.read(), size ?? 0, file);
    return undefined;
  } finally {
    held.release();
  }
}

/**
 * Places the bytes of a looked-up object at `file`: those it had at the lookup or, if it was replaced since, its present ones, if they may
 * be read. `shared` saves the copy; the file must then not be writable by its reader.
 * @returns the failure if there is nothing to read any more
 */
export async function placeSource(
  store: Store,
  job: ActiveJob,
  { wanted, source }: { wanted: Wanted; source: Source },
  { file, shared }: { file: string; shared: boolean },
): Promise<Failure | undefined> {
  if (await placeContent(store, source, file, shared)) return undefined;
  const [current] = await resolveSources(store, job, [wanted]);
  if (!current || isFailure(current)) return current ?? failMissing(wanted.path);
  return placeHeld(store, source.place, file, shared);
}
