import { createWriteStream } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { sql } from 'kysely';
import { storage } from '../../api/storage.ts';
import { ApiError, isSystemError } from '../../errors.ts';
import { findAccount } from '../accounts.ts';
import { authorise } from '../authorise.ts';
import { openContent } from '../storage/contents.ts';
import { placeOfAbsolute, type Place } from '../storage/paths.ts';
import { listRows } from '../store/list-rows.ts';
import type { AccountRow, EntryRow } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { ActiveJob, Failure } from './active-job.ts';

/** An object that a task may read. */
export interface Source {
  readonly place: Place;
  readonly content: string | null;
  readonly size: number;
}

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

async function findEntries(store: Store, places: readonly Place[]): Promise<ReadonlyMap<string, EntryRow>> {
  const pairs = listRows(places.map(({ parent, name }) => [parent, name]));
  const rows = await store.db
    .selectFrom('entries')
    .selectAll()
    .where(sql<boolean>`(parent, name) in (select value ->> 0, value ->> 1 from ${pairs})`)
    .execute();
  return new Map(rows.map((row) => [`${row.parent}/${row.name}`, row]));
}

/** What the rights of the job's creator make of a path: undefined when it may be read. */
async function refuseReading(store: Store, job: ActiveJob, place: Place, accounts: Map<string, AccountRow>): Promise<Failure | undefined> {
  const account = accounts.get(place.login) ?? (await findAccount(store.db, 'storage', place.login));
  if (!account) return failMissing(place.path);
  accounts.set(place.login, account);
  const { caller, access } = job;
  const { named, sourceip, userAgent } = access;
  const context = { now: Date.now(), method: 'GET', sourceip, userAgent, conditions: { fromjob: true } };
  const inputs = { account: place.login, path: place.parts.join('/') };
  try {
    await authorise({ store, caller, account, operation: storage.getObject, path: place.path, inputs, named, context });
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.status === 404 ? failMissing(place.path) : { code: 'EJ_ACCES', message: `permission denied: "${place.path}"` };
  }
}

async function resolveBatch(store: Store, job: ActiveJob, paths: readonly string[], isOwn: boolean): Promise<(Source | Failure)[]> {
  const places = paths.map(placeInput);
  const valid = places.filter((place): place is Place => !isFailure(place));
  const entries = valid.length === 0 ? new Map<string, EntryRow>() : await findEntries(store, valid);
  const accounts = new Map([[job.account.login, job.account]]);
  const resolve = async (place: Place | Failure): Promise<Source | Failure> => {
    if (isFailure(place)) return place;
    const refusal = isOwn ? undefined : await refuseReading(store, job, place, accounts);
    if (refusal) return refusal;
    const entry = entries.get(place.path);
    if (!entry) return failMissing(place.path);
    if (entry.type === 'directory') return failMissing(place.path, 'a directory, not an object');
    return { place, content: entry.content, size: entry.size ?? 0 };
  };
  return Promise.all(places.map(resolve));
}

/**
 * What is at these paths for the creator of a job, in their order: something to read, or why there is nothing.
 * @param phase what the paths are inputs of: behind the first phase they are outputs of the job itself, which it may read.
 */
export async function resolveSources(store: Store, job: ActiveJob, paths: readonly string[], phase = 0): Promise<(Source | Failure)[]> {
  const found: (Source | Failure)[] = [];
  for (let index = 0; index < paths.length; index += batchSize) {
    found.push(...(await resolveBatch(store, job, paths.slice(index, index + batchSize), phase > 0)));
  }
  return found;
}

/** The object was replaced between looking it up and reading it. */
export class SourceReplaced extends Error {
  override readonly name = 'SourceReplaced';
}

async function copyContent(store: Store, { content, size }: Source, file: string): Promise<void> {
  const body = content === null ? undefined : await openContent(store, content, 0, size);
  if (!body) throw new SourceReplaced('the object was replaced');
  await pipeline(body, createWriteStream(file, { mode: 0o600 }));
}

/**
 * Puts the bytes of an object at `file`. `shared` saves the copy; whoever reads the file must not be able to write it then.
 * @throws {SourceReplaced} when the object was replaced meanwhile.
 */
export async function placeSource(store: Store, source: Source, file: string, { shared }: { shared: boolean }): Promise<void> {
  const { content, size } = source;
  if (content === null || size === 0) return writeFile(file, '');
  if (!shared || content.startsWith('pieces/')) return copyContent(store, source, file);
  try {
    store.bytes.link(content, file);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (error.code === 'ENOENT') throw new SourceReplaced('the object was replaced');
    await copyContent(store, source, file);
  }
}

/** Puts an asset at `file`, as something that can be run. */
export async function placeAsset(store: Store, source: Source, file: string): Promise<void> {
  await placeSource(store, source, file, { shared: false });
  await chmod(file, 0o755);
}
