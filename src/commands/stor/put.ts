import { readdirSync } from 'node:fs';
import { command, type Context } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { flag, many, size, text } from '../../cli/parameters.ts';
import { createContradiction, UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import { isFolder } from '../../transfer/local/folders.ts';
import type { Engine } from '../../transfer/engine.ts';
import { inspect } from '../../transfer/inspect.ts';
import { parentOf, printRemotePath, readTargetPath, type RemotePath } from '../../transfer/path.ts';
import { walkLocal } from '../../transfer/local/walk.ts';
import { readTreeManifest } from '../../transfer/tree-manifest.ts';
import { manifestName } from '../../transfer/manifest-name.ts';
import { runPool } from '../../base/parallel.ts';
import type { Filter } from '../../transfer/sync/tree.ts';
import { planPut } from '../../transfer/tree/trees.ts';
import type { Stored } from '../../transfer/upload/parts.ts';
import type { Work } from '../../config/journal-file.ts';
import { createEngine } from './engine.ts';
import { createTally, type Tally } from './tally.ts';
import { transferOptions, type TransferValues } from './transfer-options.ts';
import { filterOptions, readFilter } from './filters.ts';
import { chooseHeaders, storeOptions } from './headers.ts';
import { createStoring, linkKnownOption } from './link-known.ts';
import { listFirstNames, noTargetDirectory, noteNesting } from './nesting.ts';
import { explainParent, leaveExisting, makeWithParents } from './paths.ts';
import { dryRunOption, showRehearsal, type Rehearsed } from './rehearse.ts';
import { backupDirOption } from './backup-dir.ts';
import { createPutKeeper, readPutBackup } from './put-backup.ts';
import { declarePut, readPlaces } from './put-once.ts';
import { rehearsePut } from './put-rehearsal.ts';
import { chooseTarget } from './put-target.ts';
import { nameStep, putInFolder, putNamed, readSince, type PutValues, type Step } from './put-step.ts';
import { runTransfer, runTransfers } from './show.ts';
import { putTar } from './untar.ts';
import { createSkips, linksOption, readLinks } from './skips.ts';
import { countAhead } from './totals.ts';

/** Notes that a tree is stored into a directory that has the same content, which it may have been meant to replace. */
async function noteNested(context: Context, file: string, target: string, path: RemotePath, nested: RemotePath): Promise<void> {
  const local = resolvePath(context.world, file);
  if (nested === path || target.endsWith('/') || !isFolder(local) || (await inspect(context.storage, nested))) return;
  const places = { directory: printRemotePath(path), nested: printRemotePath(nested) };
  noteNesting(context, { words: [file, target], source: file, target, ...places }, readdirSync(local), await listFirstNames(context, path));
}

/** @throws {UsageError} when two files would become the same object, so that one of them would be lost */
function checkApart({ world }: Context, files: readonly string[], place: (file: string) => RemotePath): void {
  const owners = new Map<string, string>();
  for (const file of files) {
    const target = printRemotePath(place(file));
    const other = owners.get(target) ?? file;
    if (resolvePath(world, other) !== resolvePath(world, file))
      throw new UsageError(`${other} and ${file} would both become ${target}`, { hint: 'upload them separately, under different names' });
    owners.set(target, file);
  }
}

/** Lists what would be stored. */
async function* rehearse(invocation: PutInvocation, job: Job, only: boolean): AsyncGenerator<Rehearsed> {
  const tally = createTally(invocation, only);
  const engine = createEngine(invocation, invocation.options, { bulk: !only });
  yield* rehearsePut(invocation, { engine, tally }, planSteps(invocation, job, engine, tally), invocation.options);
  job.skips.finish();
  tally.finish();
}

function checkContradictions(options: PutValues & { recursive: boolean }, count: number): void {
  if (options.noClobber && options.ifMatch !== undefined) throw createContradiction('--no-clobber', '--if-match');
  if (options.ifMatch !== undefined && (count > 1 || options.recursive))
    throw new UsageError('--if-match is for one file: an etag belongs to one object');
  if (options.ifModifiedSince !== undefined && options.recursive)
    throw new UsageError('--if-modified-since applies to files, not to trees');
}

type PutInvocation = Context & {
  readonly options: PutValues & TransferValues & { recursive: boolean; parents: boolean; dryRun: boolean; withoutHeaders: boolean };
};

/** The sources of a put, and their targets. */
interface Job {
  readonly files: readonly string[];
  readonly place: (file: string) => RemotePath;
  readonly isTree: (file: string) => boolean;
  readonly links: ReturnType<typeof readLinks>;
  readonly filter: Filter;
  readonly skips: ReturnType<typeof createSkips>;
}

/** The steps of a command line, each directory before its entries. */
async function* planSteps({ options, world }: PutInvocation, job: Job, engine: Engine, tally: Tally): AsyncGenerator<Step> {
  const { files, place, isTree, links, filter, skips } = job;
  const { parents, dryRun } = options;
  if (parents && options.recursive) await makeWithParents(engine.storage, parentOf(place(files[0] ?? '')), dryRun);
  if (!options.recursive) engine.monitor.expect(files.length, 0);
  for (const label of files) {
    if (!isTree(label)) {
      yield { kind: 'named', label, target: place(label) };
      continue;
    }
    const local = resolvePath(world, label);
    if (!dryRun) void countAhead(engine, walkLocal(local, { onError: () => undefined, links }));
    const manifest = options.withoutHeaders ? undefined : await readTreeManifest(local);
    const making = dryRun ? { dryRun, parents } : undefined;
    const steps = planPut(engine, local, place(label), { onError: (error) => tally.fail(error), links, onSkip: skips.add, filter, making });
    for await (const step of steps) yield manifest ? { ...step, manifest } : step;
  }
}

/** Stores a file given on the command line, with a note. */
async function storeNamed(...[context, putting, step, options]: Parameters<typeof putNamed>): Promise<Stored | undefined> {
  const stored = await leaveExisting(options.noClobber, () => putNamed(context, putting, step, options));
  context.note(
    stored ? `${step.label === '-' ? 'stdin' : step.label} -> ${stored.path}` : `${printRemotePath(step.target)} exists: left alone`,
  );
  return stored;
}

const rowShape = { columns: ['path', { key: 'size', as: 'size' }, 'etag', 'md5'], id: 'path' } as const;

export const put = command({
  summary: 'Upload files and directory trees',
  description:
    'The MD5 of each stored object is compared with the MD5 of the bytes that were read. Files of 128 MiB and more are sent in concurrent parts (up to 512 MiB in one request if the connection is fast). To resume an interrupted upload, repeat the command (for a tree with -T), or use cloud resume: parts already stored are not sent again. The modification time is stored in m-mtime. In trees, symbolic links to files inside the tree are followed; others are skipped and counted, see --links. With --link-known, a file of 128 KiB or more that an earlier run with this option stored becomes a link to that object, provided that the service reports it unchanged.',
  arguments: {
    file: many('Files or, with -r, directories, followed by TARGET: a new name, or a directory; - for stdin', {
      values: 'file-or-path',
    }),
  },
  usage: 'FILE... TARGET',
  options: {
    recursive: flag('Upload directories recursively', { short: 'r' }),
    parents: flag('Create missing parent directories', { short: 'p' }),
    ...storeOptions,
    modes: flag('Store the permission bits in m-mode'),
    ifMatch: text('Replace the object only if it has this etag', { placeholder: 'ETAG' }),
    ifModifiedSince: text('Store only if the object has changed since, or does not exist; a date, or how long ago', {
      placeholder: 'TIME',
    }),
    noClobber: flag('Do not replace an existing object'),
    noTargetDirectory,
    dryRun: dryRunOption,
    maxSize: size('Maximum bytes to read from stdin'),
    growing: flag('Store the content that growing files have when they are opened'),
    untar: flag('Store the entries of tar archives instead of the archives'),
    links: linksOption,
    backupDir: backupDirOption,
    linkKnown: linkKnownOption,
    ...filterOptions,
    withoutHeaders: flag(`With -r: ignore ${manifestName}, which get --with-headers writes`),
    ...transferOptions,
  },
  run: async (invocation) => {
    const { args, options, account, world, resumed } = invocation;
    if (args.file.length < 2 && !resumed) {
      throw new UsageError('missing argument TARGET', {
        hint: `cloud stor put ${options.recursive ? '-r ' : ''}${quoteShell(args.file[0] ?? '')} TARGET`,
      });
    }
    const target = args.file.at(-1) ?? '';
    const path = readTargetPath(target, account);
    // Wrong headers are refused before anything is sent.
    await chooseHeaders(options, '');
    if (options.untar && options.backupDir !== undefined) throw createContradiction('--untar', '--backup-dir');
    if (options.untar) return await putTar(invocation, args.file.slice(0, -1), path, options);
    const files = resumed ? resumed.placed.map(([source]) => source) : args.file.slice(0, -1);
    checkContradictions(options, files.length);
    readSince(world.now(), options);
    const place = resumed ? readPlaces(resumed, account) : await chooseTarget(invocation, files, target, path, options.noTargetDirectory);
    if (files.length > 1) checkApart(invocation, files, place);
    const isTree = (label: string): boolean => options.recursive && label !== '-' && isFolder(resolvePath(world, label));
    const backup = readPutBackup(
      options,
      account,
      files.map((file) => ({ target: place(file), isTree: isTree(file) })),
    );
    const only = files.length === 1 && !options.recursive;
    const [first = ''] = files;
    if (options.recursive && files.length === 1 && !resumed) await noteNested(invocation, first, target, path, place(first));

    const links = readLinks(options.links);
    const filter = await readFilter(invocation, options, options.recursive);
    const declare = (): Work =>
      declarePut(
        options,
        files.map((file) => [file === '-' ? file : resolvePath(world, file), printRemotePath(place(file))]),
      );
    if (only && !resumed && !options.dryRun) {
      return await runTransfer(invocation, options, declare, rowShape, async (engine) => {
        engine.monitor.expect(1, 0);
        const storing = createStoring(invocation, options);
        const putting = { engine, entry: undefined, storing, keeper: createPutKeeper(invocation, engine, backup) };
        try {
          return await storeNamed(invocation, putting, { label: first, target: place(first) }, options);
        } finally {
          storing.finish();
        }
      });
    }
    const skips = createSkips(invocation);
    const job = { files, place, isTree, links, filter, skips };
    if (options.dryRun) return await showRehearsal(invocation, rehearse(invocation, job, only));
    const running = { only, bulk: !only, declare };
    return await runTransfers(invocation, options, running, rowShape, async function* (transfers) {
      const { engine, tally } = transfers;
      const storing = createStoring(invocation, options);
      const putting = { ...transfers, storing, keeper: createPutKeeper(invocation, engine, backup) };
      const work = async (step: Step): Promise<Stored | undefined> => {
        if (step.kind === 'file') return await putInFolder(putting, step, options);
        if (step.kind === 'folder') {
          await tally.attempt(nameStep(step), () => explainParent(() => step.folder.ready(), 'cloud stor put -p'));
          return undefined;
        }
        return await tally.attempt(step.label, () => storeNamed(invocation, putting, step, options));
      };
      const results = runPool(planSteps(invocation, job, engine, tally), work, { limit: engine.parallel, signal: engine.signal });
      try {
        for await (const stored of results) if (stored) yield stored;
      } finally {
        storing.finish();
      }
      skips.finish();
    });
  },
  examples: [
    { line: 'cloud stor put report.pdf docs/', help: 'Upload a file into a directory' },
    { line: 'tar cz src | cloud stor put - backups/src.tgz -p', help: 'Upload from a pipe' },
    { line: 'cloud stor put -r photos pictures', help: 'Upload a tree, many files concurrently' },
    { line: 'tar c src | cloud stor put --untar - backups --modes', help: 'Upload the entries of an archive' },
    { line: 'cloud stor put -r site www --backup-dir old', help: 'Keep replaced objects' },
  ],
});
