import { lstatSync, type BigIntStats } from 'node:fs';
import type { Entry } from '../../config/journal-entry.ts';
import type { Work } from '../../config/journal-file.ts';
import type { Engine } from '../../transfer/engine.ts';
import type { Fetched } from '../../transfer/download/write-object.ts';
import { PlaceTakenError } from '../../transfer/local/partial-file.ts';
import { printRemotePath, readRemotePath, type RemotePath } from '../../transfer/path.ts';
import { isStoredAlready } from './put-once.ts';
import type { FetchStep } from './remember.ts';

/** How `get` resumes: each object is fetched once, and changes that others have made to the file since are kept. */

function describeState({ size, mtimeNs, ctimeNs, ino }: BigIntStats): string {
  return [size, mtimeNs, ctimeNs, ino].join(' ');
}

function look(file: string): BigIntStats | undefined {
  return lstatSync(file, { bigint: true, throwIfNoEntry: false });
}

/** What an earlier run noted about a file that it wrote. */
interface Noted {
  readonly etag: string;
  readonly state: string;
}

function readNoted(text: string | undefined): Noted | undefined {
  if (text === undefined) return undefined;
  const [etag = '', state = ''] = JSON.parse(text) as string[];
  return { etag, state };
}

/**
 * The etag of the version that an earlier run has written; undefined if the object has to be fetched. A file that was written after the work
 * began, and not noted, comes from that run only if it has the content of the object: the run was killed before it could note the file.
 * @throws {PlaceTakenError} when somebody else has written the file since
 */
async function findDone(engine: Engine, entry: Entry, { source, file, etag }: FetchStep): Promise<string | undefined> {
  const noted = readNoted(entry.find(file));
  const stats = entry.isResumed || noted ? look(file) : undefined;
  if (stats === undefined) return undefined;
  if (noted && describeState(stats) === noted.state) return etag === undefined || etag === noted.etag ? noted.etag : undefined;
  if (!noted && Number(stats.ctimeMs) <= entry.began) return undefined;
  const stored = noted || !stats.isFile() ? undefined : await isStoredAlready(engine, { file, size: Number(stats.size) }, source);
  if (stored) return stored.etag;
  throw new PlaceTakenError(`${file} was created or changed meanwhile: left alone`);
}

/** Fetches an object, unless an earlier run did and neither the object nor the file has changed since. */
export async function getOnce(
  { engine, entry }: { readonly engine: Engine; readonly entry: Entry | undefined },
  step: FetchStep,
  fetch: () => Promise<Fetched>,
): Promise<{ fetched: Fetched; isOld: boolean }> {
  if (entry === undefined) return { fetched: await fetch(), isOld: false };
  const { source, file } = step;
  const done = await findDone(engine, entry, step);
  if (done !== undefined) {
    const size = Number(look(file)?.size ?? 0);
    const path = printRemotePath(source);
    const ticket = engine.monitor.begin(path, size);
    ticket.keep(size);
    ticket.end('done');
    const seen = { md5: undefined, kept: undefined, made: undefined };
    return { fetched: { path, file, size, etag: done, mtime: undefined, seen }, isOld: true };
  }
  const fetched = await fetch();
  // Outside trees, the path may be a link to the file.
  const stats = step.tree === undefined ? look(file) : fetched.seen.named;
  // Nothing is known of a file that somebody has replaced.
  const isOwn = fetched.seen.made === undefined || Number(stats?.ino) === fetched.seen.made.ino;
  if (stats && isOwn && fetched.etag !== undefined) entry.note(file, JSON.stringify([fetched.etag, describeState(stats)]));
  return { fetched, isOld: false };
}

/** The sources of an earlier run, and the file for each. */
export function readFiles({ placed }: Entry, account: string): Map<RemotePath, string> {
  return new Map(placed.map(([source, file]) => [readRemotePath(source, account), file]));
}

/** The journal entry of a `get`. */
export function declareGet(options: object, files: ReadonlyMap<RemotePath, string>): Work {
  return {
    command: 'stor get',
    kind: 'download',
    args: { path: [] },
    options: { ...options, noTargetDirectory: true },
    placed: [...files].map(([source, file]) => [printRemotePath(source), file]),
  };
}
