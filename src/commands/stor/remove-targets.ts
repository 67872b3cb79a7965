import type { Context } from '../../cli/command.ts';
import { NotFoundError } from '../../base/errors.ts';
import { inspect } from '../../transfer/inspect.ts';
import { parentOf, printRemotePath, type RemotePath } from '../../transfer/path.ts';
import type { NameForm } from '../../transfer/tree/glob.ts';
import { expandWord, explainMissing, type listWords, type NameValues } from './names.ts';
import type { Tally } from './tally.ts';

/** What is removed. */
export interface Target {
  readonly path: RemotePath;
  readonly type: 'directory' | 'object';
  /** When the target was inspected, by the service's clock. */
  readonly seen: number;
}

interface Wanted extends NameValues {
  readonly missingOk: boolean;
  readonly recursive: boolean;
}

/** Finds out what a path is; undefined if there is nothing. */
export async function look({ storage }: Pick<Context, 'storage'>, path: RemotePath): Promise<Target | undefined> {
  const found = await inspect(storage, path);
  return found && { path, type: found.type, seen: Date.parse(found.headers['date'] ?? '') };
}

/** What the arguments name. Those that do not exist are reported, unless `missingOk`. */
export async function findTargets(
  context: Context,
  words: Awaited<ReturnType<typeof listWords>>,
  { missingOk, recursive }: Wanted,
  tally: Tally,
): Promise<Target[]> {
  const targets = [];
  for (const { word, form } of words) {
    const found = await tally.prepare(word, async () => {
      const there = [];
      for (const path of await findPaths(context, word, form, missingOk)) {
        const target = await look(context, path);
        if (target) there.push(target);
        else if (!missingOk) throw await explainMissing(context, path, word, recursive ? 'rm -r' : 'rm');
      }
      return there;
    });
    targets.push(...(found ?? []));
  }
  return targets;
}

/** The paths of an argument; with `missingOk` a pattern may match none. */
async function findPaths(context: Context, word: string, form: NameForm, missingOk: boolean): Promise<RemotePath[]> {
  try {
    return (await expandWord(context, word, form)).paths;
  } catch (error) {
    if (missingOk && error instanceof NotFoundError) return [];
    throw error;
  }
}

/** Removes duplicates; with `recursive` also targets that are removed with a directory above them. */
export function dropCovered(targets: readonly Target[], recursive: boolean): Target[] {
  const found = new Map(targets.map((target) => [printRemotePath(target.path), target]));
  const isCovered = (path: RemotePath): boolean => {
    const above = parentOf(path);
    return above !== undefined && (found.get(printRemotePath(above))?.type === 'directory' || isCovered(above));
  };
  return [...found.values()].filter(({ path }) => !recursive || !isCovered(path));
}
