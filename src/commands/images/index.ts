import { compute as api } from '../../api/compute.ts';
import { extend, text } from '../../api/fields.ts';
import { image as imageShape, imageStates, type Image } from '../../api/resources.ts';
import { andThen } from '../../base/iterate.ts';
import { command, group, type Context } from '../../cli/command.ts';
import { filtersOf, readFilters } from '../../cli/filters.ts';
import { choice, duration, many } from '../../cli/parameters.ts';
import { createAttempts } from '../../cli/attempts.ts';
import { deleteCommand, getCommand, listCommand, listFieldNames } from '../../cli/shapes.ts';
import { records } from '../../output/kinds.ts';
import { clone, create, exportImage, imageHelp, importImage, oneImageHelp, share, tags, unshare, update } from './change.ts';
import { waitForState } from './creation.ts';
import { readAccounts } from './settable-fields.ts';
import { pipeline } from './pipeline.ts';
import { promote } from './promote.ts';
import { createImageList, findImage, findOneImage } from '../../lookup/images.ts';
import { findAccountId, flagsHelp, listFlags } from './flags.ts';

/** True if the output has the column `flags`, which is computed here; the data formats have only the fields of the service. */
function showsFlags({ global }: Context): boolean {
  if (global.columns !== undefined) return /\b(flags|all)\b/.test(global.columns);
  return !global.json && ['table', 'csv', 'tsv', undefined].includes(global.output);
}

async function addFlags(context: Context, images: readonly Image[]): Promise<object[]> {
  const account = await findAccountId(context);
  return images.map((image) => ({ ...image, flags: listFlags(image, account) }));
}

const wait = command({
  summary: 'Wait until images have a state',
  description:
    'If the creation of an image failed, the command fails and tells the reason. It also fails, without waiting, if an image can no longer have the state: creating, unactivated and failed come before active.',
  arguments: { image: many(imageHelp, { values: 'image' }) },
  options: {
    state: choice('State to wait for; default active', imageStates, { placeholder: 'STATE' }),
    waitTimeout: duration('Maximum time to wait; default 1h'),
  },
  run: async (invocation) => {
    const { args, options } = invocation;
    const attempts = createAttempts(invocation, args.image.length);
    const list = createImageList(invocation);
    const images = await attempts.each(args.image, async (word) => {
      // An image that is being created takes precedence: it is newer than the published ones, which need no waiting.
      const image = await findImage(invocation, word, list, ({ state }) => state === 'creating');
      return await waitForState(invocation, image, [options.state ?? 'active'], options.waitTimeout);
    });
    return records(andThen(images, attempts.finish), {
      columns: ['id', 'name', 'version', 'state'],
      id: 'id',
      ...listFieldNames(imageShape),
    });
  },
  examples: [
    { line: 'cloud images wait debian-12', help: 'Until the image is active' },
    { line: 'cloud images wait web@1.0.0 --state active --wait-timeout 10m', help: 'For at most ten minutes' },
  ],
});

const imageColumns = [
  'id',
  'name',
  'version',
  'flags',
  'os',
  'type',
  { key: 'state', long: true },
  { key: 'owner', long: true },
  { key: 'public', long: true },
  { key: 'published_at', title: 'PUBLISHED', as: 'time' },
] as const;
/** Flags are computed for lists only. */
const listedShape = extend(imageShape, { flags: text('A letter for each property') });

export const images = group({
  summary: 'Images: templates of instances',
  commands: {
    list: listCommand({
      summary: 'List images',
      perDatacenter: true,
      aliases: ['ls'],
      description: flagsHelp,
      columns: imageColumns,
      id: 'id',
      shape: listedShape,
      options: {
        ...filtersOf(api.listImages),
        state: choice('Filter by state', [...imageStates, 'all'], { placeholder: 'STATE' }),
      },
      fetch: async (invocation) => {
        const { compute, account, options } = invocation;
        const [owner] = options.owner === undefined ? [] : readAccounts([options.owner]);
        const images = await compute.listImages({ account, ...readFilters(api.listImages, options), ...(owner && { owner }) });
        return showsFlags(invocation) ? await addFlags(invocation, images) : images;
      },
      examples: [
        { line: 'cloud images list --os linux', help: 'Linux images' },
        { line: 'cloud images list --state all -j', help: 'Every image in every state, as JSON' },
        { line: 'cloud images list --name web --dc all', help: 'Which datacenters have the image?' },
      ],
    }),
    get: getCommand({
      summary: 'Show an image',
      perDatacenter: true,
      argument: 'image',
      help: imageHelp,
      values: 'image',
      id: 'id',
      listed: imageColumns.filter((column) => column !== 'flags'),
      shape: imageShape,
      fetch: findImage,
      examples: [
        { line: 'cloud images get ubuntu-24.04', help: 'The newest version' },
        { line: 'cloud images get ubuntu-24.04@20250611 -j', help: 'One version, as JSON' },
      ],
    }),
    create,
    import: importImage,
    export: exportImage,
    clone,
    pipeline,
    promote,
    update,
    share,
    unshare,
    tags,
    wait,
    delete: deleteCommand({
      summary: 'Delete images of the account',
      argument: 'image',
      help: oneImageHelp,
      values: 'image',
      noun: 'image',
      read: createImageList,
      resolve: async (list, word, context) => {
        const { id, name, version } = await findOneImage(context, word, list);
        return { id, label: `${name}@${version} (${id})` };
      },
      remove: ({ compute, account }, id) => compute.deleteImage({ account, id }),
      examples: [
        { line: 'cloud images delete web@1.0.0', help: 'With confirmation' },
        { line: 'cloud images delete web@1.0.0 web@1.0.1 --yes', help: 'Several, without confirmation' },
      ],
    }),
  },
});
