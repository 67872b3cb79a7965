import type { Headers } from '../../api/message.ts';
import type { StorageClient } from '../../client/client.ts';
import { ApiError, checkInterrupted } from '../../base/errors.ts';
import { encodeHeaders } from './headers.ts';
import { inspect } from '../inspect.ts';
import type { RemotePath } from '../path.ts';
import { pause } from '../../client/retry.ts';

/** Times that a change begins anew because somebody else changed the same headers. */
const attempts = 20;

/** Dates of HTTP have whole seconds, milliseconds. */
const dateStep = 1000;

/** Milliseconds until a further change would have another Last-Modified than the one that was read. */
function waitForNextSecond({ date, 'last-modified': modified }: Headers): number {
  const [now, then] = [Date.parse(date ?? ''), Date.parse(modified ?? '')];
  return now - then >= dateStep || Number.isNaN(now - then) ? 0 : dateStep;
}

/** What an entry is to have: its headers, and its role tags when they change. */
export interface Metadata {
  readonly headers: Headers;
  /** Names with commas between; empty for none. */
  readonly roleTag?: string;
}

/**
 * Reads the headers of an entry, changes them, and writes them only if nobody else has changed the entry meanwhile; otherwise it
 * begins anew. A change of headers leaves the etag as it is, so the condition is the date, as soon as that can tell two changes apart;
 * where an entry has none, the etag.
 * @param merge gets the headers of the reply
 * @returns what was written; undefined when there is no such entry
 */
export async function changeMetadata(
  storage: StorageClient,
  path: RemotePath,
  merge: (current: Headers) => Metadata,
  signal: AbortSignal,
): Promise<Metadata | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const found = await inspect(storage, path);
    if (!found) return undefined;
    const wait = waitForNextSecond(found.headers);
    if (wait > 0) {
      await pause(wait * (0.5 + Math.random()), signal);
      checkInterrupted(signal);
      continue;
    }
    const { 'last-modified': modified, etag } = found.headers;
    const metadata = merge(found.headers);
    const { headers, roleTag } = metadata;
    try {
      const condition = modified === undefined ? { ifMatch: etag } : { ifUnmodifiedSince: modified };
      await storage.putMetadata({ ...path, headers: encodeHeaders(headers), roleTag, ...condition });
      return metadata;
    } catch (error) {
      const isLate = error instanceof ApiError && (error.status === 412 || error.status === 409) && error.code !== 'InvalidRoleTag';
      if (!isLate || attempt >= attempts) throw error;
    }
  }
}
