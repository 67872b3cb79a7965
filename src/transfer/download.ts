import { createHash, randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import type { Download } from '../api/operation.ts';
import type { StorageClient } from '../client/client.ts';
import { isTransient } from '../client/network-error.ts';
import { NetworkError } from '../errors.ts';
import { printRemotePath, type RemotePath } from './path.ts';

/** How often a download is taken up again after its connection broke, without any byte in between. */
const resumptions = 5;

function readLength(value: string | undefined): number | undefined {
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined;
}

/** Asks for the rest of an object from `start` on; it must still be the same object. */
async function resume(
  storage: StorageClient,
  source: RemotePath,
  etag: string,
  start: number,
  size: number | undefined,
): Promise<Download> {
  const rest = await storage.getObject({ ...source, range: `bytes=${start}-`, ifMatch: etag });
  const from = /^bytes (\d+)-(?:\d+)\/(\d+|\*)$/.exec(rest.headers['content-range'] ?? '');
  const isRest = rest.status === 206 && Number(from?.[1]) === start && (size === undefined || from?.[2] === String(size));
  if (isRest) return rest;
  throw new NetworkError(`the connection broke while ${printRemotePath(source)} was read, and the service does not give the rest`, {
    code: 'CannotResume',
  });
}

/**
 * The bytes of an object, in order. A connection that breaks is taken up again where it broke; the stream ends only when the
 * announced length has come and its MD5 is right. @throws {NetworkError} otherwise: never a short stream that looks whole
 */
export async function* downloadObject(storage: StorageClient, source: RemotePath): AsyncGenerator<Uint8Array> {
  let part = await storage.getObject(source);
  const { etag, 'content-md5': md5 } = part.headers;
  const size = readLength(part.headers['content-length']);
  const hash = createHash('md5');
  let received = 0;
  for (let broken = 0; ; broken += 1) {
    const before = received;
    try {
      for await (const piece of part.body) {
        received += piece.length;
        hash.update(piece);
        yield piece;
      }
      break;
    } catch (error) {
      if (received > before) broken = 0;
      if (etag === undefined || !isTransient(error) || broken >= resumptions) throw error;
      part = await resume(storage, source, etag, received, size);
    }
  }
  const path = printRemotePath(source);
  if (size !== undefined && received !== size) {
    throw new NetworkError(`${path} came with ${received} of ${size} bytes`, { code: 'TruncatedReply' });
  }
  if (md5 !== undefined && md5 !== hash.digest('base64'))
    throw new NetworkError(`${path} was damaged on its way: its MD5 differs`, { code: 'DamagedReply' });
}

/** Writes a file whole or not at all: under a temporary name beside it, flushed, then renamed. */
export async function writeFileWhole(file: string, body: AsyncIterable<Uint8Array>): Promise<number> {
  const temporary = `${file}.${randomUUID()}.part`;
  let size = 0;
  try {
    const handle = await open(temporary, 'wx', 0o666);
    try {
      for await (const piece of body) {
        await handle.writeFile(piece);
        size += piece.length;
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
    return size;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
