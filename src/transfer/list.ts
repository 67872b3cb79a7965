import type { Entry } from '../api/objects.ts';
import type { StorageClient } from '../client/client.ts';
import { NetworkError } from '../errors.ts';
import type { RemotePath } from './path.ts';

/** Entries asked for in one request. A service may grant fewer. */
const pageSize = 1000;

/**
 * Every entry of a directory in the order of UTF-8 bytes, page after page as they are read. The marker is included in a page,
 * so its repetition is dropped; the end is a page that brings nothing new.
 */
export async function* listEntries(storage: StorageClient, { account, path }: RemotePath): AsyncGenerator<Entry> {
  let marker: string | undefined;
  for (;;) {
    const { records } = await storage.listDirectory({ account, path, limit: pageSize, marker });
    let last: string | undefined;
    for await (const entry of records) {
      if (typeof entry.name !== 'string') throw new NetworkError('a record of the listing has no name', { code: 'UnreadableReply' });
      if (entry.name === marker) continue;
      last = entry.name;
      yield entry;
    }
    if (last === undefined) return;
    marker = last;
  }
}
