import type { Image } from '../../api/resources.ts';
import { command, type Context } from '../../cli/command.ts';
import { chooseDatacenters, type Datacenter } from '../../cli/datacenters.ts';
import { createAbsentError } from '../../cli/named.ts';
import { flag, one, text } from '../../cli/parameters.ts';
import { ApiError, checkInterrupted, InterruptedError, unlessMissing, UsageError } from '../../base/errors.ts';
import { findImage } from '../../lookup/images.ts';
import { imageHelp } from './change.ts';
import { waitForState } from './creation.ts';
import { keepInJournal } from './kept.ts';
import { finishChanges, showRows } from '../../cli/rows.ts';
import { countFailures } from '../../cli/attempts.ts';

/** An image in a datacenter, and the outcome there. */
export interface Promoted {
  readonly dc: string;
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly outcome: 'imported' | 'present' | 'missing';
}

/** How `Promoted` rows are shown. */
export const promotedShape = { columns: ['dc', 'id', 'name', 'version', 'outcome'], id: 'id' };

/**
 * Returns the name of the datacenter that receives the requests of a context.
 * @throws {UsageError} if its address is not in the list
 * @throws {NotFoundError} if a datacenter of the given name is not in the list
 */
async function nameOwn({ compute, account, settings }: Context, given: string | undefined): Promise<string> {
  const places = Object.entries(await compute.listDatacenters({ account }));
  const names = places.map(([name]) => name);
  if (given !== undefined && !names.includes(given)) throw createAbsentError('datacenter', given, names, 'cloud datacenters list');
  if (given !== undefined) return given;
  const own = new URL(settings().url?.value ?? '').href;
  const found = places.find(([, url]) => URL.canParse(String(url)) && new URL(String(url)).href === own);
  if (found) return found[0];
  throw new UsageError(`no datacenter of the cloud has the URL ${own}`, { hint: `give its name: --from NAME, one of ${names.join(', ')}` });
}

/** An image and the images that it builds on, the root of the chain first. */
async function collectChain({ compute, account }: Context, image: Image): Promise<Image[]> {
  const chain = [image];
  for (let origin = image.origin; origin !== undefined && !chain.some(({ id }) => id === origin); origin = chain[0]?.origin)
    chain.unshift(await compute.getImage({ account, id: origin }));
  return chain;
}

function findThere({ compute, account }: Context, id: string): Promise<Image | undefined> {
  return unlessMissing(compute.getImage({ account, id }));
}

/** Imports an image; if another run has imported it meanwhile, returns that one. */
async function importOne(context: Context, datacenter: string, id: string): Promise<Image> {
  const { compute, account } = context;
  try {
    return await compute.importImageFromDatacenter({ account, datacenter, id });
  } catch (error) {
    const there = error instanceof ApiError && error.code === 'ImageUuidAlreadyExistsError' ? await findThere(context, id) : undefined;
    if (there === undefined) throw error;
    return there;
  }
}

/** The datacenter that images come from, and those that they are imported into. */
export interface Route {
  readonly from: string;
  readonly targets: readonly Datacenter[];
}

/** An image with its origins, and its way. */
export interface Promotion extends Route {
  readonly chain: readonly Image[];
  readonly waitTimeout?: number | undefined;
}

/** Looks up the datacenters of `--to` but the one of origin, which has the image. @throws {NotFoundError} for an unknown name */
export async function findRoute(context: Context, to: string, from: string | undefined): Promise<Route> {
  const datacenters = await chooseDatacenters(context, to);
  const own = await nameOwn(context, from);
  return { from: own, targets: datacenters.filter(({ name }) => name !== own) };
}

/** Looks up the origins of the image. */
export async function preparePromotion(context: Context, image: Image, route: Route): Promise<Promotion> {
  return { ...route, chain: await collectChain(context, image) };
}

/** Imports a chain into a datacenter in order, so that each image is there before the next one that builds on it. */
async function* promoteTo(
  { name: dc, context }: Datacenter,
  { from, chain, waitTimeout }: Promotion,
  dryRun: boolean,
): AsyncGenerator<Promoted> {
  for (const { id, name, version } of chain) {
    checkInterrupted(context.world.interrupted);
    const there = await findThere(context, id);
    if (there === undefined && dryRun) {
      yield { dc, id, name, version, outcome: 'missing' };
      continue;
    }
    const image = there ?? (await importOne(context, from, id));
    if (!dryRun) await waitForState(context, image, ['active'], waitTimeout);
    yield { dc, id, name, version, outcome: there ? 'present' : 'imported' };
  }
}

/** Imports an image with its origins into several datacenters, one after the other. @throws {PartialError} at the end if some failed */
export async function* promoteEverywhere(context: Context, promotion: Promotion, dryRun: boolean): AsyncGenerator<Promoted> {
  const { targets } = promotion;
  const failures = countFailures(context);
  for (const target of targets) {
    try {
      yield* promoteTo(target, promotion, dryRun);
    } catch (error) {
      if (error instanceof InterruptedError) throw error;
      await failures.report(error, target.name);
    }
  }
  failures.finish(targets.length, `${targets.length} datacenters`);
}

const verbs = { imported: 'Imported', present: 'Already present:', missing: 'Would import' };

export function describePromoted({ dc, id, name, version, outcome }: Promoted): string {
  return `${dc}: ${verbs[outcome]} image ${name}@${version} (${id})`;
}

/** Options of commands that promote. */
export const promotionOptions = {
  from: text('Datacenter of the profile; default: found by its URL', {
    placeholder: 'NAME',
    values: 'datacenter',
  }),
};

/** `cloud images promote`. */
export const promote = command({
  summary: 'Import an image with its origins into other datacenters',
  description:
    'The origin images come first, and the command waits for each. Images that a datacenter already has stay unchanged. To continue after an interruption, run the same command again or cloud resume. If a datacenter fails, the command reports it, imports into the others and ends with exit code 5. Images of the operator are not imported: each datacenter must already have them.',
  arguments: { image: one(imageHelp, { values: 'image' }) },
  options: {
    to: text('Datacenters to import into, or all others', { placeholder: 'LIST', values: 'datacenter' }),
    ...promotionOptions,
    dryRun: flag('Only show which images each datacenter lacks', { short: 'n' }),
  },
  fields: promotedShape.columns,
  changes: true,
  run: async (invocation) => {
    const { args, options } = invocation;
    const { to } = options;
    if (to === undefined) throw new UsageError('--to is required: the datacenters', { hint: 'all, or names of: cloud datacenters list' });
    const image = await findImage(invocation, args.image);
    const promotion = await preparePromotion(invocation, image, await findRoute(invocation, to, options.from));
    if (promotion.targets.length === 0) invocation.note(`${promotion.from} has the image, and no other datacenter was given`);
    const run = (): AsyncIterable<Promoted> => promoteEverywhere(invocation, promotion, options.dryRun);
    if (options.dryRun) return await showRows(invocation, run(), promotedShape, describePromoted);
    const work = {
      command: 'images promote',
      kind: 'images' as const,
      // By id: when the command is resumed, a newer image may have the name.
      args: { image: image.id },
      options: { to, from: promotion.from, dryRun: false },
      placed: [[`${image.name}@${image.version}`, to]] as const,
    };
    const rows = finishChanges(invocation, keepInJournal(invocation, work, run));
    return await showRows(invocation, rows, promotedShape, describePromoted);
  },
  examples: [
    { line: 'cloud images promote debian-12 --to all --dry-run', help: 'Which datacenters lack the image?' },
    {
      line: 'cloud --url "$(cloud datacenters get local-2 --jq .url)" images promote inventory --to local',
      help: 'From local-2, with its origin images',
    },
  ],
});
