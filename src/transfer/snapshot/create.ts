import { randomUUID } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiError, InterruptedError, LocalError, NetworkError, UsageError } from '../../base/errors.ts';
import { batchText } from '../../base/batches.ts';
import { runOrdered } from '../../base/parallel.ts';
import { trackTransfer, type Engine } from '../engine.ts';
import { hashingHere } from '../hashing.ts';
import { inspect } from '../inspect.ts';
import { openSource } from '../local/source.ts';
import { joinPath, printRemotePath, type RemotePath } from '../path.ts';
import { isConditionFailed } from '../precondition.ts';
import { createFolders } from '../sync/execute.ts';
import { mergeSides, nothing, type Pair } from '../sync/merge.ts';
import { describeEntry, type Item } from '../sync/tree.ts';
import { makeFolder, type Folder, type Making as FolderMaking } from '../tree/folders.ts';
import { decodeStoredOfFolder } from '../tree/headers.ts';
import type { TagKeeper } from '../tree/keep-tags.ts';
import { linkObject, type Linked } from '../tree/link.ts';
import { removeEntry } from '../tree/remove.ts';
import { walkRemote } from '../tree/walk.ts';
import { uploadObject } from '../upload/upload.ts';
import { discardSnapshot } from './collect.ts';
import { listSnapshots, listThere, type Snapshot } from './list.ts';
import { readItems, type ManifestEntry, type ManifestHead, type SnapshotItem } from './manifest.ts';
import { isSnapshotFolder, type SnapshotHome } from './place.ts';

/** The result of creating a snapshot. */
export interface Created {
  readonly directory: string;
  readonly name: string;
  readonly objects: number;
  readonly directories: number;
  readonly bytes: number;
  /** Objects that got a link, or a copy of their bytes. */
  readonly linked: number;
  /** Objects whose link in an earlier snapshot is reused. */
  readonly kept: number;
  /** Objects that were removed before they could be linked. */
  readonly gone: number;
  /** The previous snapshot whose links are reused. */
  readonly base?: string | undefined;
}

interface Job {
  readonly pair: Pair<SnapshotItem>;
  readonly folder: Folder | undefined;
}

/** Resolution of the services' times, milliseconds: some state whole seconds. */
const clockStep = 1000;

/** A snapshot that is being created. */
interface Making {
  readonly engine: Engine;
  readonly home: SnapshotHome;
  readonly head: ManifestHead;
  readonly marker: RemotePath;
  readonly base: Snapshot | undefined;
  readonly copiesThrough: boolean;
  readonly tags: TagKeeper;
}

/** How the directories of a tree are created: with the role tags of those that they mirror. */
function tagTree({ home, head, tags }: Pick<Making, 'home' | 'head' | 'tags'>): FolderMaking {
  const root = joinPath(home.trees, head.tree).path;
  return { tag: (path) => tags.choose({ ...home.directory, path: home.directory.path + path.path.slice(root.length) }, path) };
}

async function* listSource({ engine, home: { directory } }: Making): AsyncGenerator<Item> {
  const prune = (rel: string): boolean => isSnapshotFolder(directory, rel);
  for await (const { kind, rel, entry } of walkRemote(engine.storage, directory, { prune }))
    if (kind !== 'leave' && !prune(rel)) yield describeEntry(rel, entry);
}

/** The entries of the directory, each with its counterpart in the base and the directory that its link is stored in. */
async function* listJobs(making: Making): AsyncGenerator<Job> {
  const { engine, home, head, base } = making;
  const folders = createFolders(engine, undefined, tagTree(making));
  const earlier = base ? readItems(engine, home, base.name, base.etag) : nothing<SnapshotItem>();
  for await (const pair of mergeSides(listSource(making), earlier, [])) {
    if (!pair.from) continue;
    const path = joinPath(home.trees, `${head.tree}/${pair.rel}`);
    yield { pair, folder: pair.from.kind === 'directory' ? folders.add(path, undefined) : folders.find(path) };
  }
}

/** The manifest entry of a directory, with its own headers. */
async function describeFolder({ engine, home }: Making, { rel }: Item): Promise<ManifestEntry> {
  const found = await inspect(engine.storage, joinPath(home.directory, rel));
  const headers = found?.type === 'directory' ? decodeStoredOfFolder(found.headers) : {};
  return { rel, type: 'directory', ...(Object.keys(headers).length > 0 && { headers }), roleTag: found?.headers['role-tag'] ?? '' };
}

/** True if the base has an object with the same content and headers. Its time only counts if that was past when the base was started. */
function isUnchanged({ from, to }: Pair<SnapshotItem>): boolean {
  if (from?.kind !== 'file' || to?.kind !== 'file' || to.changed === undefined) return false;
  return (to.entry.copyOf ?? to.etag) === from.etag && to.changed === from.changed && to.size === from.size;
}

/** Creates a link; undefined when its source has been removed since the listing. */
async function linkWhatIsThere({ engine, copiesThrough, tags }: Making, from: RemotePath, to: RemotePath): Promise<Linked | undefined> {
  try {
    const tagging = await tags.choose(from, to);
    return await trackTransfer(engine, printRemotePath(from), 0, () => linkObject(engine, { from, to }, { copiesThrough, tagging }));
  } catch (error) {
    const mayBeGone = error instanceof ApiError && (error.status === 404 || error.code.startsWith('LinkNotObject'));
    if (mayBeGone && (await inspect(engine.storage, from))?.type !== 'object') return undefined;
    throw error;
  }
}

async function linkEntry(making: Making, from: Item, folder: Folder | undefined): Promise<ManifestEntry | undefined> {
  const { engine, home, head } = making;
  await folder?.ready();
  const { rel } = from;
  const to = joinPath(home.trees, `${head.tree}/${rel}`);
  const linked = await linkWhatIsThere(making, joinPath(home.directory, rel), to);
  if (linked === undefined) return undefined;
  const isListed = linked.how === 'link' && linked.etag === from.etag && from.md5 !== undefined;
  // An object that was written since the listing is described by its link.
  const headers = isListed ? {} : ((await inspect(engine.storage, to))?.headers ?? {});
  const size = isListed ? from.size : Number(headers['content-length'] ?? from.size);
  const md5 = isListed ? from.md5 : headers['content-md5'];
  const isSame = isListed || linked.etag === from.etag || (linked.how === 'copy' && md5 !== undefined && md5 === from.md5);
  const isOver = Date.parse(from.changed ?? '') < Date.parse(head.created) - clockStep;
  return {
    rel,
    type: 'object',
    etag: linked.etag,
    size,
    md5,
    ...(isSame && isOver && { mtime: from.changed }),
    ...(isSame && linked.how === 'copy' && { copyOf: from.etag }),
  };
}

/** Maximum number of entries that wait for an earlier one. */
const window = 256;

/** Creates a local file of JSON lines. */
function createLines(path: string) {
  const descriptor = openSync(path, 'wx', 0o600);
  const { add, flush } = batchText((lines) => writeFileSync(descriptor, lines));
  return { add: (line: object) => add(`${JSON.stringify(line)}\n`), flush, close: () => closeSync(descriptor) };
}

/** Links all objects, and writes the manifest to a local file. */
async function writeManifest(making: Making, path: string): Promise<Created> {
  const { engine, home, head, base } = making;
  const counts = { objects: 0, directories: 0, bytes: 0, linked: 0, kept: 0, gone: 0 };
  const lines = createLines(path);
  const work = async ({ pair, folder }: Job): Promise<ManifestEntry | undefined> => {
    const { from, to } = pair;
    if (from?.kind === 'directory') return await describeFolder(making, from);
    if (from && to && isUnchanged(pair)) {
      counts.kept += 1;
      return to.entry;
    }
    const entry = from && (await linkEntry(making, from, folder));
    counts[entry ? 'linked' : 'gone'] += 1;
    return entry;
  };
  try {
    lines.add(head);
    for await (const entry of runOrdered(listJobs(making), work, { limit: engine.parallel, signal: engine.signal, window })) {
      if (entry === undefined) continue;
      counts[entry.type === 'object' ? 'objects' : 'directories'] += 1;
      counts.bytes += entry.size ?? 0;
      lines.add(entry);
    }
    const { objects, directories, bytes } = counts;
    lines.add({ end: true, objects, directories, bytes });
    lines.flush();
  } finally {
    lines.close();
  }
  return { directory: printRemotePath(home.directory), name: head.name, ...counts, base: base?.name };
}

/** @throws {LocalError} when the snapshot or its base was deleted while it was created; its manifest is removed then */
async function confirmWhole({ engine, home, marker, base, head }: Making, manifest: RemotePath, etag: string): Promise<void> {
  const isBaseThere =
    base === undefined || (await inspect(engine.storage, joinPath(home.manifests, base.name)))?.headers['etag'] === base.etag;
  if (isBaseThere && (await inspect(engine.storage, marker))) return;
  await removeEntry(engine, manifest, etag);
  const gone = isBaseThere ? head.name : (base?.name ?? '');
  throw new LocalError(`${printRemotePath(home.directory)}@${gone} was deleted meanwhile: ${head.name} was not created`, {
    hint: 'run the same command again',
  });
}

async function storeManifest(making: Making, file: string, { objects, bytes }: Created): Promise<void> {
  const { engine, home, head, marker } = making;
  const path = joinPath(home.manifests, head.name);
  const headers = {
    'content-type': 'application/x-ndjson',
    'm-tree': head.tree,
    'm-created': head.created,
    'm-objects': String(objects),
    'm-bytes': String(bytes),
  };
  try {
    const stored = await uploadObject({ ...engine, hashing: hashingHere }, openSource('manifest', file), path, {
      headers,
      ifNoneMatch: '*',
      mayUseParts: true,
    });
    await confirmWhole(making, path, stored.etag);
  } catch (error) {
    throw isConditionFailed(error) ? createExistsError(home, head.name) : error;
  }
  await removeEntry(engine, marker);
}

function createExistsError({ directory }: SnapshotHome, name: string): UsageError {
  return new UsageError(`snapshot ${printRemotePath(directory)}@${name} already exists`, { hint: 'choose another name' });
}

/** The time when a marker was stored, by the service's clock, from a listing: headers have a coarser resolution. */
async function findTime(engine: Engine, { unfinished }: SnapshotHome, tree: string): Promise<string> {
  const found = (await listThere(engine, unfinished)).find(({ name }) => name === tree);
  if (found) return new Date(found.mtime).toISOString();
  throw new LocalError(`${printRemotePath(joinPath(unfinished, tree))} was deleted while the snapshot was being created`);
}

interface CreateOptions {
  readonly name: string;
  readonly copiesThrough: boolean;
  /** Keeps the role tags: a snapshot is not more readable than its directory. */
  readonly tags: TagKeeper;
}

/** Starts a snapshot: the marker protects its tree from `collectLinks`. */
async function begin(engine: Engine, home: SnapshotHome, { name, copiesThrough, tags }: CreateOptions): Promise<Making> {
  if ((await inspect(engine.storage, home.directory))?.type !== 'directory')
    throw new UsageError(`${printRemotePath(home.directory)}: no such directory`);
  if (await inspect(engine.storage, joinPath(home.manifests, name))) throw createExistsError(home, name);
  for (const path of [home.manifests, home.unfinished, home.trees]) await makeFolder(engine.storage, path, { parents: true });
  const tree = randomUUID();
  const marker = joinPath(home.unfinished, tree);
  const headers = { 'content-type': 'text/plain', 'm-name': name };
  await engine.storage.putObject({ ...marker, headers, length: 0, body: (async function* () {})() });
  const created = await findTime(engine, home, tree);
  // Read after storing the marker: `confirmWhole` notices if the base is deleted after this.
  const base = (await listSnapshots(engine, home)).findLast(({ state }) => state === 'whole');
  const head = { snapshot: 1, directory: printRemotePath(home.directory), name, tree, created, base: base?.name } as const;
  return { engine, home, head, marker, base, copiesThrough, tags };
}

/**
 * Creates a snapshot of a directory: a link for each object that has changed since the latest snapshot, and a manifest. Each object has the
 * state of some moment during the creation. The snapshot is unfinished until its manifest is stored and everything it needs is confirmed to
 * exist.
 */
export async function createSnapshot(engine: Engine, home: SnapshotHome, options: CreateOptions): Promise<Created> {
  const making = await begin(engine, home, options);
  const folder = mkdtempSync(join(tmpdir(), 'cloud-snapshot-'));
  try {
    await makeFolder(engine.storage, joinPath(home.trees, making.head.tree), tagTree(making));
    const file = join(folder, 'manifest');
    const created = await writeManifest(making, file);
    await storeManifest(making, file, created);
    return created;
  } catch (error) {
    const isHopeless = error instanceof InterruptedError || error instanceof NetworkError || engine.signal?.aborted === true;
    // Whatever cannot be removed now is removed by `prune`.
    if (!isHopeless) await discardSnapshot(engine, home, making.head).catch(() => undefined);
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
