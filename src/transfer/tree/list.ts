import type { Entry } from '../../api/objects.ts';
import type { StorageClient } from '../../client/client.ts';
import { NetworkError } from '../../base/errors.ts';
import { ListingCount } from './listing-check.ts';
import { printRemotePath, type RemotePath } from '../path.ts';
import { tryAgain } from '../retry.ts';

/** Entries asked for in one request. A service may grant fewer. */
const pageSize = 1000;

/** A page with fewer entries than any service grants may be known to be the only one by the total that comes with it. */
const smallestPage = 256;

/** Most characters of the texts in a page: far more than any has, so that one without end does not fill the memory. */
const largestPage = 64 * 1024 * 1024;

/** Entries of a directory from a marker on. */
interface Page {
  entries: Entry[];
  /** `Result-Set-Size`: entries of the whole directory; NaN when the service does not say. */
  total: number;
  /** When the service answered, by its own clock: milliseconds since the epoch, NaN when it does not say. */
  date: number;
  /** There are no more. */
  isOnly: boolean;
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
  // A page that has not even its marker says nothing of the directory.
  const total = size === 0 && marker !== undefined ? NaN : Number(headers['result-set-size'] ?? NaN);
  const date = Date.parse(headers['date'] ?? '');
  return { entries, total, date, isOnly: marker === undefined && entries.length < smallestPage && entries.length === total };
}

/** Pages up to the end, which is asked for once more where entries seem to be missing. */
async function* readPages(
  storage: StorageClient,
  directory: RemotePath,
  count: ListingCount,
  first?: Promise<Page>,
): AsyncGenerator<Entry[]> {
  let page = await (first ?? startListing(storage, directory));
  let marker: string | undefined;
  let isSecondTry = false;
  const markers = new Set<string>();
  for (;;) {
    count.add(page.entries, page.total, page.date);
    const next = page.entries.at(-1)?.name;
    if (next === undefined) {
      if (isSecondTry || count.isWhole) return;
      isSecondTry = true;
    } else {
      yield page.entries;
      if (page.isOnly) return;
      if (markers.has(next))
        throw new NetworkError(`the listing of ${printRemotePath(directory)} begins again and again`, { code: 'UnreadableReply' });
      markers.add(next);
      marker = next;
      isSecondTry = false;
    }
    const start = marker;
    page = await tryAgain(() => readPage(storage, directory, start), storage);
  }
}

/**
 * Lists a directory again of which fewer entries came than were announced. @throws {NetworkError} unless all that is missing can be
 * explained by changes meanwhile
 */
async function checkMissing(storage: StorageClient, directory: RemotePath, count: ListingCount): Promise<void> {
  // An entry that came under another name while the listing was read may have been in no page. Dates of HTTP have whole seconds.
  const again = new ListingCount(count.started - 1000);
  for await (const page of readPages(storage, directory, again)) void page;
  if (again.isWhole && count.covers(again)) return;
  const text = `the listing of ${printRemotePath(directory)} came with ${count.length} of ${Math.max(count.announced, again.announced)} entries`;
  throw new NetworkError(text, { code: 'TruncatedReply' });
}

/**
 * Pages of a directory in the order of UTF-8 bytes. The first is asked for at once, the others as they are wanted.
 * @throws {NetworkError} `TruncatedReply` at the end when fewer entries came than the service announced
 */
export async function* listPages(storage: StorageClient, directory: RemotePath, first?: Promise<Page>): AsyncGenerator<Entry[]> {
  const count = new ListingCount();
  yield* readPages(storage, directory, count, first);
  if (!count.isWhole) await checkMissing(storage, directory, count);
}

/** Asks for the first page of a directory, for `listPages`. */
export function startListing(storage: StorageClient, directory: RemotePath): Promise<Page> {
  const page = tryAgain(() => readPage(storage, directory, undefined), storage);
  // A failure is reported when the page is used.
  page.catch(() => undefined);
  return page;
}

/** Every entry of a directory in the order of UTF-8 bytes, page after page as they are read. */
export async function* listEntries(storage: StorageClient, directory: RemotePath): AsyncGenerator<Entry> {
  for await (const page of listPages(storage, directory)) yield* page;
}
