import type { Body, ByteStream, Headers } from '../../api/message.ts';
import type { Entry } from '../../api/objects.ts';
import type { StorageClient } from '../../client/client.ts';
import { ApiError, checkInterrupted, NetworkError, UsageError } from '../../base/errors.ts';
import type { Engine } from '../engine.ts';
import { encodeHeaders } from '../tree/headers.ts';
import { listEntries } from '../tree/list.ts';
import { printRemotePath, type RemotePath } from '../path.ts';

/** How an object is stored. */
export interface PutOptions {
  readonly headers: Headers;
  readonly copies?: number | undefined;
  /** Only over the object that has this etag. */
  readonly ifMatch?: string | undefined;
  /** `*`: only where there is none. */
  readonly ifNoneMatch?: string | undefined;
  /** A date of HTTP: only over an object that was changed after, or where there is none. */
  readonly ifModifiedSince?: string | undefined;
  /** Most bytes to accept when the size is not known. */
  readonly maxSize?: number | undefined;
  /** True when the directory is known to be there. */
  readonly hasParent?: boolean;
  /** A large file may go in parts although there is a condition, which is then checked directly before the commit, not with it. */
  readonly mayUseParts?: boolean;
  /** A file goes in parts whatever its size. */
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

/** Where the parts of an upload are: `/login/uploads/0f3/0f3c...` taken apart. */
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

/** Highest number of a part (section 8). */
const lastPart = 9999;

function decodeLogin(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Reads a parts directory. @throws {NetworkError} for another form than the specification's */
export function readPlace(partsDirectory: string): UploadPlace {
  const [, account, root, prefix, id] = /^\/([^/]+)\/(uploads)\/([^/]+)\/([^/]+)\/?$/.exec(partsDirectory) ?? [];
  const login = decodeLogin(account);
  if (login !== undefined && root !== undefined && prefix !== undefined && id !== undefined) return { account: login, prefix, id };
  throw new NetworkError(`the service named the parts directory "${partsDirectory}", which is none`, { code: 'UnreadableReply' });
}

/** The directory of an upload's parts. */
export function partsDirectory({ account, prefix, id }: UploadPlace): RemotePath {
  return { account, path: `uploads/${prefix}/${id}` };
}

/** Longest time that the beginning of an upload is waited for after the user has interrupted, milliseconds. */
const creationTime = 3000;

/** Ends some time after another signal. */
function endLater(signal: AbortSignal): AbortSignal {
  const late = new AbortController();
  const end = (): void => void setTimeout(() => late.abort(), creationTime).unref();
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  return late.signal;
}

/**
 * Begins an upload. The request is never sent twice: each would make an upload. An interruption does not end it, or nobody would know of
 * the upload that the service has made.
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
    const created = await storage.createMultipartUpload(input, signal && { outlasts: true, signal: endLater(signal) });
    return readPlace(created.partsDirectory);
  } catch (error) {
    checkInterrupted(signal, error);
    throw error;
  }
}

/** A part on its way: bytes that can be read again, and what went through. */
interface PartBody {
  readonly body: () => Body | ByteStream;
  readonly length: number;
  readonly seen: () => Promise<{ size: number; md5: string }>;
  /** Base64, when it is known before. */
  readonly md5?: string;
}

/** @throws {UsageError} for a number that no part can have */
export function checkPartNumber(number: number): void {
  if (Number.isInteger(number) && number >= 0 && number <= lastPart) return;
  throw new UsageError(`part number ${number}: parts have numbers from 0 to ${lastPart}`);
}

/** Stores a part and checks that the service has what was read. @throws {NetworkError} `DamagedUpload` */
export async function putPart({ storage }: Pick<Engine, 'storage'>, place: UploadPlace, number: number, part: PartBody): Promise<Part> {
  checkPartNumber(number);
  const input = { ...place, part: String(number), body: part.body(), length: part.length, contentMd5: part.md5 };
  const reply = await storage.uploadPart(input, { body: part.body });
  const { size, md5 } = await part.seen();
  const computed = reply['computed-md5'];
  if (computed === undefined || computed === md5) return { etag: reply['etag'] ?? '', md5, size };
  throw new NetworkError(`part ${number} was damaged on its way: the service has another MD5`, { code: 'DamagedUpload' });
}

/** The parts that are there, by number. */
export async function listParts(storage: StorageClient, place: UploadPlace): Promise<Map<number, Entry>> {
  const parts = new Map<number, Entry>();
  for await (const entry of listEntries(storage, partsDirectory(place))) {
    if (entry.type === 'object' && /^\d{1,4}$/.test(entry.name)) parts.set(Number(entry.name), entry);
  }
  return parts;
}

/** Makes the object of its parts. The same commit again is answered in the same way. */
export async function commitUpload(
  storage: StorageClient,
  place: UploadPlace,
  etags: readonly string[],
): Promise<{ etag: string; md5: string; location: string | undefined }> {
  const reply = await storage.commitMultipartUpload({ ...place, parts: [...etags] });
  return { etag: reply['etag'] ?? '', md5: reply['computed-md5'] ?? '', location: reply['location'] };
}

/** Longest time that giving up takes, milliseconds: somebody may wait for the program to end. */
const abortTime = 10_000;

/** Gives up an upload, also when the user has interrupted; when that fails too, what is left of it is in `cloud mpu list`. */
export async function abortUpload(storage: StorageClient, place: UploadPlace): Promise<void> {
  try {
    await storage.abortMultipartUpload(place, { outlasts: true, signal: AbortSignal.timeout(abortTime) });
  } catch (error) {
    if (!(error instanceof ApiError) && !(error instanceof NetworkError)) throw error;
  }
}
