import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { streamOf, type ByteStream } from '../../api/message.ts';
import type { ImageRow } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

/** Columns of an image that identify its file. */
export type ImageFile = Pick<ImageRow, 'content' | 'files'>;

/** Size of a sample file before compression, bytes. */
const sampleSize = 64 * 1024;

/** Pseudorandom bytes, the same for the same seed. */
function makeBytes(seed: string): Buffer {
  const pieces: Buffer[] = [];
  for (let index = 0; index * 32 < sampleSize; index += 1) pieces.push(createHash('sha256').update(`${seed} ${index}`).digest());
  return Buffer.concat(pieces);
}

/** Stores the file of an image in the byte store. */
export async function storeImageFile(store: Store, body: ByteStream, compression: string): Promise<ImageFile> {
  const hash = createHash('sha1');
  const hashed = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of body) {
      hash.update(piece);
      yield piece;
    }
  };
  const { id, size } = await store.bytes.write(hashed());
  return { content: id, files: JSON.stringify([{ compression, sha1: hash.digest('hex'), size }]) };
}

/** Generates the file of an image that is not a copy of another one; the same for the same seed. */
export async function makeImageFile(store: Store, seed: string): Promise<ImageFile> {
  return storeImageFile(store, streamOf(await promisify(gzip)(makeBytes(seed))), 'gzip');
}
