import type { RemotePath } from '../path.ts';

/** An object that was stored, whose content other names are to share. */
export interface Placed {
  readonly path: RemotePath;
  readonly etag: string;
}

/** Which object has the content of which etag of the source; undefined when storing it failed. */
export interface LinkTable {
  get(etag: string): Promise<Placed | undefined> | undefined;
  set(etag: string, placed: Promise<Placed | undefined>): void;
}

/** Etags that are remembered: names that are links of each other and further apart get bytes of their own. */
const mostRemembered = 100_000;

/** Remembers the latest of its entries. */
export function createLinkTable(): LinkTable {
  const placed = new Map<string, Promise<Placed | undefined>>();
  return {
    get: (etag) => placed.get(etag),
    set: (etag, next) => {
      placed.set(etag, next);
      const [oldest] = placed.keys();
      if (placed.size > mostRemembered && oldest !== undefined) placed.delete(oldest);
    },
  };
}
