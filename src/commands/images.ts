import type { Image } from '../api/resources.ts';
import { group, type Context } from '../cli/command.ts';
import { choice, negatable, text } from '../cli/parameters.ts';
import { findNamed, getCommand, listCommand } from '../cli/shapes.ts';
import { NotFoundError } from '../errors.ts';

/** Finds an image by id, the beginning of its id, `name@version`, or name: the newest of that name. */
export async function findImage({ compute, account }: Pick<Context, 'compute' | 'account'>, word: string): Promise<Image> {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(word)) return await compute.getImage({ account, id: word });
  const images = await compute.listImages({ account, state: 'all' });
  const named = images.filter(({ name, version }) => name === word || `${name}@${version}` === word);
  const newest = named.toSorted((a, b) => (a.published_at ?? '').localeCompare(b.published_at ?? '')).at(-1);
  const found = newest ?? findNamed(images, word, 'image');
  if (!found) throw new NotFoundError(`image "${word}" does not exist`, { hint: 'cloud images list' });
  return found;
}

export const images = group({
  summary: 'Images that instances are made from',
  commands: {
    list: listCommand({
      summary: 'List images',
      columns: [
        'id',
        'name',
        'version',
        'os',
        'type',
        { key: 'state', long: true },
        { key: 'owner', long: true },
        { key: 'public', long: true },
        { key: 'published_at', title: 'PUBLISHED', as: 'time' },
      ],
      id: 'id',
      options: {
        name: text('Only of this name'),
        os: text('Only of this operating system'),
        version: text('Only of this version'),
        public: negatable('Only public, or only private images'),
        state: choice('Only in this state', ['active', 'unactivated', 'disabled', 'creating', 'failed', 'all'], { placeholder: 'STATE' }),
        owner: text('Only of this owner', { placeholder: 'UUID' }),
        type: text('Only of this kind'),
      },
      fetch: ({ compute, account, options }) => compute.listImages({ account, ...options }),
      examples: [
        { line: 'cloud images list --os linux', help: 'Linux images' },
        { line: 'cloud images list --state all -j', help: 'Every image in every state, as JSON' },
      ],
    }),
    get: getCommand({
      summary: 'Show an image',
      argument: 'image',
      help: 'Id, beginning of an id, name@version, or name for the newest',
      values: 'image',
      id: 'id',
      fetch: findImage,
      examples: [
        { line: 'cloud images get ubuntu-24.04', help: 'The newest image of a name' },
        { line: 'cloud images get ubuntu-24.04@20240612 -j', help: 'One version, as JSON' },
      ],
    }),
  },
});
