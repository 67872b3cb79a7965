import type { Image } from '../api/resources.ts';
import type { Context } from '../cli/command.ts';
import { requireNamed } from '../cli/named.ts';
import { UsageError } from '../base/errors.ts';
import { quoteShell } from '../base/quote.ts';
import { isUuid } from '../base/uuid.ts';
import { searchByName } from './find.ts';

type Session = Pick<Context, 'compute' | 'account'>;

/** The list that {@link findImage} searches, requested on first use and only once. */
export function createImageList({ compute, account }: Session): () => Promise<Image[]> {
  let images: Promise<Image[]> | undefined;
  return () => (images ??= compute.listImages({ account, state: 'all' }));
}

/** Finds an image to be changed or deleted. @throws {UsageError} with the candidates when several images match */
export async function findOneImage(session: Session, word: string, list = createImageList(session)): Promise<Image> {
  if (!isUuid(word)) {
    const named = (await searchByName('image', word, list)).filter(({ name, version }) => name === word || `${name}@${version}` === word);
    if (named.length > 1) {
      const candidates = named.map(({ id, name, version }) => `${id} (${name}@${version})`).join(', ');
      throw new UsageError(`image "${word}" is ambiguous: ${candidates}`, {
        hint: `give the full id: cloud images list --name ${quoteShell(named[0]?.name ?? word)}`,
      });
    }
  }
  return await findImage(session, word, list);
}

/**
 * Finds an image by id, the beginning of its id, `name@version`, or name; of several matches, the newest.
 * @param comesFirst selects images that take precedence over others of the same name
 */
export async function findImage(
  session: Session,
  word: string,
  list = createImageList(session),
  comesFirst: (image: Image) => boolean = () => true,
): Promise<Image> {
  const { compute, account } = session;
  if (isUuid(word)) return await compute.getImage({ account, id: word });
  const images = await searchByName('image', word, list);
  const named = images.filter(({ name, version }) => name === word || `${name}@${version}` === word);
  const sorted = named.toSorted((a, b) => (a.published_at ?? '').localeCompare(b.published_at ?? ''));
  const newest = sorted.findLast(comesFirst) ?? sorted.at(-1);
  return newest ?? requireNamed(images, word, 'image', 'cloud images list');
}
