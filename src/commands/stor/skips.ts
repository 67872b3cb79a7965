import type { Context } from '../../cli/command.ts';
import { choice } from '../../cli/parameters.ts';
import type { LinkPolicy } from '../../transfer/local/links.ts';
import type { SkipReason } from '../../transfer/local/walk.ts';
import type { Kept } from '../../transfer/sync/keep.ts';

/** An option of every command that reads a local tree. */
export const linksOption = choice('Follow all symbolic links, or none; by default those to files inside the tree', ['follow', 'skip']);

/** The policy for a value of `--links`. */
export function readLinks(given: 'follow' | 'skip' | undefined): LinkPolicy {
  return given ?? 'inside';
}

/** Maximum number of names in a line of the summary. */
const mostNames = 3;

type Reason = SkipReason | Kept;

/** Messages for one, and for several. */
const words: Readonly<Record<Reason, readonly [one: string, many: string, hint?: string]>> = {
  outside: ['link leads out of the tree: skipped', 'links lead out of the tree: skipped', ' (to follow them: --links follow)'],
  directory: ['link leads to a directory: skipped', 'links lead to directories: skipped', ' (to follow them: --links follow)'],
  dangling: ['link is dangling: skipped', 'links are dangling: skipped'],
  loop: ['link forms a loop: skipped', 'links form loops: skipped'],
  link: ['link was skipped', 'links were skipped'],
  unfinished: ['unfinished download was skipped', 'unfinished downloads were skipped'],
  unholdable: [
    'name cannot be stored by the local file system: not deleted on the other side',
    'names cannot be stored by the local file system: not deleted on the other side',
  ],
  hidden: ['local entry is not synced: not deleted on the other side', 'local entries are not synced: not deleted on the other side'],
};

/** Counts entries that are left out on purpose, and names some of them in a summary. */
export interface Skips {
  add(name: string, reason: Reason): void;
  finish(): void;
}

/** Summarizes the entries left out on stderr, one line for each reason. */
export function createSkips({ note }: Pick<Context, 'note'>): Skips {
  const found = new Map<Reason, { count: number; names: string[] }>();
  return {
    add: (name, reason) => {
      const entry = found.get(reason) ?? { count: 0, names: [] };
      entry.count += 1;
      if (entry.names.length < mostNames) entry.names.push(name);
      found.set(reason, entry);
    },
    finish: () => {
      for (const [reason, { count, names }] of found) {
        const [one, many, hint = ''] = words[reason];
        const more = count > names.length ? ', ...' : '';
        note(`${count} ${count === 1 ? one : many}${hint}: ${names.join(', ')}${more}`);
      }
    },
  };
}
