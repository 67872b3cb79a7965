import { image as imageShape, storageLocation, type Image } from '../../api/resources.ts';
import { command, group, type Context } from '../../cli/command.ts';
import { many, one, texts, text, flag, duration } from '../../cli/parameters.ts';
import { changeCommand, listFieldNames } from '../../cli/shapes.ts';
import { UsageError } from '../../base/errors.ts';
import { isUuid } from '../../base/uuid.ts';
import { record, type Output } from '../../output/kinds.ts';
import { printRemotePath, readRemotePath } from '../../transfer/path.ts';
import { waitForState } from './creation.ts';
import { checkInstance, imageOptions, parseTag, readAccounts, readFields } from './settable-fields.ts';
import { findImage, findOneImage } from '../../lookup/images.ts';

export const imageHelp = 'Id, beginning of an id, name@version, or name for the newest';
/** For commands that change or delete an image. */
export const oneImageHelp = 'Id, beginning of an id, name@version, or name of exactly one image';
const shown = ['id', 'name', 'version', 'state'] as const;
const waitOptions = {
  wait: flag('Wait until the image is active'),
  waitTimeout: duration('Maximum time to wait; default 1h'),
};

function printImage({ name, version, id }: Image): string {
  return `${name}@${version} (${id})`;
}

export const create = changeCommand({
  summary: 'Create an image from an instance',
  description:
    'The instance must be prepared and stopped. The service creates the image in the background. With --wait the command ends when the image is active, or tells why the creation failed. The API does not list instances; for those of cloud local see cloud help local-service.',
  arguments: { machine: one('UUID of the instance'), name: one('Name of the image'), version: one('Version of the image') },
  options: { ...imageOptions, acl: texts('Account that may use the image', { placeholder: 'UUID' }), ...waitOptions },
  id: 'id',
  columns: shown,
  shape: imageShape,
  change: async (invocation) => {
    const { args, options, compute, account } = invocation;
    const { machine, name, version } = args;
    checkInstance(machine);
    const fields = await readFields(invocation, options);
    const acl = options.acl.length > 0 ? readAccounts(options.acl) : fields.acl;
    const image = await compute.createImageFromMachine({ account, ...fields, machine, name, version, acl });
    if (!options.wait) return image;
    invocation.note(`Creating image ${printImage(image)}`);
    return await waitForState(invocation, image, ['active'], options.waitTimeout);
  },
  done: (image) => (image.state === 'creating' ? `Creating image ${printImage(image)}` : `Created image ${printImage(image)}`),
  examples: [
    { line: 'cloud images create 6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001 web 1.0.0 --wait', help: 'From an instance, and wait until active' },
    {
      line: 'cloud images create 6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001 web 1.0.1 --description "Web server" --tag role=web',
      help: 'With a description and a tag',
    },
  ],
});

export const importImage = changeCommand({
  summary: 'Copy an image with its origins from another datacenter',
  arguments: { datacenter: one('Name of the datacenter', { values: 'datacenter' }), id: one('UUID of the image in that datacenter') },
  id: 'id',
  columns: shown,
  shape: imageShape,
  change: async ({ args, compute, account }) => {
    if (!isUuid(args.id)) {
      throw new UsageError(`"${args.id}" is not the UUID of an image`, {
        hint: `cloud --url "$(cloud datacenters get ${args.datacenter} --jq .url)" images list`,
      });
    }
    return await compute.importImageFromDatacenter({ account, datacenter: args.datacenter, id: args.id });
  },
  done: (image) => `Imported image ${printImage(image)}`,
  examples: [
    { line: 'cloud images import local-2 b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e0003', help: 'An image of the datacenter local-2' },
    { line: 'cloud datacenters list', help: 'List the datacenters' },
  ],
});

export const exportImage = command({
  summary: 'Write an image with its manifest into the object storage',
  description: 'When PATH is a directory, the files are PATH/NAME-VERSION.imgmanifest and PATH/NAME-VERSION.zfs.EXT.',
  arguments: { image: one(imageHelp, { values: 'image' }), path: one('Path prefix in the object storage', { values: 'path' }) },
  ...listFieldNames(storageLocation),
  changes: true,
  run: async (invocation) => {
    const { args, compute, account, note } = invocation;
    const { id, name, version } = await findImage(invocation, args.image);
    const path = printRemotePath(readRemotePath(args.path, account));
    const location = await compute.exportImage({ account, id, storage_path: path });
    note(`Exported image ${name}@${version}`);
    return record(location, { id: 'image_path' });
  },
  examples: [
    { line: 'cloud images export web@1.0.0 images', help: 'Into the directory ~~/stor/images' },
    { line: 'cloud stor cat "$(cloud images export web@1.0.0 images -o name)" > web.zfs.gz', help: 'Export and download the file' },
  ],
});

export const clone = changeCommand({
  summary: 'Copy an image that another account shares with you',
  arguments: { image: one(imageHelp, { values: 'image' }) },
  id: 'id',
  columns: shown,
  shape: imageShape,
  change: async (invocation) => {
    const { id } = await findImage(invocation, invocation.args.image);
    return await invocation.compute.cloneImage({ account: invocation.account, id });
  },
  done: (image) => `Cloned as image ${printImage(image)}`,
  examples: [
    { line: 'cloud images clone web@1.0.0', help: 'A copy with a new id' },
    { line: 'cloud images clone web@1.0.0 -o name', help: 'Print the id of the copy' },
  ],
});

export const update = changeCommand({
  summary: 'Change fields of an image',
  description: 'Tags and the list of accounts are replaced as a whole. To change single entries use cloud images tags, share and unshare.',
  arguments: { image: one(oneImageHelp, { values: 'image' }) },
  options: {
    name: text('New name', { placeholder: 'NAME' }),
    version: text('New version', { placeholder: 'VERSION' }),
    ...imageOptions,
    acl: texts('Account that may use the image; replaces the current list', { placeholder: 'UUID' }),
  },
  id: 'id',
  shape: imageShape,
  change: async (invocation) => {
    const { args, options, compute, account } = invocation;
    const acl = options.acl.length > 0 ? { acl: readAccounts(options.acl) } : {};
    const fields = { ...(await readFields(invocation, options)), ...acl };
    if (Object.keys(fields).length === 0) throw new UsageError('nothing to change', { hint: 'give a field: cloud images update --help' });
    const { id } = await findOneImage(invocation, args.image);
    return await compute.updateImage({ account, id, ...fields });
  },
  done: (image) => `Updated image ${printImage(image)}`,
  examples: [
    { line: 'cloud images update web@1.0.0 --description "The web server"', help: 'Another description' },
    { line: 'cloud images update web@1.0.0 --version 1.0.1', help: 'Another version' },
  ],
});

/** Changes fields of an image, starting from their current values. */
async function changeFrom(context: Context, word: string, change: (image: Image) => Partial<Pick<Image, 'acl' | 'tags'>>): Promise<Image> {
  const { compute, account } = context;
  const { id } = await findOneImage(context, word);
  return await compute.updateImage({ account, id, ...change(await compute.getImage({ account, id })) });
}

export const share = changeCommand({
  summary: 'Let other accounts use an image',
  arguments: { image: one(oneImageHelp, { values: 'image' }), account: many('UUID of an account') },
  id: 'id',
  columns: ['id', 'name', 'version', 'acl'],
  shape: imageShape,
  change: async (invocation) => {
    const accounts = readAccounts(invocation.args.account);
    return await changeFrom(invocation, invocation.args.image, ({ acl = [] }) => ({ acl: [...new Set([...acl, ...accounts])] }));
  },
  done: (image) => `Shared image ${printImage(image)}`,
  examples: [
    { line: 'cloud images share web@1.0.0 b3f3c9b2-6c36-4b3c-8d5c-0d6f1f0a2f37', help: 'With one account' },
    { line: 'cloud images get web@1.0.0 -j --columns acl', help: 'Show who may use the image' },
  ],
});

export const unshare = changeCommand({
  summary: 'Stop sharing an image with other accounts',
  arguments: { image: one(oneImageHelp, { values: 'image' }), account: many('UUID of an account') },
  id: 'id',
  columns: ['id', 'name', 'version', 'acl'],
  shape: imageShape,
  change: async (invocation) => {
    const { args } = invocation;
    const accounts = readAccounts(args.account);
    return await changeFrom(invocation, args.image, ({ acl = [] }) => {
      const missing = accounts.find((each) => !acl.includes(each));
      if (missing !== undefined)
        throw new UsageError(`image ${args.image} is not shared with ${missing}`, { hint: `cloud images get ${args.image}` });
      return { acl: acl.filter((each) => !accounts.includes(each)) };
    });
  },
  done: (image) => `Unshared image ${printImage(image)}`,
  examples: [
    { line: 'cloud images unshare web@1.0.0 b3f3c9b2-6c36-4b3c-8d5c-0d6f1f0a2f37', help: 'With one account' },
    { line: 'cloud images list --state all', help: 'S marks images that you share' },
  ],
});

/** Tags as a record; their keys are data and are shown unchanged. */
function showTags({ tags = {} }: Image): Output {
  return record(tags, { id: 'role', columns: Object.keys(tags).map((key) => ({ key, title: key })) });
}

/** `cloud images tags`. */
export const tags = group({
  summary: 'Tags of an image: keys and values',
  commands: {
    get: command({
      summary: 'Show the tags of an image',
      aliases: ['list', 'show'],
      arguments: { image: one(imageHelp, { values: 'image' }) },
      run: async (invocation) => showTags(await findImage(invocation, invocation.args.image)),
      examples: [
        { line: 'cloud images tags get debian-12', help: 'Every tag' },
        { line: 'cloud images tags get debian-12 -j', help: 'As JSON' },
      ],
    }),
    set: command({
      summary: 'Set tags of an image; other tags stay',
      arguments: {
        image: one(oneImageHelp, { values: 'image' }),
        tag: many('KEY=VALUE, or KEY:=JSON for a number, true or false'),
      },
      run: async (invocation) => {
        const given = Object.fromEntries(invocation.args.tag.map(parseTag));
        const image = await changeFrom(invocation, invocation.args.image, ({ tags }) => ({ tags: { ...tags, ...given } }));
        invocation.note(`Tagged image ${printImage(image)}`);
        return showTags(image);
      },
      examples: [
        { line: 'cloud images tags set web@1.0.0 role=web tested:=true', help: 'A string and a boolean' },
        { line: 'cloud images tags set web@1.0.0 "owner=the web team"', help: 'A value with spaces' },
      ],
    }),
    unset: command({
      summary: 'Remove tags from an image',
      aliases: ['rm', 'remove'],
      arguments: { image: one(oneImageHelp, { values: 'image' }), key: many('Key of a tag') },
      run: async (invocation) => {
        const { args } = invocation;
        const image = await changeFrom(invocation, args.image, ({ tags = {} }) => {
          const missing = args.key.find((key) => !Object.hasOwn(tags, key));
          if (missing !== undefined)
            throw new UsageError(`image ${args.image} has no tag ${missing}`, { hint: `cloud images tags get ${args.image}` });
          return { tags: Object.fromEntries(Object.entries(tags).filter(([key]) => !args.key.includes(key))) };
        });
        invocation.note(`Removed tags of image ${printImage(image)}`);
        return showTags(image);
      },
      examples: [
        { line: 'cloud images tags unset web@1.0.0 tested', help: 'One tag' },
        { line: 'cloud images tags unset web@1.0.0 role owner', help: 'Several' },
      ],
    }),
  },
});
