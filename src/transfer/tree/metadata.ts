import type { Headers } from '../../api/message.ts';
import type { StorageClient } from '../../client/client.ts';
import { readClock } from '../../base/clock.ts';
import { ApiError, checkInterrupted, UsageError } from '../../base/errors.ts';
import { decodeValue, encodeHeaders } from './headers.ts';
import { inspect } from '../inspect.ts';
import { printRemotePath, type RemotePath } from '../path.ts';
import { pause } from '../../client/retry.ts';

/** Maximum number of attempts when somebody else changes the same headers. */
const attempts = 20;

/** Resolution of HTTP dates, milliseconds. */
const dateStep = 1000;

/** True if a further change would get another Last-Modified than the one that was read. @param known milliseconds since that was first read */
function isPastSecond({ date, 'last-modified': modified }: Headers, known: number): boolean {
  const [now, then] = [Date.parse(date ?? ''), Date.parse(modified ?? '')];
  // Where the clock that dates changes is ahead of Date, only waiting tells.
  return now - then >= dateStep || Number.isNaN(now - then) || known >= dateStep;
}

/** The metadata to set on an entry: its headers, and its role tags if they change. */
export interface Metadata {
  readonly headers: Headers;
  /** Role names, separated by commas; empty for none. */
  readonly roleTag?: string;
}

/** Encodes the headers of a directory, with its present content type if they have one. @throws {UsageError} for another content type */
function encodeOfFolder(path: RemotePath, headers: Headers, { 'content-type': present }: Headers): Headers {
  const { 'content-type': type, ...others } = headers;
  if (type === undefined || present === undefined) return encodeHeaders(others);
  if (type !== decodeValue(present)) throw new UsageError(`${printRemotePath(path)} is a directory: its content type cannot be changed`);
  return { ...encodeHeaders(others), 'content-type': present };
}

/**
 * Reads the headers of an entry, changes them, and writes them only if nobody else has changed the entry since; otherwise it starts again.
 * A change of headers keeps the etag, so the condition is `If-Unmodified-Since`, sent once the date can tell two changes apart; without a
 * date, or where the service refuses it though it is still the same, it is the etag.
 * @param merge receives the response headers
 * @returns the metadata written; undefined when the entry does not exist
 */
export async function changeMetadata(
  storage: StorageClient,
  path: RemotePath,
  merge: (current: Headers) => Metadata,
  signal: AbortSignal,
): Promise<Metadata | undefined> {
  let first: { readonly modified: string | undefined; readonly at: number } | undefined;
  let refused: string | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const found = await inspect(storage, path);
    if (!found) return undefined;
    const { 'last-modified': modified, etag } = found.headers;
    if (first === undefined || first.modified !== modified) first = { modified, at: readClock() };
    if (!isPastSecond(found.headers, readClock() - first.at)) {
      await pause(dateStep * (0.5 + Math.random()), signal);
      checkInterrupted(signal);
      continue;
    }
    const metadata = merge(found.headers);
    const { headers, roleTag } = metadata;
    const encoded = found.type === 'directory' ? encodeOfFolder(path, headers, found.headers) : encodeHeaders(headers);
    try {
      const condition = modified === refused ? { ifMatch: etag } : { ifUnmodifiedSince: modified };
      await storage.putMetadata({ ...path, headers: encoded, roleTag, ...condition });
      return metadata;
    } catch (error) {
      const isLate = error instanceof ApiError && (error.status === 412 || error.status === 409) && error.code !== 'InvalidRoleTag';
      if (!isLate || attempt >= attempts) throw error;
      refused = modified;
    }
  }
}
