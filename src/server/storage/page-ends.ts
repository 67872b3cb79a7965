import { setNewest } from '../../base/newest.ts';
import type { EntryRow } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { mapForEachStore } from './for-each-store.ts';

/** Maximum number of remembered pages, and milliseconds for which they are remembered. */
const mostPages = 10_000;
const pageLifetime = 600_000;

/** The last entry of a page, as it was on the page. */
interface PageEnd {
  readonly mtime: number;
  /** When the page was sent. */
  readonly sent: number;
}

/**
 * In the order of modification times, a marker that names an entry means the position that the entry had at the end of its page: the entry
 * may have been overwritten or deleted since. If the page has been forgotten, for example after a restart, the marker means the current
 * position of the entry. Clients that want to avoid this name the position itself: `TIME/NAME`.
 */
const findEnds = mapForEachStore<PageEnd>();

function keyOf({ parent, name }: Pick<EntryRow, 'parent' | 'name'>): string {
  return `${parent}/${name}`;
}

export function rememberPageEnd(store: Store, entry: Pick<EntryRow, 'parent' | 'name' | 'mtime'>, now: number): void {
  setNewest(findEnds(store), keyOf(entry), { mtime: entry.mtime, sent: now }, mostPages);
}

/** The modification time that an entry had at the end of a page. */
export function recallPageEnd(store: Store, entry: Pick<EntryRow, 'parent' | 'name'>, now: number): number | undefined {
  const end = findEnds(store).get(keyOf(entry));
  return end === undefined || now - end.sent > pageLifetime ? undefined : end.mtime;
}
