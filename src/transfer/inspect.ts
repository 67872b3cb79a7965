import type { Headers } from '../api/message.ts';
import { storage as operations } from '../api/storage.ts';
import type { StorageClient } from '../client/client.ts';
import { ApiError } from '../errors.ts';
import type { RemotePath } from './path.ts';

/** What a path names, from the headers of a request without a body. */
export interface Inspected {
  type: 'directory' | 'object';
  headers: Headers;
}

/** What a path names; undefined when there is nothing. */
export async function inspect(storage: StorageClient, { account, path }: RemotePath): Promise<Inspected | undefined> {
  try {
    const { headers } = await storage.answer(operations.getObject, { account, path }, { head: true });
    const isDirectory = /type=directory/.test(headers['content-type'] ?? '');
    return { type: isDirectory ? 'directory' : 'object', headers };
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}
