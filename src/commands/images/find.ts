import type { Image } from '../../api/resources.ts';
import type { Context } from '../../cli/command.ts';
import { findNamed } from '../../cli/shapes.ts';
import { NotFoundError } from '../../errors.ts';

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
