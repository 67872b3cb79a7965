import type { Body, ByteStream, Headers } from '../../api/message.ts';
import type { Entry } from '../../api/objects.ts';
import type { StorageClient } from '../../client/client.ts';
import { ApiError, checkInterrupted, NetworkError, UsageError, quietly } from '../../base/errors.ts';
import type { Engine } from '../engine.ts';
import type { Precondition } from '../precondition.ts';
import { encodeHeaders } from '../tree/headers.ts';
import { listEntries } from '../tree/list.ts';
import { printRemotePath, type RemotePath } from '../path.ts';

/** How an object is stored. */
export interface PutOptions extends Precondition {
  readonly headers: Headers;
  readonly copies?: number | undefined;
  /** Maximum number of bytes to accept when the size is unknown. */
  readonly maxSize?: number | undefined;
  /** True when the directory is known to exist. */
  readonly hasParent?: boolean;
  /** Sends a large file in parts even under a condition, which is then checked directly before the commit, not atomically with it. */
  readonly mayUseParts?: boolean;
  /** Sends a file in parts whatever its size. */
  readonly alwaysInParts?: boolean;
}

/** An object that was stored. */
export interface Stored {
  path: string;
  size: number;
  etag: string;
  /** Base64. */
  md5: string;
}

/** Where the parts of an upload are: the components of `/login/uploads/0f3/0f3c...`. */
export interface UploadPlace {
  readonly account: string;
  readonly prefix: string;
  readonly id: string;
}

/** A part that the service has. */
export interface Part {
  readonly etag: string;
  /** Base64. */
  readonly md5: string;
  readonly size: number;
}

/** Highest part number (section 8). */
const lastPart = 9999;

function decodeLogin(text: string | undefined): string | undefined {
  return quietly(() => (text === undefined ? undefined : decodeURIComponent(text)), undefined);
}

/** Reads the path of a parts directory. @throws {NetworkError} for a path that does not have the specification's form */
export function readPlace(partsDirectory: string): UploadPlace {
  const [, account, root, prefix, id] = /^\/([^/]+)\/(uploads)\/([^/]+)\/([^/]+)\/?$/.exec(partsDirectory) ?? [];
  const login = decodeLogin(account);
  if (login !== undefined && root !== undefined && prefix !== undefined && id !== undefined) return { account: login, prefix, id };
  throw new NetworkError(`the service returned an invalid parts directory: "${partsDirectory}"`, { code: 'UnreadableReply' });
}

/** The directory of an upload's parts. */
export function partsDirectory({ account, prefix, id }: UploadPlace): RemotePath {
  return { account, path: `uploads/${prefix}/${id}` };
}

/** Maximum time to wait for the creation of an upload after the user has interrupted, milliseconds. */
const creationTime = 3000;

/** Runs work with a signal that aborts some time after another one. */
async function endLater<T>(signal: AbortSignal, work: (late: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => void (timer = setTimeout(() => late.abort(), creationTime));
  if (signal.aborted) end();
  else signal.addEventListener('abort', end);
  try {
    return await work(late.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

/**
 * Creates an upload. The request is never retried: each attempt would create another upload. An interruption does not abort it immediately,
 * because the id of an upload that the service has just created would be lost.
 */
export async function createUpload(
  { storage, signal }: Pick<Engine, 'storage' | 'signal'>,
  target: RemotePath,
  { headers, copies }: Pick<PutOptions, 'headers' | 'copies'>,
): Promise<UploadPlace> {
  checkInterrupted(signal);
  const stored = { ...encodeHeaders(headers), ...(copies !== undefined && { 'durability-level': String(copies) }) };
  const { account } = target;
  const input = { account, objectPath: printRemotePath(target), headers: stored };
  try {
    const create = (late?: AbortSignal) => storage.createMultipartUpload(input, late && { outlasts: true, signal: late });
    return readPlace((await (signal ? endLater(signal, create) : create())).partsDirectory);
  } catch (error) {
    checkInterrupted(signal, error);
    throw error;
  }
}

/** The body of a part, which can be read repeatedly, and what was read of it. */
interface PartBody {
  readonly body: () => Body | ByteStream;
  readonly length: number;
  readonly seen: () => Promise<{ size: number; md5: string }>;
  /** Base64, when known in advance. */
  readonly md5?: string;
}

/** @throws {UsageError} for a number that no part can have */
export function checkPartNumber(number: number): void {
  if (Number.isInteger(number) && number >= 0 && number <= lastPart) return;
  throw new UsageError(`part number ${number} is not between 0 and ${lastPart}`);
}

/** Uploads a part and checks that the service received the bytes that were read. @throws {NetworkError} `DamagedUpload` */
export async function putPart({ storage }: Pick<Engine, 'storage'>, place: UploadPlace, number: number, part: PartBody): Promise<Part> {
  checkPartNumber(number);
  const input = { ...place, part: String(number), body: part.body(), length: part.length, contentMd5: part.md5 };
  const response = await storage.uploadPart(input, { body: part.body });
  const { size, md5 } = await part.seen();
  const computed = response['computed-md5'];
  if (computed === undefined || computed === md5) return { etag: response['etag'] ?? '', md5, size };
  throw new NetworkError(`part ${number} was damaged in transit: the MD5 at the service differs`, { code: 'DamagedUpload' });
}

/** The parts that the service has, by number. */
export async function listParts(storage: StorageClient, place: UploadPlace): Promise<Map<number, Entry>> {
  const parts = new Map<number, Entry>();
  for await (const entry of listEntries(storage, partsDirectory(place))) {
    if (entry.type === 'object' && /^\d{1,4}$/.test(entry.name)) parts.set(Number(entry.name), entry);
  }
  return parts;
}

/** Commits the parts as an object. Committing the same parts again gives the same response. */
export async function commitUpload(
  storage: StorageClient,
  place: UploadPlace,
  etags: readonly string[],
): Promise<{ etag: string; md5: string; location: string | undefined }> {
  const response = await storage.commitMultipartUpload({ ...place, parts: [...etags] });
  return { etag: response['etag'] ?? '', md5: response['computed-md5'] ?? '', location: response['location'] };
}

/** Timeout for aborting, milliseconds: a user may wait for the program to end. */
const abortTime = 10_000;

/** Aborts an upload, also after an interruption. If that fails too, `cloud mpu list` shows the upload. */
export async function abortUpload(storage: StorageClient, place: UploadPlace): Promise<void> {
  try {
    await storage.abortMultipartUpload(place, { outlasts: true, signal: AbortSignal.timeout(abortTime) });
  } catch (error) {
    if (!(error instanceof ApiError) && !(error instanceof NetworkError)) throw error;
  }
}
