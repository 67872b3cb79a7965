import type { Headers } from '../api/message.ts';
import { ApiError, NetworkError } from '../errors.ts';
import type { Engine } from './engine.ts';
import { openObject, readObject } from './download.ts';
import { encodeRemotePath, printRemotePath, type RemotePath } from './path.ts';
import { tryAgain } from './retry.ts';

/** What became of a copy within the service. */
export interface Linked {
  readonly how: 'link' | 'copy';
  readonly etag: string;
}

/** Whether a service refuses links as such, or between these accounts. */
function isLinkRefused(error: unknown, source: RemotePath, target: RemotePath): boolean {
  if (!(error instanceof ApiError)) return false;
  if (error.code.startsWith('SnaplinksDisabled')) return true;
  return source.account !== target.account && error.status === 403;
}

/** Headers that are stored with an object, as a reply has them. */
export function pickStoredHeaders(headers: Headers): Headers {
  const stored = Object.entries(headers).filter(
    ([name]) =>
      name.startsWith('m-') ||
      name.startsWith('access-control-') ||
      ['content-type', 'cache-control', 'surrogate-key', 'content-disposition'].includes(name),
  );
  return Object.fromEntries(stored);
}

/** Copies an object's bytes and headers through this machine. */
async function copyThrough(engine: Engine, source: RemotePath, target: RemotePath): Promise<Linked> {
  const ticket = engine.monitor.begin(printRemotePath(target), undefined);
  try {
    const reply = await tryAgain(async () => {
      const opened = await openObject(engine, source);
      const stored = await engine.storage.putObject({
        ...target,
        headers: pickStoredHeaders(opened.headers),
        durabilityLevel: opened.headers['durability-level'],
        contentMd5: opened.md5,
        length: opened.size,
        body: readObject(engine, opened, { ticket }),
      });
      const { 'computed-md5': computed = opened.md5 } = stored;
      if (computed === opened.md5 || opened.md5 === undefined) return stored;
      throw new NetworkError(`${printRemotePath(target)} was damaged on its way: the service has another MD5`, { code: 'DamagedUpload' });
    }, engine);
    ticket.end('done');
    return { how: 'copy', etag: reply['etag'] ?? '' };
  } catch (error) {
    ticket.end('failed');
    throw error;
  }
}

/**
 * Makes another name for an object, which costs no bytes. Where the service refuses links, the bytes go through this machine if that
 * is allowed. @throws {ApiError} otherwise, with the hint how to allow it
 */
export async function linkObject(
  engine: Engine,
  source: RemotePath,
  target: RemotePath,
  { copiesThrough }: { copiesThrough: boolean },
): Promise<Linked> {
  try {
    const reply = await tryAgain(() => engine.storage.putSnapLink({ ...target, location: encodeRemotePath(source) }), engine);
    return { how: 'link', etag: reply['etag'] ?? '' };
  } catch (error) {
    if (!isLinkRefused(error, source, target)) throw error;
    if (copiesThrough) return await copyThrough(engine, source, target);
    throw error instanceof ApiError
      ? new ApiError(error.status, error.code, error.message, {
          requestId: error.requestId,
          hint: 'to copy the bytes through this machine instead: --copy',
        })
      : error;
  }
}
