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

/** Whether a lookup failed. */
export function isFailure(value: Place | Source | Failure): value is Failure {
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

/** A path that a job is to read, and on whose behalf. */
export interface Wanted {
  readonly path: string;
  /** Number of who added it, beside the creator; null for nobody else. */
  readonly adder: number | null;
  /** Whether the job wrote the object itself: it may read that whatever the policies say. */
  readonly isOwn: boolean;
}

/** What is wanted by an input of a phase. Behind the first phase it is an output of the job, unless a task named its path. */
export function wantInput(phase: number, { input, adder, given }: Pick<JobReduceInputRow, 'input' | 'adder' | 'given'>): Wanted {
  return { path: input, adder, isOwn: phase > 0 && given === 0 };
}

async function findAdder({ db }: Store, { id, adders }: ActiveJob, number: number): Promise<Party> {
  const known = adders.get(number);
  if (known) return known;
  const row = await db.selectFrom('job_adders').selectAll().where('job', '=', id).where('number', '=', number).executeTakeFirstOrThrow();
  const party = await loadParty(db, row);
  adders.set(number, party);
  return party;
}

/** Decides for the creator of a job and those who added inputs: undefined for what all concerned may read. */
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

/** What is at these paths for those on whose behalf a job reads them, in their order: something to read, or why there is nothing. */
export async function resolveSources(store: Store, job: ActiveJob, wanted: readonly Wanted[]): Promise<(Source | Failure)[]> {
  const found: (Source | Failure)[] = [];
  for (const some of sliceList(wanted, batchSize)) found.push(...(await resolveBatch(store, job, some)));
  return found;
}

/** Bytes up to which a file is written in one step. */
const smallSize = 64 * 1024;

/** Writes bytes to a new file. */
async function copyBytes(body: ByteStream, size: number, file: string): Promise<void> {
  // At once: it costs less than handing it to another thread.
  if (size <= smallSize) writeFileSync(file, await readAll(body), { mode: 0o600 });
  else await pipeline(body, createWriteStream(file, { mode: 0o600 }));
}

/** Puts the bytes of a source at `file`; false when the object was replaced since it was looked up. */
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

/** Gives a file the bytes of a content, where that has a place of its own in the byte store. */
async function shareContent(store: Store, content: string, file: string): Promise<boolean> {
  return !content.startsWith('pieces/') && (await store.bytes.place(content, file));
}

/** Puts the bytes of an object at `file` that is replaced again and again: its content is held from the look-up on. */
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
 * Puts the bytes of an object that was looked up at `file`: those it had then, or, when it was replaced since, those it has now,
 * if they may be read. `shared` saves the copy; whoever reads the file must not be able to write it then.
 * @returns why there is nothing to read any more.
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
