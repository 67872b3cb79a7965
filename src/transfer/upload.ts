import { createHash } from 'node:crypto';
import type { ByteStream, Headers } from '../api/message.ts';
import type { StorageClient } from '../client/client.ts';
import { LocalError, NetworkError } from '../errors.ts';
import { inspect } from './inspect.ts';
import { parentOf, printRemotePath, type RemotePath } from './path.ts';

/** What is uploaded: bytes that can be read, again when `replayable`. */
export interface Source {
  /** For messages: a file's path, or `stdin`. */
  label: string;
  /** Bytes; undefined when not known before the end. */
  size: number | undefined;
  replayable: boolean;
  open: () => ByteStream;
}

/** How an object is stored. */
export interface PutOptions {
  headers: Headers;
  copies?: number | undefined;
  ifMatch?: string | undefined;
  ifNoneMatch?: string | undefined;
  /** Most bytes to accept when the size is not known. */
  maxSize?: number | undefined;
}

/** An object that was stored. */
export interface Stored {
  path: string;
  size: number;
  etag: string;
  /** Base64. */
  md5: string;
}

/** Bodies larger than this, in bytes, are preceded by a question whether they will be accepted at all. */
const askFirst = 1024 * 1024;

/** Bytes on their way, counted and hashed. A source that is shorter or longer than announced is an error. */
function watch(source: Source): { body: () => ByteStream; seen: () => { size: number; md5: string } } {
  let size = 0;
  let hash = createHash('md5');
  async function* read(): AsyncGenerator<Uint8Array> {
    size = 0;
    hash = createHash('md5');
    for await (const piece of source.open()) {
      size += piece.length;
      if (source.size !== undefined && size > source.size) throw new LocalError(`${source.label} grew while it was read`);
      hash.update(piece);
      yield piece;
    }
    if (source.size !== undefined && size < source.size) throw new LocalError(`${source.label} shrank while it was read`);
  }
  return { body: read, seen: () => ({ size, md5: hash.digest('base64') }) };
}

/**
 * Stores an object and checks that the service has the bytes that were read.
 * @throws {NetworkError} `DamagedUpload` when the service computed another MD5
 */
export async function uploadObject(storage: StorageClient, source: Source, target: RemotePath, options: PutOptions): Promise<Stored> {
  if (source.size === undefined || source.size > askFirst) await checkAcceptable(storage, target);
  const { body, seen } = watch(source);
  const input = {
    ...target,
    body: body(),
    length: source.size,
    headers: options.headers,
    ifMatch: options.ifMatch,
    ifNoneMatch: options.ifNoneMatch,
    durabilityLevel: options.copies === undefined ? undefined : String(options.copies),
    maxContentLength: options.maxSize === undefined ? undefined : String(options.maxSize),
  };
  const reply = await storage.putObject(input, source.replayable ? { body } : {});
  const { size, md5 } = seen();
  const computed = reply['computed-md5'];
  if (computed !== undefined && computed !== md5) {
    throw new NetworkError(`${printRemotePath(target)} was damaged on its way: the service has another MD5`, {
      code: 'DamagedUpload',
      hint: 'put it again; the object at the service is not what was sent',
    });
  }
  return { path: printRemotePath(target), size, etag: reply['etag'] ?? '', md5 };
}

/** Finds out before a large body is sent that its directory is missing: the refusal costs one small request instead. */
async function checkAcceptable(storage: StorageClient, target: RemotePath): Promise<void> {
  const parent = parentOf(target);
  if (parent === undefined || parent.path === '') return;
  const found = await inspect(storage, parent);
  if (found?.type !== 'directory') await storage.listDirectory({ ...parent, limit: 1 });
}
