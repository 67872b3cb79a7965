import type { DirectoryKey } from './counts.ts';
import type { EntryRow } from './schema.ts';
import type { Usage } from './usage.ts';

/** An object to write in one statement, and the state of its account and place that this requires. */
export interface ObjectPut {
  readonly place: DirectoryKey & { readonly login: string };
  /** The directory, and the count in its row below which an entry may be added without counting. */
  readonly above: DirectoryKey;
  readonly mostChildren: number;
  /** True if only the version in `seen` may be replaced. */
  readonly isBound: boolean;
  /** The version that was found; undefined if there was none. */
  readonly seen: Pick<EntryRow, 'etag' | 'mtime'> | undefined;
  /** Quota of the account; Infinity for no limit. */
  readonly most: Usage;
  /** Columns of the entry; `role_tags` are those of the replaced version, or of the directory. */
  readonly values: Omit<EntryRow, 'parent' | 'name' | 'children'>;
  /** The content, if it is to be stored in a row. */
  readonly bytes: Uint8Array | undefined;
}
