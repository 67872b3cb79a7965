import { splitList } from '../../base/split-list.ts';
import type { Context } from '../../cli/command.ts';
import { NotFoundError } from '../../base/errors.ts';
import { runPool } from '../../base/parallel.ts';
import { isStoragePath, listOuterTrees } from '../../rbac/tree.ts';
import { inspect } from '../../transfer/inspect.ts';
import type { RemotePath } from '../../transfer/path.ts';
import { walkRemote } from '../../transfer/tree/walk.ts';

/** Number of concurrent requests. */
const parallel = 16;

async function* listEntries({ storage, account }: Context, roots: readonly string[]): AsyncGenerator<RemotePath> {
  for (const path of roots) {
    const root = { account, path };
    yield root;
    if ((await inspect(storage, root))?.type !== 'directory') continue;
    for await (const visit of walkRemote(storage, root)) if (visit.kind !== 'leave') yield visit.path;
  }
}

/**
 * Reads the role tags of all directories and objects in the trees of a document, by path; an empty list for those without. Sends one
 * request for each entry.
 * @throws {NotFoundError} for a missing tree: a plan without it would leave something open that the document closes
 */
export async function readEntryTags(
  context: Context,
  trees: Readonly<Record<string, unknown>> | undefined = {},
): Promise<Record<string, string[]>> {
  const { storage, world } = context;
  const read = async ({ account, path }: RemotePath): Promise<[string, string[]] | undefined> => {
    const found = await inspect(storage, { account, path });
    return found && [path, splitList(found.headers['role-tag']).toSorted()];
  };
  const entries: [string, string[]][] = [];
  const found = runPool(listEntries(context, listOuterTrees(trees)), read, { limit: parallel, signal: world.interrupted });
  for await (const entry of found) if (entry) entries.push(entry);
  const known = new Set(entries.map(([path]) => path));
  const missing = Object.keys(trees).find((path) => isStoragePath(path) && !known.has(path));
  if (missing !== undefined) {
    throw new NotFoundError(`trees: ${missing} does not exist`, { hint: `cloud stor mkdir ${missing}, or remove it from the document` });
  }
  return Object.fromEntries(entries);
}
