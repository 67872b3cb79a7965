import { createHash } from 'node:crypto';
import { isDeepStrictEqual, promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { streamOf, type ByteStream } from '../../api/message.ts';
import { discardContents } from '../storage/garbage.ts';
import type { ImageRow } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

/** Columns of an image that identify its file. */
export type ImageFile = Pick<ImageRow, 'files'> & { readonly content: string };

/** The record of an image's file; empty if the image has none. */
export function fileOf({ files }: Pick<ImageRow, 'files'>): { compression?: string; sha1?: string; size?: number } {
  const [file = {}] = JSON.parse(files) as ReturnType<typeof fileOf>[];
  return file;
}

/** Size of a sample file before compression, bytes. */
const sampleSize = 64 * 1024;

/** Pseudorandom bytes, the same for the same seed. */
function makeBytes(seed: string): Buffer {
  const pieces: Buffer[] = [];
  for (let index = 0; index * 32 < sampleSize; index += 1) pieces.push(createHash('sha256').update(`${seed} ${index}`).digest());
  return Buffer.concat(pieces);
}

/** Stores the file of an image in the byte store. */
async function storeImageFile(store: Store, body: ByteStream, compression: string): Promise<ImageFile> {
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

/** Ends with an error after `most` bytes, so that a body without an end does not fill the disk. */
async function* limitBytes(body: ByteStream, most: number, createError: () => Error): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > most) throw createError();
    yield piece;
  }
}

/** Stores a file that must match its record; otherwise nothing of it is kept. @throws the error that `refuse` returns if it does not */
export async function storeRecorded(store: Store, body: ByteStream, files: string, createError: () => Error): Promise<ImageFile> {
  const { compression = 'none', size = 0 } = fileOf({ files });
  const stored = await storeImageFile(store, limitBytes(body, size, createError), compression);
  if (isDeepStrictEqual(JSON.parse(stored.files), JSON.parse(files))) return stored;
  await discardContents(store, [stored]);
  throw createError();
}

/** Generates the file of an image that is not a copy of another one; the same for the same seed. */
export async function makeImageFile(store: Store, seed: string): Promise<ImageFile> {
  return storeImageFile(store, streamOf(await promisify(gzip)(makeBytes(seed))), 'gzip');
}
