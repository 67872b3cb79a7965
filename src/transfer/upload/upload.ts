import { createHash } from 'node:crypto';
import type { Headers } from '../../api/message.ts';
import type { StorageClient } from '../../client/client.ts';
import { ApiError, LocalError, NetworkError, UsageError } from '../../base/errors.ts';
import { trackTransfer, type Engine } from '../engine.ts';
import type { Ticket } from '../../base/monitor.ts';
import { assertParent } from '../tree/folders.ts';
import { encodeHeaders } from '../tree/headers.ts';
import type { PutOptions, Stored } from './parts.ts';
import { largeFile, uploadParts, uploadStream } from './multipart.ts';
import { assertStorable, printRemotePath, type RemotePath } from '../path.ts';
import { tryAgain } from '../retry.ts';
import { checkPrecondition, hasCondition } from '../precondition.ts';
import { mayBeQuick, uploadQuickly } from './quick.ts';
import { readWholeFile, readSmallFile, watchBytes, type FileSource, type Source, type StreamSource } from '../local/source.ts';

/** Size in bytes above which separate requests first check whether the body would be accepted. */
const askFirst = 1024 * 1024;

/** Files of at most this size are read in one call and sent with their MD5, bytes. */
const smallFile = 1024 * 1024;

function describePut(target: RemotePath, { headers, copies, ifMatch, ifNoneMatch, ifModifiedSince, maxSize }: PutOptions) {
  return {
    ...target,
    headers: encodeHeaders(headers),
    ifMatch,
    ifNoneMatch,
    ifModifiedSince,
    durabilityLevel: copies === undefined ? undefined : String(copies),
    maxContentLength: maxSize === undefined ? undefined : String(maxSize),
  };
}

/** Compares the MD5 that the service computed with that of the bytes read. @throws {NetworkError} `DamagedUpload` */
function confirmStored(response: Headers, target: RemotePath, { size, md5 }: { size: number; md5: string }): Stored {
  const computed = response['computed-md5'];
  if (computed === undefined || computed === md5) return { path: printRemotePath(target), size, etag: response['etag'] ?? '', md5 };
  throw new NetworkError(`${printRemotePath(target)} was damaged in transit: the MD5 at the service differs`, {
    code: 'DamagedUpload',
    hint: 'upload it again; the object at the service is damaged',
  });
}

/**
 * Checks that a large body would not be refused, at the cost of one or two small requests instead of the body. A caller who may write need
 * not be allowed to read: then the request itself shows whether it is refused.
 * @param isCommitted true if the object is committed from parts: only this check applies the conditions before the bytes are sent
 */
async function checkAcceptable(storage: StorageClient, target: RemotePath, options: PutOptions, isCommitted: boolean): Promise<void> {
  if (options.hasParent !== true) await assertParent(storage, target);
  try {
    await checkPrecondition(storage, target, options);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403 || (isCommitted && hasCondition(options))) throw error;
  }
}

/** Sends bytes in memory, with their length and MD5. */
async function putBytes(engine: Engine, content: Uint8Array, target: RemotePath, options: PutOptions, ticket: Ticket): Promise<Stored> {
  const md5 = createHash('md5').update(content).digest('base64');
  await engine.throttle?.(content.length);
  const response = await engine.storage.putObject({
    ...describePut(target, options),
    body: content,
    length: content.length,
    contentMd5: md5,
  });
  ticket.move(content.length);
  return confirmStored(response, target, { size: content.length, md5 });
}

function putFile(engine: Engine, source: FileSource, target: RemotePath, options: PutOptions, ticket: Ticket): Promise<Stored> {
  if (source.size <= smallFile) return tryAgain(() => putBytes(engine, readSmallFile(source), target, options, ticket), engine);
  const watched = watchBytes(() => readWholeFile(source), source, engine, ticket);
  const described = describePut(target, options);
  return tryAgain(async () => {
    const response = await engine.storage.putObject({ ...described, body: watched.body(), length: source.size }, { body: watched.body });
    return confirmStored(response, target, await watched.seen());
  }, engine);
}

/** Sends a large file in one request; undefined when it has to be sent in parts. */
async function putQuickly(
  engine: Engine,
  source: FileSource,
  target: RemotePath,
  options: PutOptions,
  ticket: Ticket,
): Promise<Stored | undefined> {
  if (!mayBeQuick(engine, source, target, options)) return undefined;
  return await uploadQuickly(engine, source, ticket, async (watched) => {
    const response = await engine.storage.putObject({ ...describePut(target, options), body: watched.body(), length: source.size });
    return confirmStored(response, target, await watched.seen());
  });
}

/** Sends a stream in one chunked request: uploads with conditions cannot be sent in parts. */
async function putStream(engine: Engine, source: StreamSource, target: RemotePath, options: PutOptions, ticket: Ticket): Promise<Stored> {
  const watched = watchBytes(source.open, { label: source.label, size: undefined }, engine, ticket);
  const response = await engine.storage.putObject({ ...describePut(target, options), body: watched.body() });
  return confirmStored(response, target, await watched.seen());
}

/** True if a condition rules out parts, which are committed without conditions. */
function isConditional(options: PutOptions): boolean {
  return options.mayUseParts !== true && hasCondition(options);
}

async function uploadSource(engine: Engine, source: Source, target: RemotePath, options: PutOptions, ticket: Ticket): Promise<Stored> {
  if (source.kind === 'stream') {
    await checkAcceptable(engine.storage, target, options, !isConditional(options));
    if (isConditional(options)) return await putStream(engine, source, target, options, ticket);
    return await uploadStream(engine, source, target, options, ticket, (content) => putBytes(engine, content, target, options, ticket));
  }
  if (options.maxSize !== undefined && source.size > options.maxSize)
    throw new UsageError(`${source.label} has ${source.size} bytes, more than --max-size`);
  const inParts = options.alwaysInParts === true || (source.size >= largeFile && !isConditional(options));
  if (inParts || source.size > askFirst) await checkAcceptable(engine.storage, target, options, inParts);
  if (inParts)
    return (await putQuickly(engine, source, target, options, ticket)) ?? (await uploadParts(engine, source, target, options, ticket));
  return await putFile(engine, source, target, options, ticket);
}

/**
 * Stores an object and checks that the service received the bytes that were read. Large files and large streams are sent in parts.
 * @throws {NetworkError} `DamagedUpload` when the service still computed another MD5 after all retries
 */
export async function uploadObject(engine: Engine, source: Source, target: RemotePath, options: PutOptions): Promise<Stored> {
  assertStorable(target);
  const size = source.kind === 'file' ? source.size : undefined;
  try {
    return await trackTransfer(engine, printRemotePath(target), size, (ticket) => uploadSource(engine, source, target, options, ticket));
  } catch (error) {
    throw error instanceof Error && 'code' in error && error.code === 'ENOENT'
      ? new LocalError(`${source.label} vanished before it was read`, { cause: error })
      : error;
  }
}
