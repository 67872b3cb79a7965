import type { Entry } from '../../api/objects.ts';
import type { StorageClient } from '../../client/client.ts';
import { NetworkError } from '../../base/errors.ts';
import { closeBody } from '../../api/close-body.ts';
import { isListing } from '../entry-type.ts';
import { createObjectError } from '../inspect.ts';
import { ListingCount } from './listing-check.ts';
import { printRemotePath, type RemotePath } from '../path.ts';
import { tryAgain } from '../retry.ts';

/** Entries requested per page. A service may return fewer. */
const pageSize = 1000;

/** Services grant pages of at least this many entries. A shorter first page is the only one if `Result-Set-Size` equals its length. */
const smallestPage = 256;

/** Maximum number of characters in a page: far more than any page has, so that an endless one does not fill memory. */
const largestPage = 64 * 1024 * 1024;

/** The entries of a directory from a marker on. */
interface Page {
  entries: Entry[];
  /** `Result-Set-Size`: number of entries of the whole directory; NaN when the service does not state it. */
  total: number;
  /** The service's clock at the response: milliseconds since the epoch, NaN when the service does not state it. */
  date: number;
  /** True if the directory has no other pages. */
  isOnly: boolean;
}

function checkEntry(entry: Entry, directory: RemotePath): void {
  if (typeof entry.name === 'string' && entry.name !== '' && (entry.type === 'directory' || entry.type === 'object')) return;
  throw new NetworkError(`the listing of ${printRemotePath(directory)} has a record without a name or type`, { code: 'UnreadableReply' });
}

/** The approximate memory that an entry takes, bytes. */
function measureEntry(entry: Entry): number {
  let size = 100;
  for (const name in entry) {
    const value = entry[name as keyof Entry];
    if (typeof value === 'string') size += value.length;
  }
  return size;
}

/**
 * Reads one page. A page includes its marker, which is dropped here; a page with nothing else is the end.
 * @throws {UsageError} for an object, whose content could look like a listing, or like an empty one
 */
async function readPage(storage: StorageClient, directory: RemotePath, marker: string | undefined): Promise<Page> {
  const { account, path } = directory;
  const { headers, records } = await storage.listDirectory({ account, path, limit: pageSize, marker });
  if (!isListing(headers)) {
    await closeBody(records);
    throw createObjectError(directory);
  }
  const entries = [];
  let size = 0;
  for await (const entry of records) {
    checkEntry(entry, directory);
    size += measureEntry(entry);
    if (size > largestPage)
      throw new NetworkError(`the listing of ${printRemotePath(directory)} has a page that is too long`, { code: 'ReplyTooLarge' });
    if (entry.name !== marker) entries.push(entry);
  }
  // An empty page that lacks even its marker says nothing about the directory.
  const total = size === 0 && marker !== undefined ? NaN : Number(headers['result-set-size'] ?? NaN);
  const date = Date.parse(headers['date'] ?? '');
  return { entries, total, date, isOnly: marker === undefined && entries.length < smallestPage && entries.length === total };
}

/** Requests the page at a marker; a failure is reported when the page is awaited. */
function startPage(storage: StorageClient, directory: RemotePath, marker: string | undefined): Promise<Page> {
  const page = tryAgain(() => readPage(storage, directory, marker), storage);
  page.catch(() => undefined);
  return page;
}

/** Reads pages up to the end, each ahead of its use. Where entries seem to be missing, the last page is requested once more. */
async function* readPages(
  storage: StorageClient,
  directory: RemotePath,
  count: ListingCount,
  first?: Promise<Page>,
): AsyncGenerator<Entry[]> {
  let page = await (first ?? startListing(storage, directory));
  let next: Promise<Page> | undefined;
  let marker: string | undefined;
  let isSecondTry = false;
  const markers = new Set<string>();
  for (;;) {
    count.add(page.entries, page.total, page.date);
    const last = page.entries.at(-1)?.name;
    if (last === undefined) {
      if (isSecondTry || count.isWhole) return;
      isSecondTry = true;
      next = undefined;
    } else {
      if (!page.isOnly) next = startPage(storage, directory, last);
      yield page.entries;
      if (page.isOnly) return;
      if (markers.has(last))
        throw new NetworkError(`the listing of ${printRemotePath(directory)} repeats the same page`, { code: 'UnreadableReply' });
      markers.add(last);
      marker = last;
      isSecondTry = false;
    }
    page = await (next ?? startPage(storage, directory, marker));
  }
}

/**
 * Lists a directory again that returned fewer entries than announced.
 * @throws {NetworkError} unless concurrent changes can explain all missing entries
 */
async function checkMissing(storage: StorageClient, directory: RemotePath, count: ListingCount): Promise<void> {
  // An entry that was renamed while the listing was read may have been in no page. HTTP dates have a resolution of one second.
  const again = new ListingCount(count.started - 1000);
  for await (const page of readPages(storage, directory, again)) void page;
  if (again.isWhole && count.covers(again)) return;
  const text = `the listing of ${printRemotePath(directory)} is incomplete: ${count.length} of ${Math.max(count.announced, again.announced)} entries`;
  throw new NetworkError(text, { code: 'TruncatedReply' });
}

/**
 * Pages of a directory in the order of UTF-8 bytes. Each is requested while the one before it is used.
 * @throws {NetworkError} `TruncatedReply` at the end when there were fewer entries than the service announced
 */
export async function* listPages(storage: StorageClient, directory: RemotePath, first?: Promise<Page>): AsyncGenerator<Entry[]> {
  const count = new ListingCount();
  yield* readPages(storage, directory, count, first);
  if (!count.isWhole) await checkMissing(storage, directory, count);
}

/** Requests the first page of a directory, for `listPages`. */
export function startListing(storage: StorageClient, directory: RemotePath): Promise<Page> {
  return startPage(storage, directory, undefined);
}

/** Every entry of a directory in the order of UTF-8 bytes, streamed page by page. */
export async function* listEntries(storage: StorageClient, directory: RemotePath): AsyncGenerator<Entry> {
  for await (const page of listPages(storage, directory)) yield* page;
}
