import type { Headers } from '../api/message.ts';
import { storage as operations } from '../api/storage.ts';
import type { StorageClient } from '../client/client.ts';
import { ApiError, unlessMissing, UsageError } from '../base/errors.ts';
import { lacks, noteLack } from './abilities.ts';
import { closeBody } from '../api/close-body.ts';
import { isListing } from './entry-type.ts';
import { printRemotePath, type RemotePath } from './path.ts';

/** What a path names, and the response headers of a request for it. */
export interface Inspected {
  type: 'directory' | 'object';
  headers: Headers;
}

/** Statuses for which a GET follows: the reason is in the body, which the response to a HEAD does not have. */
const wordless = new Set([400, 401, 403, 409]);

/** The error for an object where a directory is needed. */
export function createObjectError(path: RemotePath): UsageError {
  return new UsageError(`${printRemotePath(path)} is an object, not a directory`);
}

/** The response headers of a HEAD, or of a GET whose body is discarded where a service has no HEAD. */
async function askHeaders(storage: StorageClient, { account, path }: RemotePath): Promise<Headers> {
  if (!lacks(storage, 'HEAD')) {
    try {
      return (await storage.answer(operations.getObject, { account, path }, { head: true })).headers;
    } catch (error) {
      const status = error instanceof ApiError ? error.status : 0;
      if ([405, 501].includes(status)) noteLack(storage, 'HEAD');
      else if (!wordless.has(status)) throw error;
    }
  }
  const { headers, body } = await storage.getObject({ account, path });
  await closeBody(body);
  return headers;
}

/** What a path names; undefined when nothing exists there. */
export async function inspect(storage: StorageClient, path: RemotePath): Promise<Inspected | undefined> {
  const headers = await unlessMissing(askHeaders(storage, path));
  if (headers === undefined) return undefined;
  return { type: isListing(headers) ? 'directory' : 'object', headers };
}

/** Like `inspect`; undefined also for what the caller may not read. */
export async function inspectReadable(storage: StorageClient, path: RemotePath): Promise<Inspected | undefined> {
  try {
    return await inspect(storage, path);
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return undefined;
    throw error;
  }
}
