import type { Image } from '../../api/resources.ts';
import { command, type Context, type Invocation } from '../../cli/command.ts';
import { duration, flag, one, text } from '../../cli/parameters.ts';
import { checkInterrupted, isMissing, LocalError, unlessMissing, UsageError } from '../../base/errors.ts';
import type { Entry } from '../../config/journal-entry.ts';
import { printRemotePath, readRemotePath } from '../../transfer/path.ts';
import { waitForState } from './creation.ts';
import { checkInstance, imageOptions, readFields } from './settable-fields.ts';
import { findAccountId } from './flags.ts';
import { keepInJournal } from './kept.ts';
import { findRoute, preparePromotion, promoteEverywhere, promotionOptions, type Promoted, type Route } from './promote.ts';
import type { Exported } from './verify.ts';
import { finishChanges, showRows } from '../../cli/rows.ts';

/** A step, and whether it was done now or earlier, or would be done. */
interface Step extends Pick<Promoted, 'name' | 'version'>, Partial<Pick<Promoted, 'id' | 'dc'>> {
  readonly step: 'create' | 'wait' | 'export' | 'verify' | 'import';
  readonly outcome: Promoted['outcome'] | 'done';
  readonly path?: string;
}

const stepShape = { columns: ['step', 'outcome', 'dc', 'name', 'version', 'id', 'path'], id: 'id' };

const { from: _file, ...describing } = imageOptions;
const args = { machine: one('UUID of the instance'), name: one('Name of the image'), version: one('Version of the image') };
const options = {
  ...describing,
  to: text('Datacenters to import into, or all others', { placeholder: 'LIST', values: 'datacenter' }),
  ...promotionOptions,
  path: text('Directory of the object storage for the copy, created if missing; default images', {
    placeholder: 'PATH',
    values: 'path',
  }),
  waitTimeout: duration('Maximum time to wait for an image; default 1h'),
  dryRun: flag('Only show what would be done', { short: 'n' }),
};
type Pipeline = Invocation<typeof args, typeof options>;

/** Finds the account's own image of this name and version. @throws {UsageError} when there are several */
async function findMade(context: Context, name: string, version: string): Promise<Image | undefined> {
  const { compute, account } = context;
  const owner = await findAccountId(context);
  const listed = await compute.listImages({ account, name, version, state: 'all' });
  const own = listed.filter((image) => image.owner === owner);
  const [made, ...others] = own;
  if (others.length === 0) return made;
  throw new UsageError(`${own.length} images have the name ${name}@${version}: ${own.map(({ id }) => id).join(', ')}`, {
    hint: 'choose another version, or delete the images that you do not need',
  });
}

/** Finds the image that an earlier run created, by its id in the journal. */
async function findBegun({ compute, account }: Context, entry: Entry): Promise<Image | undefined> {
  const { image } = entry.facts;
  return typeof image === 'string' ? await unlessMissing(compute.getImage({ account, id: image })) : undefined;
}

function readExported({ facts }: Entry): Exported | undefined {
  const { imagePath: image, manifestPath: manifest } = facts;
  return typeof image === 'string' && typeof manifest === 'string' ? { image, manifest } : undefined;
}

/** Reads the copy back. The module that reads objects is loaded here, so that other commands of images do not load it. */
async function verify(context: Context, image: Image, exported: Exported): Promise<void> {
  const { verifyExported } = await import('./verify.ts');
  await verifyExported(context, image, exported);
}

/** True if the copy of an earlier run is complete. */
async function isVerified(context: Context, image: Image, exported: Exported): Promise<boolean> {
  try {
    await verify(context, image, exported);
    return true;
  } catch (error) {
    if (error instanceof LocalError || isMissing(error)) return false;
    throw error;
  }
}

async function* exportChecked(context: Pipeline, image: Image, entry: Entry): AsyncGenerator<Step> {
  const { compute, account, storage } = context;
  const { id, name, version } = image;
  const before = readExported(entry);
  const isThere = before !== undefined && (await isVerified(context, image, before));
  const folder = readRemotePath(context.options.path ?? 'images', account);
  let exported = before ?? { image: '', manifest: '' };
  if (!isThere) {
    const { makeFolder } = await import('../../transfer/tree/folders.ts');
    await makeFolder(storage, folder, { parents: true });
    const location = await compute.exportImage({ account, id, storage_path: printRemotePath(folder) });
    exported = { image: location.image_path, manifest: location.manifest_path };
    entry.learn({ imagePath: exported.image, manifestPath: exported.manifest });
  }
  yield { step: 'export', outcome: isThere ? 'present' : 'done', name, version, id, path: exported.image };
  if (!isThere) await verify(context, image, exported);
  yield { step: 'verify', outcome: 'done', name, version, id, path: exported.manifest };
}

/** Runs all steps but those that an earlier run has done. */
async function* runPipeline(context: Pipeline, entry: Entry, route: Route | undefined): AsyncGenerator<Step> {
  const { compute, account, options: values, world } = context;
  const { machine, name, version } = context.args;
  const made = (await findBegun(context, entry)) ?? (await findMade(context, name, version));
  const fields = await readFields(context, { ...values, from: undefined });
  const begun = made ?? (await compute.createImageFromMachine({ account, ...fields, machine, name, version }));
  entry.learn({ image: begun.id });
  yield { step: 'create', outcome: made ? 'present' : 'done', name, version, id: begun.id };
  const image = await waitForState(context, begun, ['active'], values.waitTimeout);
  yield { step: 'wait', outcome: 'done', name, version, id: image.id };
  checkInterrupted(world.interrupted);
  yield* exportChecked(context, image, entry);
  if (route === undefined) return;
  const promotion = { ...(await preparePromotion(context, image, route)), waitTimeout: values.waitTimeout };
  for await (const row of promoteEverywhere(context, promotion, false)) yield { step: 'import', ...row };
}

/** Yields the steps of `--dry-run`. */
async function* rehearse(context: Pipeline, route: Route | undefined): AsyncGenerator<Step> {
  const { name, version } = context.args;
  const made = await findMade(context, name, version);
  const path = printRemotePath(readRemotePath(context.options.path ?? 'images', context.account));
  yield { step: 'create', outcome: made ? 'present' : 'missing', name, version, ...(made && { id: made.id }) };
  yield { step: 'export', outcome: 'missing', name, version, path };
  if (route === undefined) return;
  if (made === undefined) {
    for (const { name: dc } of route.targets) yield { step: 'import', outcome: 'missing', name, version, dc };
    return;
  }
  const promotion = await preparePromotion(context, made, route);
  for await (const row of promoteEverywhere(context, promotion, true)) yield { step: 'import', ...row };
}

const verbs = { done: 'done', present: 'done earlier', missing: 'would be done', imported: 'done' };

function describeStep({ step, outcome, dc, name, version, id, path }: Step): string {
  const place = path ?? dc ?? id ?? '';
  return `${step} ${name}@${version}: ${verbs[outcome]}${place === '' ? '' : ` (${place})`}`;
}

/** `cloud images pipeline`. */
export const pipeline = command({
  summary: 'Create an image, export it, verify the copy and import it into other datacenters',
  description:
    'Steps: create the image from a prepared, stopped instance, wait until it is active, export it into the object storage, read the copy back and compare manifest, size and SHA-1, and import the image with its origins into the datacenters of --to. After an interruption, continue with the same command or cloud resume. Your image of this name and version counts as created.',
  arguments: args,
  options,
  fields: stepShape.columns,
  changes: true,
  run: async (invocation) => {
    const { machine, name, version } = invocation.args;
    const { to, from, dryRun } = invocation.options;
    checkInstance(machine);
    // Before anything is created: an unknown datacenter would be found only after the export.
    const route = to === undefined ? undefined : await findRoute(invocation, to, from);
    if (dryRun) return await showRows(invocation, rehearse(invocation, route), stepShape, describeStep);
    const work = {
      command: 'images pipeline',
      kind: 'images' as const,
      args: invocation.args,
      options: invocation.options,
      placed: [[machine, `${name}@${version}`]] as const,
    };
    const rows = finishChanges(
      invocation,
      keepInJournal(invocation, work, (entry) => runPipeline(invocation, entry, route)),
    );
    return await showRows(invocation, rows, stepShape, describeStep);
  },
  examples: [
    { line: 'cloud images pipeline 6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001 web 2.0.0 --dry-run', help: 'Show the steps' },
    {
      line: 'cloud images pipeline 6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001 web 2.0.0 --path images/web',
      help: 'Create the image and a verified copy',
    },
  ],
});
