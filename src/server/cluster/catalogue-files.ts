import type { ImageUpload } from '../../api/catalogue.ts';
import type { ByteStream } from '../../api/message.ts';
import { UsageError } from '../../base/errors.ts';
import { assertContents, type ClusterPlace } from '../cluster-contents.ts';
import { storeImageFile } from '../compute/image-file.ts';
import { discardContents } from '../storage/contents.ts';
import type { Store } from '../store/store.ts';
import { workUnderLease } from './under-lease.ts';

/** Files of images, which `cloud server apply` puts among the contents of a cluster. */

/** Files, and where they are to go. */
export interface FileSource {
  readonly bytes: ClusterPlace['bytes'];
  /** Each path once. */
  readonly uploads: readonly ImageUpload[];
  /** The bytes of one of them. */
  readonly read: (upload: ImageUpload) => ByteStream;
  /** Of this process, by which others are told of it. */
  readonly pid: number;
}

/** @throws {UsageError} when the file became another since it was looked at; nothing is kept of it then */
async function storeFile(store: Store, { read }: FileSource, upload: ImageUpload): Promise<string> {
  const { path, compression, sha1, size } = upload;
  const { content, files } = await storeImageFile(store, read(upload), compression);
  if (content === null) throw new Error('a file that was stored has no content');
  if (files === JSON.stringify([{ compression, sha1, size }])) return content;
  await store.bytes.remove(content);
  throw new UsageError(`${path} was changed while it was read: nothing was done`, { hint: 'run the command again' });
}

/** Stores all files, or none. @returns contents by paths */
async function storeAll(store: Store, source: FileSource): Promise<Map<string, string>> {
  const contents = new Map<string, string>();
  try {
    for (const upload of source.uploads) contents.set(upload.path, await storeFile(store, source, upload));
    return contents;
  } catch (error) {
    await discardContents(store, contents.values());
    throw error;
  }
}

/** Stores files, then does work with the contents that they became, by their paths. */
export function storeFiles(
  database: string,
  source: FileSource,
  work: (store: Store, contents: ReadonlyMap<string, string>) => Promise<void>,
): Promise<void> {
  assertContents(source.bytes);
  // What the work refuses to use is left to collectors: of a commit whose answer was lost nobody knows here.
  return workUnderLease('apply', { database, ...source }, async (store) => work(store, await storeAll(store, source)));
}
