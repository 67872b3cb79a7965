import { statSync } from 'node:fs';
import { ApiError } from '../../base/errors.ts';
import type { Entry } from '../../config/journal-entry.ts';
import type { Placed, Work } from '../../config/journal-file.ts';
import type { Engine } from '../../transfer/engine.ts';
import { inspect } from '../../transfer/inspect.ts';
import type { FileSource, Source } from '../../transfer/local/source.ts';
import { hashFile } from '../../transfer/local/walk.ts';
import { printRemotePath, readTargetPath, type RemotePath } from '../../transfer/path.ts';
import { isConditionFailed } from '../../transfer/precondition.ts';
import type { PutOptions, Stored } from '../../transfer/upload/parts.ts';
import { findReplaceable } from './unnoted-target.ts';

/** How `put` resumes: each file is stored once, and changes that others have made to the object since are kept. */

function describeVersion({ size, mtime, ctime, ino }: FileSource): string {
  return [size, mtime, ctime, ino].join(' ');
}

/** What an earlier run noted about a file that it stored. */
function readNoted(text: string | undefined): { version: string; etag: string; md5: string } | undefined {
  if (text === undefined) return undefined;
  const [version = '', etag = '', md5 = ''] = JSON.parse(text) as string[];
  return { version, etag, md5 };
}

/** The object if it has the content of the file, as after a run that was killed before it could note that it transferred the file. */
export async function isStoredAlready(
  { storage, signal }: Engine,
  { file, size }: Pick<FileSource, 'file' | 'size'>,
  target: RemotePath,
): Promise<Stored | undefined> {
  const { headers } = (await inspect(storage, target)) ?? {};
  const md5 = headers?.['content-md5'];
  if (headers === undefined || md5 === undefined || Number(headers['content-length']) !== size) return undefined;
  return (await hashFile(file, signal)) === md5 ? { path: printRemotePath(target), size, etag: headers['etag'] ?? '', md5 } : undefined;
}

/**
 * Stores a file, unless an earlier run did and the file is unchanged. A changed file replaces only the version that the earlier run stored. A
 * resumed run replaces no object that was written after the work began.
 */
export async function putOnce(
  { engine, entry }: { readonly engine: Engine; readonly entry: Entry | undefined },
  source: Source,
  target: RemotePath,
  options: PutOptions,
  store: (options: PutOptions) => Promise<Stored>,
): Promise<Stored> {
  if (entry === undefined || source.kind !== 'file') return await store(options);
  const path = printRemotePath(target);
  const version = describeVersion(source);
  const earlier = readNoted(entry.find(path));
  if (earlier?.version === version) {
    const ticket = engine.monitor.begin(path, source.size);
    ticket.keep(source.size);
    ticket.end('done');
    return { path, size: source.size, etag: earlier.etag, md5: earlier.md5 };
  }
  const stored = await storeAgain(entry);
  entry.note(path, JSON.stringify([version, stored.etag, stored.md5]));
  return stored;

  async function restrict(resumed: Entry): Promise<PutOptions> {
    if (earlier) return { ...options, ifMatch: earlier.etag, ifNoneMatch: undefined, mayUseParts: true };
    if (!resumed.isResumed || options.ifMatch !== undefined || options.ifNoneMatch !== undefined) return options;
    return { ...options, ...(await findReplaceable(engine, resumed, target)), mayUseParts: true };
  }

  async function storeAgain(resumed: Entry): Promise<Stored> {
    try {
      return await store(await restrict(resumed));
    } catch (error) {
      const there =
        resumed.isResumed && source.kind === 'file' && isConditionFailed(error) ? await isStoredAlready(engine, source, target) : undefined;
      if (there) return there;
      if (!earlier || !(error instanceof ApiError) || !isConditionFailed(error)) throw error;
      const { status, code, requestId } = error;
      throw new ApiError(status, code, `${path} has changed since an earlier run stored it: left alone`, { requestId, cause: error });
    }
  }
}

/** The targets of an earlier run's files. */
export function readPlaces({ placed }: Entry, account: string): (file: string) => RemotePath {
  const targets = new Map(placed);
  return (file) => readTargetPath(targets.get(file) ?? '', account);
}

/** True if the bytes of a file can be read only once: a pipe, a device, stdin. */
function isStream(file: string): boolean {
  const stats = file === '-' ? undefined : statSync(file, { throwIfNoEntry: false });
  return stats === undefined || !(stats.isFile() || stats.isDirectory());
}

/** The journal entry of a `put`. */
export function declarePut(options: object, placed: readonly Placed[]): Work {
  const stream = placed.find(([source]) => isStream(source))?.[0];
  return {
    command: 'stor put',
    kind: 'upload',
    args: { file: [] },
    options: { ...options, noTargetDirectory: true },
    placed,
    obstacle: stream === undefined ? undefined : `the bytes of ${stream === '-' ? 'stdin' : stream} cannot be read again`,
  };
}
