import { setNewest } from '../../base/newest.ts';
import type { RemotePath } from '../path.ts';

/** A stored object whose content is to be linked under other names. */
export interface Placed {
  readonly path: RemotePath;
  readonly etag: string;
}

/** Maps etags of the source to objects of the target with the same content; the promise is undefined when storing failed. */
export interface LinkTable {
  get(etag: string): Promise<Placed | undefined> | undefined;
  set(etag: string, placed: Promise<Placed>): void;
}

/** Maximum number of etags remembered: links of each other that are further apart are stored as separate objects. */
const mostRemembered = 100_000;

/** Creates a table that keeps the latest entries. */
export function createLinkTable(): LinkTable {
  const placed = new Map<string, Promise<Placed | undefined>>();
  return {
    get: (etag) => placed.get(etag),
    set: (etag, next) => {
      const settled = next.catch(() => undefined);
      setNewest(placed, etag, settled, mostRemembered);
    },
  };
}
