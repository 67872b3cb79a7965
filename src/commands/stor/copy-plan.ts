import type { Context } from '../../cli/command.ts';
import { UsageError } from '../../base/errors.ts';
import type { Engine } from '../../transfer/engine.ts';
import { createFolder, type Folder, type Making } from '../../transfer/tree/folders.ts';
import type { TagKeeper } from '../../transfer/tree/keep-tags.ts';
import { inspect } from '../../transfer/inspect.ts';
import { baseName, joinPath, printRemotePath, quoteRemotePath, readTargetPath, type RemotePath } from '../../transfer/path.ts';
import type { Filter } from '../../transfer/sync/tree.ts';
import { walkRemote } from '../../transfer/tree/walk.ts';
import type { Tally } from './tally.ts';
import { requireThere } from './paths.ts';

/** An object that gets another name. */
export interface ObjectStep {
  readonly kind: 'object';
  readonly from: RemotePath;
  readonly to: RemotePath;
  readonly etag: string | undefined;
  readonly folder: Folder | undefined;
}

/** An object, or a directory to create or remove. */
export type Step = ObjectStep | { readonly kind: 'folder'; readonly from: RemotePath; readonly folder: Folder };

/** What is copied, and how. */
export interface Planning {
  readonly recursive: boolean;
  readonly filter: Filter;
  /** Keeps the role tags of the sources; absent: copies get those of their directories. */
  readonly tags?: TagKeeper | undefined;
}

/** The steps for all sources; a source that cannot be copied is reported and counted, and the others continue. */
export async function* planSources(
  { engine, tally }: { readonly engine: Engine; readonly tally: Tally },
  targets: ReadonlyMap<RemotePath, RemotePath>,
  options: Planning,
  making?: Making,
): AsyncGenerator<Step> {
  for (const [from, to] of targets) {
    const steps = planSource(engine, from, to, options, making);
    const first = await tally.prepare(printRemotePath(from), async () => (await steps.next()).value as Step | undefined);
    if (!first) continue;
    yield first;
    yield* steps;
  }
}

/** @throws {UsageError} when the source would be copied onto or into itself, or would replace a directory above it */
function checkApart(from: RemotePath, to: RemotePath): void {
  const [source, target] = [printRemotePath(from), printRemotePath(to)];
  if (source === target) throw new UsageError(`${source} and the target are the same`);
  if (`${target}/`.startsWith(`${source}/`)) throw new UsageError(`${source} cannot be copied into itself: ${target}`);
  if (source.startsWith(`${target}/`)) throw new UsageError(`${source} cannot replace ${target}, which contains it`);
}

/** True if neither path is the other, or inside it. */
export function areApart(from: RemotePath, to: RemotePath): boolean {
  const [source, target] = [`${printRemotePath(from)}/`, `${printRemotePath(to)}/`];
  return !source.startsWith(target) && !target.startsWith(source);
}

/** @throws {UsageError} when one source is inside another: it would be moved twice, to two places */
export function assertSeparate(sources: readonly RemotePath[]): void {
  const paths = new Set(sources.map(printRemotePath));
  for (const path of paths) {
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const above = path.slice(0, at);
      if (paths.has(above)) throw new UsageError(`${path} is inside ${above}, which is also moved`, { hint: 'omit one of them' });
    }
  }
}

/**
 * The target of each source: inside the given directory, or the given path itself for a single source.
 * @param willBeDirectory true for a directory that a dry run does not create
 */
export async function chooseTargets(
  { storage, account }: Context,
  sources: readonly RemotePath[],
  word: string,
  asItself: boolean,
  willBeDirectory = false,
): Promise<Map<RemotePath, RemotePath>> {
  const target = readTargetPath(word, account);
  const isDirectory = willBeDirectory || (await inspect(storage, target))?.type === 'directory';
  const into = !asItself && (isDirectory || sources.length > 1 || word.endsWith('/'));
  if (into && !isDirectory)
    throw new UsageError(`${printRemotePath(target)}: no such directory`, {
      hint: `cloud stor mkdir -p ${quoteRemotePath(target)}`,
    });
  if (asItself && sources.length > 1) throw new UsageError('-T takes a single source');
  const targets = new Map<RemotePath, RemotePath>();
  const owners = new Map<string, RemotePath>();
  for (const source of sources) {
    const to = into ? joinPath(target, baseName(source)) : target;
    checkApart(source, to);
    const other = owners.get(to.path);
    if (other) throw new UsageError(`${printRemotePath(other)} and ${printRemotePath(source)} would both become ${printRemotePath(to)}`);
    owners.set(to.path, source);
    targets.set(source, to);
  }
  return targets;
}

/** The steps for one source: a single object, or a tree with each directory before its entries. */
async function* planSource(
  { storage }: Pick<Engine, 'storage'>,
  from: RemotePath,
  to: RemotePath,
  { recursive, filter, tags }: Planning,
  making?: Making,
): AsyncGenerator<Step> {
  const found = await requireThere(storage, from);
  if (found.type === 'object') {
    yield { kind: 'object', from, to, etag: found.headers['etag'], folder: undefined };
    return;
  }
  if (!recursive) throw new UsageError(`${printRemotePath(from)} is a directory`, { hint: 'to copy it recursively: cloud stor cp -r' });
  const makingFrom = (path: RemotePath): Making => ({ ...making, like: path, ...(tags && { tag: (target) => tags.choose(path, target) }) });
  const first = createFolder(storage, to, undefined, makingFrom(from));
  const folders = [first];
  if (!filter.isChoosy) yield { kind: 'folder', from, folder: first };
  for await (const { kind, path, rel, entry } of walkRemote(storage, from, { prune: filter.prunes })) {
    if (kind === 'leave') folders.pop();
    else if (kind === 'object' && !filter.hasFile(rel)) continue;
    else if (kind === 'object') yield { kind, from: path, to: joinPath(to, rel), etag: entry.etag, folder: folders.at(-1) };
    else {
      const folder = createFolder(storage, joinPath(to, rel), folders.at(-1), makingFrom(path));
      folders.push(folder);
      if (!filter.isChoosy && !filter.prunes(rel)) yield { kind: 'folder', from: path, folder };
    }
  }
}
