import { setNewest } from '../../base/newest.ts';
import type { EntryRow } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { mapForEachStore } from './for-each-store.ts';

/** Pages that are remembered, and for how many milliseconds. */
const mostPages = 10_000;
const pageLifetime = 600_000;

/** The last entry of a page, as it stood on the page. */
interface PageEnd {
  readonly mtime: number;
  /** When the page was sent. */
  readonly sent: number;
}

/**
 * In the order of modification times, a marker that names an entry means the place that the entry had on the page which it ended: the
 * entry may have been overwritten or deleted since. A page that is forgotten, after a restart for example, only makes the marker mean the
 * place that the entry has now. Clients that want to depend on nothing name the place itself: `TIME/NAME`.
 */
const findEnds = mapForEachStore<PageEnd>();

function keyOf({ parent, name }: Pick<EntryRow, 'parent' | 'name'>): string {
  return `${parent}/${name}`;
}

/** Remembers the last entry of a page in the order of modification times. */
export function rememberPageEnd(store: Store, entry: Pick<EntryRow, 'parent' | 'name' | 'mtime'>, now: number): void {
  setNewest(findEnds(store), keyOf(entry), { mtime: entry.mtime, sent: now }, mostPages);
}

/** The modification time that an entry had when it ended a page. */
export function recallPageEnd(store: Store, entry: Pick<EntryRow, 'parent' | 'name'>, now: number): number | undefined {
  const end = findEnds(store).get(keyOf(entry));
  return end === undefined || now - end.sent > pageLifetime ? undefined : end.mtime;
}
