import type { Entry } from '../../api/objects.ts';
import { inspect } from '../inspect.ts';
import type { Engine } from '../engine.ts';
import { mapInParallel } from '../../base/parallel.ts';
import { isMissing, NotFoundError } from '../../base/errors.ts';
import { joinPath, printRemotePath, quoteRemotePath } from '../path.ts';
import { listEntries } from '../tree/list.ts';
import type { SnapshotHome } from './place.ts';
import type { RemotePath } from '../path.ts';

/** A snapshot, from the headers of its manifest or marker. */
export interface Snapshot {
  readonly directory: string;
  readonly name: string;
  /** `unfinished`: it is being created, or its creation was interrupted. */
  readonly state: 'whole' | 'unfinished';
  /** ISO 8601. */
  readonly created: string;
  readonly objects?: number;
  readonly bytes?: number;
  /** Id of its own tree. */
  readonly tree: string;
  /** Etag of the manifest. */
  readonly etag?: string;
}

/** The entries of a directory; empty if it does not exist. */
export async function listThere({ storage }: Pick<Engine, 'storage'>, directory: RemotePath): Promise<Entry[]> {
  const entries = [];
  try {
    for await (const entry of listEntries(storage, directory)) entries.push(entry);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  return entries;
}

export async function listNames(engine: Pick<Engine, 'storage'>, directory: RemotePath): Promise<string[]> {
  return (await listThere(engine, directory)).map(({ name }) => name);
}

/** The headers of a path; undefined if nothing exists there. */
async function readHeaders({ storage }: Pick<Engine, 'storage'>, path: RemotePath) {
  return (await inspect(storage, path))?.headers;
}

/**
 * The snapshots of a directory, the oldest first. Markers are read before manifests: a snapshot that gets its manifest in between counts as
 * unfinished.
 */
export async function listSnapshots(engine: Pick<Engine, 'storage' | 'parallel'>, home: SnapshotHome): Promise<Snapshot[]> {
  const directory = printRemotePath(home.directory);
  const markers = await listThere(engine, home.unfinished);
  const marked = new Set(markers.map(({ name }) => name));
  const unfinished = await mapInParallel(markers, engine.parallel, async ({ name: tree, mtime }): Promise<Snapshot | undefined> => {
    const headers = await readHeaders(engine, joinPath(home.unfinished, tree));
    return headers && { directory, name: headers['m-name'] ?? '', state: 'unfinished', created: new Date(mtime).toISOString(), tree };
  });
  const whole = await mapInParallel(
    await listNames(engine, home.manifests),
    engine.parallel,
    async (name): Promise<Snapshot | undefined> => {
      const headers = await readHeaders(engine, joinPath(home.manifests, name));
      const { 'm-tree': tree = '', 'm-created': created = '', 'm-objects': objects, 'm-bytes': bytes, etag = '' } = headers ?? {};
      if (headers === undefined || marked.has(tree)) return undefined;
      return { directory, name, state: 'whole', created, objects: Number(objects), bytes: Number(bytes), tree, etag };
    },
  );
  return [...unfinished, ...whole].filter((each) => each !== undefined).toSorted((a, b) => (a.created < b.created ? -1 : 1));
}

/** Finds a complete snapshot by name. @throws {NotFoundError} when there is none */
export async function findSnapshot(engine: Pick<Engine, 'storage' | 'parallel'>, home: SnapshotHome, name: string): Promise<Snapshot> {
  const found = (await listSnapshots(engine, home)).filter((each) => each.name === name);
  const whole = found.find(({ state }) => state === 'whole');
  if (whole) return whole;
  const shown = `${printRemotePath(home.directory)}@${name}`;
  throw new NotFoundError(found.length > 0 ? `snapshot ${shown} is unfinished and cannot be used` : `there is no snapshot ${shown}`, {
    hint: `cloud stor snapshot list ${quoteRemotePath(home.directory)}`,
  });
}
