import type { DirectoryKey } from './counts.ts';
import type { EntryRow } from './schema.ts';
import type { Usage } from './usage.ts';

/** An object that is to be put in its place, and what its account and its place must still be like. */
export interface ObjectPut {
  readonly place: DirectoryKey & { readonly login: string };
  /** The directory, and most entries that its row may count for another one to be added without counting. */
  readonly above: DirectoryKey;
  readonly mostChildren: number;
  /** Whether nothing but what was seen may be replaced. */
  readonly isBound: boolean;
  /** The version that was there; undefined where nothing was. */
  readonly seen: Pick<EntryRow, 'etag' | 'mtime'> | undefined;
  /** Most that the account may use; Infinity for no limit. */
  readonly most: Usage;
  /** Its role tags are those of the version that is replaced, or of the directory. */
  readonly values: Omit<EntryRow, 'parent' | 'name' | 'children'>;
  /** The content, where it is to stand in a row. */
  readonly bytes: Uint8Array | undefined;
}
