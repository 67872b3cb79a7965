import type { ImageUpload } from '../../api/catalogue.ts';
import type { ByteStream } from '../../api/message.ts';
import { UsageError } from '../../base/errors.ts';
import { undoOnFailure } from '../../base/undo-on-failure.ts';
import { assertContents, type ClusterPlace } from '../cluster-contents.ts';
import { storeRecorded } from '../compute/image-file.ts';
import { discardContents } from '../storage/garbage.ts';
import type { Store } from '../store/store.ts';
import { workUnderLease } from './under-lease.ts';

/** Stores files of images among the contents of a cluster, for `cloud server apply`. */

/** Files, and where to store them. */
export interface FileSource {
  readonly bytes: ClusterPlace['bytes'];
  /** Each path once. */
  readonly uploads: readonly ImageUpload[];
  /** Opens the bytes of one of them. */
  readonly read: (upload: ImageUpload) => ByteStream;
  /** Id of this process, under which other members see it. */
  readonly pid: number;
}

/** @throws {UsageError} when the file has changed since it was inspected; nothing of it is kept then */
async function storeFile(store: Store, { read }: FileSource, upload: ImageUpload): Promise<string> {
  const { path, compression, sha1, size } = upload;
  const changed = (): UsageError =>
    new UsageError(`${path} was changed while it was read: nothing was done`, { hint: 'run the command again' });
  return (await storeRecorded(store, read(upload), JSON.stringify([{ compression, sha1, size }]), changed)).content;
}

/** Stores all files or none. @returns contents by path */
async function storeAll(store: Store, source: FileSource): Promise<Map<string, string>> {
  const contents = new Map<string, string>();
  const discard = (): Promise<void> => {
    const rows = [...contents.values()].map((content) => ({ content }));
    return discardContents(store, rows);
  };
  return undoOnFailure(discard, async () => {
    for (const upload of source.uploads) contents.set(upload.path, await storeFile(store, source, upload));
    return contents;
  });
}

/** Stores files, then calls `work` with their contents by path. */
export function storeFiles(
  database: string,
  source: FileSource,
  work: (store: Store, contents: ReadonlyMap<string, string>) => Promise<void>,
): Promise<void> {
  assertContents(source.bytes);
  // Unused contents are left to the collector: if the response to a commit was lost, nobody here knows whether they are used.
  return workUnderLease('apply', { database, ...source }, async (store) => work(store, await storeAll(store, source)));
}
