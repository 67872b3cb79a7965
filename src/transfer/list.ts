import type { Entry } from '../api/objects.ts';
import type { StorageClient } from '../client/client.ts';
import { NetworkError } from '../errors.ts';
import { printRemotePath, type RemotePath } from './path.ts';
import { tryAgain, usualPatience } from './retry.ts';

/** Entries asked for in one request. A service may grant fewer. */
const pageSize = 1000;

/** A page with fewer entries than any service grants may be known to be the only one by the total that comes with it. */
const smallestPage = 256;

/** Most characters of the texts in a page: far more than any has, so that one without end does not fill the memory. */
const largestPage = 64 * 1024 * 1024;

/** Entries of a directory from a marker on. */
interface Page {
  entries: Entry[];
  /** Undefined when there are no more. */
  next: string | undefined;
}

function checkEntry(entry: Entry, directory: RemotePath): void {
  if (typeof entry.name === 'string' && entry.name !== '' && (entry.type === 'directory' || entry.type === 'object')) return;
  throw new NetworkError(`the listing of ${printRemotePath(directory)} has a record without a name or type`, { code: 'UnreadableReply' });
}

/** About how much memory an entry takes. */
function measureEntry(entry: Entry): number {
  let size = 100;
  for (const value of Object.values(entry)) if (typeof value === 'string') size += value.length;
  return size;
}

/** Reads one page. The marker is included in a page, so its repetition is dropped; the end is a page that brings nothing new. */
async function readPage(storage: StorageClient, directory: RemotePath, marker: string | undefined): Promise<Page> {
  const { account, path } = directory;
  const { headers, records } = await storage.listDirectory({ account, path, limit: pageSize, marker });
  const entries = [];
  let size = 0;
  for await (const entry of records) {
    checkEntry(entry, directory);
    size += measureEntry(entry);
    if (size > largestPage)
      throw new NetworkError(`the listing of ${printRemotePath(directory)} does not end where a page should`, { code: 'ReplyTooLarge' });
    if (entry.name !== marker) entries.push(entry);
  }
  const total = Number(headers['result-set-size'] ?? NaN);
  const isOnly = marker === undefined && entries.length < smallestPage && entries.length === total;
  return { entries, next: isOnly ? undefined : entries.at(-1)?.name };
}

/** Pages of a directory in the order of UTF-8 bytes. The first is asked for at once, the others as they are wanted. */
export async function* listPages(storage: StorageClient, directory: RemotePath, first?: Promise<Page>): AsyncGenerator<Entry[]> {
  let page = await (first ?? startListing(storage, directory));
  const markers = new Set<string>();
  for (;;) {
    if (page.entries.length > 0) yield page.entries;
    const { next } = page;
    if (next === undefined) return;
    if (markers.has(next))
      throw new NetworkError(`the listing of ${printRemotePath(directory)} begins again and again`, { code: 'UnreadableReply' });
    markers.add(next);
    page = await tryAgain(() => readPage(storage, directory, next), usualPatience);
  }
}

/** Asks for the first page of a directory, for `listPages`. */
export function startListing(storage: StorageClient, directory: RemotePath): Promise<Page> {
  const page = tryAgain(() => readPage(storage, directory, undefined), usualPatience);
  // A failure is reported when the page is used.
  page.catch(() => undefined);
  return page;
}

/** Every entry of a directory in the order of UTF-8 bytes, page after page as they are read. */
export async function* listEntries(storage: StorageClient, directory: RemotePath): AsyncGenerator<Entry> {
  for await (const page of listPages(storage, directory)) yield* page;
}
