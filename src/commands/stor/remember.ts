import { createHash, randomUUID } from 'node:crypto';
import type { Context } from '../../cli/command.ts';
import type { Fetched } from '../../transfer/download/write-object.ts';
import { printRemotePath } from '../../transfer/path.ts';
import { createMemoryWriter, describeKnown, type MemoryWriter } from '../../transfer/sync/memory.ts';
import type { Side } from '../../transfer/sync/tree.ts';
import type { GetStep } from '../../transfer/tree/trees.ts';

/** The memory of `sync` for two directories, which other commands extend too. */

function printSide(side: Side): string {
  return side.kind === 'remote' ? `stor:${printRemotePath(side.root)}` : side.root;
}

/** The file with what is known of these two directories; undefined for two remote ones, which are compared without extra requests. */
export function nameMemory({ state, settings }: Pick<Context, 'state' | 'settings'>, from: Side, to: Side): string | undefined {
  if (from.kind === to.kind) return undefined;
  const words = [settings().storUrl?.value, ...[printSide(from), printSide(to)].toSorted()];
  const id = createHash('sha256').update(JSON.stringify(words)).digest('hex').slice(0, 32);
  return state.locate(`sync/${id}.jsonl`);
}

/** A file to be fetched, of a tree or by itself. */
export type FetchStep = Pick<GetStep, 'source' | 'file' | 'size' | 'etag'> & Partial<Pick<GetStep, 'tree' | 'rel'>>;

export interface FetchResult {
  readonly step: FetchStep;
  readonly fetched: Fetched | undefined;
}

/** Remembers the files of trees for `sync`. */
export interface TreeMemory {
  /** Called for the files of each tree in order, one tree after the other. */
  note(result: FetchResult): void;
  close(): void;
}

export function createTreeMemory(context: Context, modes: boolean): TreeMemory {
  const id = randomUUID();
  let root: string | undefined;
  let memory: MemoryWriter | undefined;
  return {
    note: ({ step: { tree, rel }, fetched }) => {
      if (tree === undefined || rel === undefined) return;
      if (tree.root !== root || memory === undefined) {
        memory?.close(false);
        root = tree.root;
        const file = nameMemory(context, { kind: 'remote', root: tree.from }, { kind: 'local', root: tree.root });
        memory = createMemoryWriter(file, { id, merges: true });
      }
      const known = fetched && describeKnown(fetched, modes);
      if (known) memory.note({ rel, ...known });
    },
    close: () => memory?.close(false),
  };
}
