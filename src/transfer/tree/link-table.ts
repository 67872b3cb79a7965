import { setNewest } from '../../base/newest.ts';
import type { RemotePath } from '../path.ts';

/** A stored object whose content is to be linked under other names. */
export interface Placed {
  readonly path: RemotePath;
  readonly etag: string;
}

/** Maps contents of the source, by their etags for example, to objects of the target; the promise is undefined when storing failed. */
export interface LinkTable {
  get(content: string): Promise<Placed | undefined> | undefined;
  set(content: string, placed: Promise<Placed | undefined>): void;
}

/** Maximum number of contents remembered: links of each other that are further apart are stored as separate objects. */
const mostRemembered = 100_000;

/** Creates a table that keeps the latest entries. */
export function createLinkTable(): LinkTable {
  const placed = new Map<string, Promise<Placed | undefined>>();
  return {
    get: (content) => placed.get(content),
    set: (content, next) => {
      const settled = next.catch(() => undefined);
      setNewest(placed, content, settled, mostRemembered);
    },
  };
}
