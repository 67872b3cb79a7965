import { basename } from 'node:path';
import { WholeBody, type HttpResponse } from '../../api/message.ts';
import { storage as operations } from '../../api/storage.ts';
import { ApiError, isSystemError } from '../../base/errors.ts';
import type { Listed } from '../../http/send.ts';
import { checkContent, describeOpened, openHead, openObject, readObject, type Opened } from './download.ts';
import { describeFetched, isWorthless, worthKeeping, writeObject, type Fetched, type FetchOptions } from './write-object.ts';
import { lacks } from '../abilities.ts';
import { isSmall, placeSmallObject, writeSmallObject } from './write-small-object.ts';
import { closeBody } from '../../api/close-body.ts';
import { trackTransfer, type Engine } from '../engine.ts';
import type { Ticket } from '../../base/monitor.ts';
import { findLeft, hasUnfinished, lookAt } from '../local/partial-file.ts';
import { printRemotePath, type RemotePath } from '../path.ts';
import { mayTryAgain, tryAgain } from '../retry.ts';
import { findWriteTarget, writeStream, type WriteTarget } from '../local/write-target.ts';

/** Objects up to this size may be requested together over one connection, bytes. */
const smallestSize = 64 * 1024;

/** True if an earlier run may have left the beginning of this file. */
function mayHaveBeginning(file: string, { size, continues = false, fromStart = false }: FetchOptions): boolean {
  if (fromStart) return false;
  return continues || ((size === undefined || size >= worthKeeping) && hasUnfinished(file));
}

/** Requests the headers of an object of which some bytes may exist locally, and the object itself if none do. */
async function openToContinue(engine: Engine, source: RemotePath, file: string, options: FetchOptions): Promise<Opened> {
  const head = await openHead(engine, source);
  const hasBeginning = head !== undefined && (options.continues === true || findLeft(file, head.etag, engine.processes).length > 0);
  if (hasBeginning && (options.etag === undefined || options.etag === head.etag)) return head;
  return await openObject(engine, source, options.etag);
}

async function fetchOnce(engine: Engine, source: RemotePath, target: WriteTarget, options: FetchOptions, ticket: Ticket): Promise<Fetched> {
  const { kind, file } = target;
  const mayContinue = kind === 'file' && mayHaveBeginning(file, options) && !lacks(engine.storage, 'ranges');
  const opened = await (mayContinue ? openToContinue(engine, source, file, options) : openObject(engine, source, options.etag));
  try {
    if (kind === 'file') return await (isSmall(opened, options) ? writeSmallObject : writeObject)(engine, opened, file, options, ticket);
    if (opened.size !== undefined) ticket.expect(opened.size);
    await writeStream(target, readObject(engine, opened, { ticket }), engine.signal);
    return describeFetched(opened, file);
  } catch (error) {
    // A body that was never read would keep its connection from all other requests.
    await closeBody(opened.body);
    throw error;
  }
}

/** What the listing says of a small object of a tree, which may be requested together with others; undefined for all others. */
function findListed({ throttle }: Engine, { inTree, continues, etag, listedEtag = etag, size }: FetchOptions): Listed | undefined {
  const isSmallest = size !== undefined && size <= smallestSize && inTree === true && continues !== true;
  // An object with a rate limit is read as slowly as it may be.
  return isSmallest && listedEtag !== undefined && throttle === undefined ? { etag: listedEtag, size } : undefined;
}

/**
 * Writes a small object that was requested together with others. Undefined if it has to be requested again.
 * @throws {LocalError}
 */
function placeListed(engine: Engine, source: RemotePath, response: HttpResponse, file: string, options: FetchOptions): Fetched | undefined {
  if (!(response.body instanceof WholeBody)) return undefined;
  const opened = describeOpened(source, response);
  const { bytes } = response.body;
  const begin = (): Ticket => engine.monitor.begin(printRemotePath(source), bytes.length);
  try {
    options.onHeaders?.(opened.headers);
    const fetched = placeSmallObject(engine, opened, checkContent(opened, bytes), file, options);
    const ticket = begin();
    ticket.move(bytes.length);
    ticket.end('done');
    return fetched;
  } catch (error) {
    if (mayTryAgain(error)) return undefined;
    begin().end('failed');
    throw explainFetch(error, source, file);
  }
}

/**
 * Writes an object to a file, which gets its name only when it is complete and its MD5 is right. A broken connection is resumed, and so is
 * the file that an interrupted run left. The modification time is set from the object's `m-mtime`.
 * @throws {NetworkError} {ApiError} {LocalError} and then no file exists, or the old one
 */
export async function fetchFile(engine: Engine, source: RemotePath, file: string, options: FetchOptions = {}): Promise<Fetched> {
  const listed = findListed(engine, options);
  const response = listed && (await engine.storage.askListed(operations.getObject, source, listed));
  const small = response && placeListed(engine, source, response, file, options);
  if (small) return small;
  let target: WriteTarget = { kind: 'file', file };
  async function fetch(ticket: Ticket): Promise<Fetched> {
    if (options.inTree !== true) target = findWriteTarget(file);
    // Bytes written to a stream cannot be taken back, so there are no retries.
    const limits = target.kind === 'file' ? engine : { ...engine, retries: 0 };
    // A file that is continued is replaced only if it has not changed since.
    let current = options.continues === true ? { ...options, replaces: options.replaces ?? lookAt(target.file) } : options;
    return await tryAgain(async () => {
      try {
        return await fetchOnce(engine, source, target, current, ticket);
      } catch (error) {
        if (isWorthless(error)) current = { ...current, fromStart: true };
        throw error;
      }
    }, limits);
  }
  try {
    const fetched = await trackTransfer(engine, printRemotePath(source), options.size, fetch);
    fetched.file = file;
    return fetched;
  } catch (error) {
    throw explainFetch(error, source, target.file);
  }
}

function explainFetch(error: unknown, source: RemotePath, file: string): unknown {
  if (error instanceof ApiError && error.status === 412) {
    return new ApiError(412, error.code, `${printRemotePath(source)} has changed meanwhile`, { requestId: error.requestId, cause: error });
  }
  // The error of a failed write has no path, and that of a temporary file means nothing to the user.
  if (isSystemError(error) && (error.path === undefined || basename(error.path).startsWith('.cloud-'))) error.path = file;
  return error;
}
