import type { Headers } from '../../api/message.ts';
import type { Context } from '../../cli/command.ts';
import { openStdin, resolvePath } from '../../cli/input.ts';
import type { Engine } from '../../transfer/engine.ts';
import { baseName, parentOf, printRemotePath, type RemotePath } from '../../transfer/path.ts';
import type { Manifest } from '../../transfer/tree-manifest.ts';
import { openSource, type Source } from '../../transfer/local/source.ts';
import type { PutStep } from '../../transfer/tree/trees.ts';
import type { PutOptions, Stored } from '../../transfer/upload/parts.ts';
import { chooseHeaders, keepProperties, type StoreValues } from './headers.ts';
import type { Storing } from './link-known.ts';
import { explainCondition, explainParent, leaveExisting, makeWithParents } from './paths.ts';
import type { PutKeeper } from './put-backup.ts';
import { putOnce } from './put-once.ts';
import type { Transfers } from './show.ts';
import { readMoment } from './moment.ts';

export interface PutValues extends StoreValues {
  readonly ifMatch: string | undefined;
  readonly ifModifiedSince: string | undefined;
  readonly noClobber: boolean;
  readonly maxSize: number | undefined;
  readonly modes: boolean;
  readonly growing: boolean;
}

/** The `If-Modified-Since` header for a time. @throws {UsageError} */
export function readSince(now: number, { ifModifiedSince }: PutValues): string | undefined {
  if (ifModifiedSince === undefined) return undefined;
  return new Date(readMoment(ifModifiedSince, '--if-modified-since', now)).toUTCString();
}

async function readPutOptions(values: PutValues, source: Source, target: RemotePath, hasParent: boolean): Promise<PutOptions> {
  const name = source.kind === 'file' ? source.file : baseName(target);
  const kept = source.kind === 'file' ? keepProperties(source, values.modes) : {};
  return {
    headers: { ...kept, ...(await chooseHeaders(values, name)) },
    copies: values.copies,
    ifMatch: values.ifMatch,
    ifNoneMatch: values.noClobber ? '*' : undefined,
    maxSize: values.maxSize,
    hasParent,
  };
}

/** The headers given on the command line. */
async function readGiven(values: PutValues): Promise<Headers> {
  const { 'content-type': type = '', ...given } = await chooseHeaders(values, '');
  return values.type === undefined ? given : { ...given, 'content-type': type };
}

/** One step of a put: of a tree, or a file given on the command line. */
export type Step =
  | (PutStep & { readonly manifest?: Manifest })
  | { readonly kind: 'named'; readonly label: string; readonly target: RemotePath };

export function nameStep(step: Step): string {
  if (step.kind === 'folder') return printRemotePath(step.folder.path);
  return step.kind === 'file' ? step.source.label : step.label;
}

interface Putting extends Transfers {
  readonly keeper: PutKeeper;
  readonly storing: Storing;
}

/** Opens a file given on the command line, and creates the parents of its target if requested; a dry run only checks. */
export async function prepareNamed(
  { world }: Context,
  engine: Engine,
  { label, target }: { label: string; target: RemotePath },
  options: PutValues & { parents: boolean },
  dryRun = false,
): Promise<{ source: Source; putOptions: PutOptions }> {
  const source: Source =
    label === '-'
      ? { kind: 'stream', label: 'stdin', open: () => openStdin(world) }
      : openSource(label, resolvePath(world, label), engine.signal);
  const makes = options.parents && (await makeWithParents(engine.storage, parentOf(target), dryRun));
  const putOptions = { ...(await readPutOptions(options, source, target, makes)), ifModifiedSince: readSince(world.now(), options) };
  return { source, putOptions };
}

export async function putNamed(
  context: Context,
  { engine, entry, keeper, storing }: Pick<Putting, 'engine' | 'entry' | 'keeper' | 'storing'>,
  step: { label: string; target: RemotePath },
  options: PutValues & { parents: boolean },
): Promise<Stored> {
  const { target } = step;
  const { source, putOptions } = await prepareNamed(context, engine, step, options);
  const stored = source.kind === 'file' ? { ...source, isGrowing: options.growing } : source;
  return await explainParent(
    () =>
      putOnce({ engine, entry }, source, target, putOptions, (how) =>
        explainCondition(async () => storing.store(engine, stored, target, await keeper.keep(source, target, how)), target),
      ),
    'cloud stor put -p',
  );
}

/** Stores a file of a tree once its directory exists. Undefined when the directory could not be created, which was reported. */
export async function putInFolder(
  { engine, tally, entry, keeper, storing }: Putting,
  step: Extract<Step, { kind: 'file' }>,
  options: PutValues,
): Promise<Stored | undefined> {
  try {
    await step.folder.ready();
  } catch {
    tally.skip();
    return undefined;
  }
  return await tally.attempt(nameStep(step), async () => {
    const { target, manifest } = step;
    const putOptions = await readPutOptions(options, step.source, target, true);
    const source = { ...step.source, isGrowing: options.growing };
    const kept = manifest?.find(source.file);
    const store = (): Promise<Stored> =>
      putOnce({ engine, entry }, source, target, putOptions, async (given) => {
        const how = await keeper.keep(source, target, given);
        return manifest && kept
          ? await manifest.store(engine, source, target, kept, how, await readGiven(options))
          : await storing.store(engine, source, target, how);
      });
    // In a tree, existing objects are skipped silently.
    return await leaveExisting(options.noClobber, store);
  });
}
