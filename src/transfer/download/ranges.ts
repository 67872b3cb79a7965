import type { Download } from '../../api/operation.ts';
import { NetworkError } from '../../base/errors.ts';
import type { StorageClient } from '../../client/client.ts';
import { lacks, noteLack } from '../abilities.ts';
import { closeBody } from '../../api/close-body.ts';
import type { Engine } from '../engine.ts';
import { runOrdered } from '../../base/parallel.ts';
import { printRemotePath, type RemotePath } from '../path.ts';
import { pauseAfter } from '../retry.ts';

/** One version of an object. */
export interface Version {
  readonly path: RemotePath;
  readonly etag: string;
  /** Bytes. */
  readonly size: number;
}

/** Bytes in a range of a large object. */
const usualRange = 4 * 1024 * 1024;

/** The bytes in a partial response, and the size of the object; undefined for any other response. */
export function readContentRange({ status, headers }: Download): { first: number; last: number; size: number } | undefined {
  const found = status === 206 ? /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '') : null;
  return found ? { first: Number(found[1]), last: Number(found[2]), size: Number(found[3]) } : undefined;
}

/** The error for a response that is not the requested range; its body is discarded. */
export async function createRangeError(storage: StorageClient, path: RemotePath, { body }: Download): Promise<NetworkError> {
  noteLack(storage, 'ranges');
  await closeBody(body);
  return new NetworkError(`${printRemotePath(path)}: the service does not support byte ranges`, { code: 'NoRanges' });
}

/** Requests the bytes from `start` up to but not including `end`; the object must still have the same etag. */
async function askRange(
  { storage }: Engine,
  { path, etag, size }: Version,
  start: number,
  end: number,
  signal?: AbortSignal,
): Promise<Download> {
  const input = { ...path, range: `bytes=${start}-${end - 1}`, ifMatch: etag };
  const response = await storage.getObject(input, signal && { signal });
  const sent = readContentRange(response);
  if (sent?.first === start && sent.last === end - 1 && sent.size === size) return response;
  throw await createRangeError(storage, path, response);
}

/**
 * Yields the bytes from `start` up to `end` in order. A broken connection is resumed where it broke.
 * @throws {NetworkError} when all retries fail; 412 when the object has been replaced
 */
export async function* readRange(
  engine: Engine,
  version: Version,
  start: number,
  end: number,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let at = start;
  for (let attempt = 1; at < end; attempt += 1) {
    const before = at;
    try {
      const { body } = await askRange(engine, version, at, end, signal);
      for await (const chunk of body) {
        at += chunk.length;
        if (at > end)
          throw new NetworkError(`${printRemotePath(version.path)}: received more bytes than requested`, { code: 'DamagedReply' });
        await engine.throttle?.(chunk.length);
        yield chunk;
      }
      if (at < end)
        throw new NetworkError(`${printRemotePath(version.path)}: received fewer bytes than requested`, { code: 'TruncatedReply' });
    } catch (error) {
      if (at > before) attempt = 1;
      const isHopeless = at > end || lacks(engine.storage, 'ranges');
      await pauseAfter(error, attempt, isHopeless ? { ...engine, retries: 0 } : engine);
    }
  }
}

/** The same with concurrent ranges, for a large object; yields them in order. Holds as many ranges in memory as there are streams. */
export async function* readRanges(engine: Engine, version: Version, start: number, end: number): AsyncGenerator<Uint8Array> {
  const length = engine.partSize ?? usualRange;
  const stop = new AbortController();
  const starts = Array.from({ length: Math.ceil((end - start) / length) }, (_, number) => start + number * length);
  const collect = async (from: number): Promise<Uint8Array[]> => {
    const chunks = [];
    try {
      for await (const chunk of readRange(engine, version, from, Math.min(end, from + length), stop.signal)) chunks.push(chunk);
    } catch (error) {
      // The other ranges are not needed any more.
      stop.abort();
      throw error;
    }
    return chunks;
  };
  try {
    for await (const chunks of runOrdered(starts, collect, { limit: engine.streams, window: engine.streams })) yield* chunks;
  } finally {
    stop.abort();
  }
}
