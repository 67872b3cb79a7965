import { readAll, streamOf, type ByteStream, type Headers } from '../../api/message.ts';
import type { Context } from '../../cli/command.ts';
import { openStdin, resolvePath } from '../../cli/input.ts';
import { createContradiction, UsageError } from '../../base/errors.ts';
import { runPool } from '../../base/parallel.ts';
import { kebab } from '../../config/settings.ts';
import type { StorageClient } from '../../client/client.ts';
import type { Output } from '../../output/kinds.ts';
import type { Engine } from '../../transfer/engine.ts';
import { openSource } from '../../transfer/local/source.ts';
import { openToRead } from '../../transfer/local/named-pipe.ts';
import { joinPath, parentOf, printRemotePath, type RemotePath } from '../../transfer/path.ts';
import { ArchiveError } from '../../transfer/tar/header.ts';
import { planUnpack, type UnpackStep } from '../../transfer/tar/unpack.ts';
import { createFolder, makeFolder, type Folder, type Making } from '../../transfer/tree/folders.ts';
import { linkObject } from '../../transfer/tree/link.ts';
import { changeMetadata } from '../../transfer/tree/metadata.ts';
import type { Stored } from '../../transfer/upload/parts.ts';
import { limitStream, smallestPart } from '../../transfer/upload/multipart.ts';
import { uploadObject } from '../../transfer/upload/upload.ts';
import { createEngine } from './engine.ts';
import { createTally, type Tally } from './tally.ts';
import { readFilter } from './filters.ts';
import { chooseHeaders, keepProperties, type StoreValues } from './headers.ts';
import { explainParent, leaveExisting, makeWithParents } from './paths.ts';
import type { PutValues } from './put-step.ts';
import { rehearseFolder, rehearseInFolder, rehearseSteps, showRehearsal, type Rehearsed } from './rehearse.ts';
import { runTransfers } from './show.ts';
import { createSkips } from './skips.ts';
import type { TarValues } from './tar.ts';

/** `put --untar` stores the entries of archives. */

/** Options of `put` that do not apply to archives. */
const meaningless = ['recursive', 'growing', 'withoutHeaders', 'ifMatch', 'ifModifiedSince'] as const;
type Meaningless = (typeof meaningless)[number];

interface UntarValues
  extends TarValues, StoreValues, Pick<PutValues, 'modes' | 'noClobber' | 'maxSize'>, Readonly<Record<Meaningless, unknown>> {
  readonly parents: boolean;
  readonly dryRun: boolean;
  readonly links: 'follow' | 'skip' | undefined;
}

/** @throws {UsageError} for options that do not apply to archives */
function checkUntar(given: Readonly<Record<Meaningless, unknown>>): void {
  for (const name of meaningless) {
    const isGiven = given[name] !== false && given[name] !== undefined;
    if (isGiven) throw createContradiction('--untar', name === 'recursive' ? '-r' : `--${kebab(name)}`);
  }
}

/** The command that creates missing parents. */
const line = 'cloud stor put -p';

function createSpecialError({ rel }: UnpackStep): UsageError {
  return new UsageError(`${rel} is neither a file nor a directory: skipped`);
}

/** Files up to this size are held in memory so that several are stored concurrently, bytes. */
const smallFile = 1024 * 1024;

/** Size of the parts of larger files: the smallest that services accept, because several parts are held in memory. */
const leastPart = smallestPart;
const fewParts = 800;
const fewStreams = 2;

/** Maximum number of directories remembered as created. */
const mostFolders = 10_000;

/** Directories that an archive is stored in. */
interface Folders {
  /** A directory, created with its first entry; `headers` are those from the archive. */
  find(rel: string, headers?: Headers): Folder;
  /** Creates a directory with its headers. A directory that existed before the archive stays unchanged. */
  make(rel: string, headers: Headers): Promise<void>;
}

/** The path of the directory above; empty at the top. */
function parentRel(rel: string): string {
  return rel.split('/').slice(0, -1).join('/');
}

function createFolders({ storage, world }: Context, root: RemotePath, making: Making = {}): Folders {
  const made = new Map<string, Folder>();
  const top = createFolder(storage, root, undefined, making);
  function find(rel: string, headers?: Headers): Folder {
    if (rel === '') return top;
    const known = made.get(rel);
    if (known) return known;
    const folder = createFolder(storage, joinPath(root, rel), find(parentRel(rel)), { ...making, headers });
    if (made.size >= mostFolders) made.clear();
    made.set(rel, folder);
    return folder;
  }
  async function make(rel: string, headers: Headers): Promise<void> {
    const wasKnown = made.has(rel);
    const { path, ready } = find(rel, headers);
    // The directory's entries came first in the archive, so it was created without headers.
    if ((await ready()) && wasKnown) await changeMetadata(storage, path, () => ({ headers }), world.interrupted);
  }
  return { find, make };
}

/** A step; for a large file, `finish` is called when its bytes have been read. */
interface Job {
  readonly step: UnpackStep;
  readonly body: () => ByteStream;
  readonly finish: () => void;
}

/** Reads the content of small files into memory; after a large one, the next step waits until it is stored. */
async function* prepare(steps: AsyncIterable<UnpackStep>): AsyncGenerator<Job> {
  for await (const step of steps) {
    let finish = (): void => undefined;
    if (step.kind !== 'file' || step.size <= smallFile) {
      const content = step.kind === 'file' ? await readAll(step.body()) : Buffer.alloc(0);
      yield { step, body: () => streamOf(content), finish };
      continue;
    }
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    yield { step, body: step.body, finish };
    await finished;
  }
}

function openArchive({ world }: Context, label: string): AsyncIterable<Uint8Array> {
  if (label === '-') return openStdin(world);
  const file = resolvePath(world, label);
  const source = openSource(label, file, world.interrupted);
  return source.kind === 'stream' ? source.open() : openToRead(file, world.interrupted);
}

interface Unpacking {
  readonly context: Context;
  readonly engine: Engine;
  readonly tally: Tally;
  readonly root: RemotePath;
  readonly options: UntarValues;
}

/** Stores the entries of an archive concurrently. */
async function* storeSteps({ context, engine, tally, root, options }: Unpacking, steps: AsyncIterable<UnpackStep>): AsyncGenerator<Stored> {
  const folders = createFolders(context, root);
  const condition = options.noClobber ? '*' : undefined;
  /** Steps in progress. */
  const storing = new Set<Promise<void>>();
  let broken: unknown;

  async function store({ step, body }: Job, before: readonly Promise<void>[]): Promise<Stored | undefined> {
    const target = joinPath(root, step.rel);
    if (step.kind === 'folder') {
      await explainParent(() => folders.make(step.rel, keepProperties(step, options.modes)), line);
      return undefined;
    }
    if (step.kind === 'special') throw createSpecialError(step);
    await explainParent(() => folders.find(parentRel(step.rel)).ready(), line);
    if (step.kind === 'link') {
      // The target of the link is among the earlier steps.
      await Promise.all(before);
      const linked = await linkObject(
        engine,
        { from: joinPath(root, step.to), to: target },
        { copiesThrough: true, ifNoneMatch: condition },
      );
      return { path: printRemotePath(target), size: 0, etag: linked.etag, md5: '' };
    }
    const headers = { ...keepProperties(step, options.modes), ...(await chooseHeaders(options, step.rel)) };
    const partSize = options.partSize ?? Math.max(leastPart, Math.ceil(step.size / fewParts));
    const source = { kind: 'stream', label: step.rel, open: body } as const;
    return await uploadObject({ ...engine, partSize, streams: Math.min(engine.streams, fewStreams) }, source, target, {
      headers,
      copies: options.copies,
      ifNoneMatch: condition,
      hasParent: true,
    });
  }

  async function storeUnlessBroken(job: Job, before: readonly Promise<void>[]): Promise<Stored | undefined> {
    try {
      return await leaveExisting(options.noClobber, () => store(job, before));
    } catch (error) {
      // If an archive is damaged inside a file, the error is reported by the next step.
      if (error !== broken) throw error;
      return undefined;
    }
  }

  async function* watchErrors(): AsyncGenerator<Job> {
    for await (const job of prepare(steps)) {
      const body = async function* body(): AsyncGenerator<Uint8Array> {
        try {
          yield* job.body();
        } catch (error) {
          broken = error;
          throw error;
        }
      };
      yield { ...job, body };
    }
  }

  const work = (job: Job): Promise<Stored | undefined> => {
    const before = [...storing];
    const stored = tally.attempt(printRemotePath(joinPath(root, job.step.rel)), () => storeUnlessBroken(job, before)).finally(job.finish);
    const ended: Promise<void> = stored.catch(() => undefined).then(() => void storing.delete(ended));
    storing.add(ended);
    return stored;
  };
  for await (const stored of runPool(watchErrors(), work, { limit: engine.parallel, signal: engine.signal })) if (stored) yield stored;
}

/** Creates the directory of the entries, or checks in a dry run that this is possible. */
async function makeRoot(storage: StorageClient, root: RemotePath, { parents, dryRun }: UntarValues): Promise<void> {
  if (parents) await makeWithParents(storage, parentOf(root), dryRun);
  await explainParent(() => makeFolder(storage, root, { dryRun, parents: parents && dryRun }), line);
}

/** Lists what would be stored, and reports what would fail. */
async function* rehearse(
  { context, root, options }: Omit<Unpacking, 'engine' | 'tally'>,
  steps: AsyncIterable<UnpackStep>,
  finish: () => void,
): AsyncGenerator<Rehearsed> {
  const engine = createEngine(context, options, { bulk: true });
  const tally = createTally(context);
  const folders = createFolders(context, root, { dryRun: true, parents: options.parents });
  yield* rehearseSteps(engine, steps, async (step) => {
    const to = joinPath(root, step.rel);
    const parent = folders.find(parentRel(step.rel));
    if (step.kind === 'file' || step.kind === 'link')
      return await rehearseInFolder(engine, tally, parent, { action: 'store', from: step.rel, to }, { noClobber: options.noClobber, line });
    return await tally.attempt(printRemotePath(to), async () => {
      if (step.kind === 'special') throw createSpecialError(step);
      return await explainParent(() => rehearseFolder(folders.find(step.rel)), line);
    });
  });
  finish();
  tally.finish();
}

/** Stores the entries of archives below a directory, which is created when it is missing. */
export async function putTar(
  context: Context,
  files: readonly string[],
  path: RemotePath,
  options: UntarValues,
): Promise<Output | undefined> {
  checkUntar(options);
  const skips = createSkips(context);
  const filter = await readFilter(context, options);
  async function* plan(): AsyncGenerator<UnpackStep> {
    for (const file of files) {
      const label = file === '-' ? 'stdin' : file;
      const createLargeError = (): ArchiveError => new ArchiveError(`${label} has more than ${options.maxSize} bytes (--max-size)`);
      const source = limitStream(openArchive(context, file), options.maxSize, createLargeError);
      yield* planUnpack(source, { label, filter, links: options.links === 'skip' ? 'skip' : 'inside', onSkip: skips.add });
    }
  }
  if (options.dryRun) {
    await makeRoot(context.storage, path, options);
    return await showRehearsal(context, rehearse({ context, root: path, options }, plan(), skips.finish));
  }
  const shape = { columns: ['path', { key: 'size', as: 'size' }, 'etag', 'md5'], id: 'path' } as const;
  return await runTransfers(context, options, { only: false, bulk: true }, shape, async function* ({ engine, tally }) {
    await makeRoot(engine.storage, path, options);
    yield* storeSteps({ context, engine, tally, root: path, options }, plan());
    skips.finish();
  });
}
