import { LocalError } from '../../../base/errors.ts';
import { fileOf, storeRecorded } from '../../compute/image-file.ts';
import type { ImageRow } from '../../store/schema.ts';
import { skip } from '../../store/skip.ts';
import type { Store } from '../../store/store.ts';

async function copyFile(from: Store, to: Store, { id, name, content, files }: ImageRow & { content: string }): Promise<string> {
  const body = await from.bytes.read(content, 0, fileOf({ files }).size ?? 0);
  const damaged = `the file of image ${id} (${name}) is damaged in the data directory: its size or SHA-1 is another than recorded`;
  const hint = 'delete the image in the local service, and run the command again';
  return (await storeRecorded(to, body, files, () => new LocalError(damaged, { hint }))).content;
}

/** Result of copying images. */
export interface CopiedImages {
  /** Number of images in the data directory. */
  readonly images: number;
  /** Contents: ids in the cluster by ids in the data directory. */
  readonly contents: ReadonlyMap<string, string>;
}

/**
 * Copies images with their files. Images of earlier runs are kept, and so are images of the operator that the cluster already has.
 * @throws {LocalError} when a file differs from its record
 */
export async function copyImages(from: Store, to: Store): Promise<CopiedImages> {
  const rows = await from.db.selectFrom('images').selectAll().orderBy('id').execute();
  const contents = new Map<string, string>();
  for (const row of rows) {
    const there = await to.db.selectFrom('images').select('content').where('id', '=', row.id).executeTakeFirst();
    const { content } = row;
    const copied = there
      ? there.content
      : content === null
        ? null
        : (contents.get(content) ?? (await copyFile(from, to, { ...row, content })));
    if (content !== null && copied !== null) contents.set(content, copied);
    if (there) continue;
    const values = { ...row, content: copied };
    await to.write((transaction) => transaction.insertInto('images').values(values).onConflict(skip).execute());
  }
  const creations = await from.db.selectFrom('image_creations').selectAll().execute();
  for (const creation of creations)
    await to.write((transaction) => transaction.insertInto('image_creations').values(creation).onConflict(skip).execute());
  return { images: rows.length, contents };
}
