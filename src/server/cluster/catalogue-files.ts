import { hostname } from 'node:os';
import type { ImageUpload } from '../../api/catalogue.ts';
import type { ByteStream } from '../../api/message.ts';
import { build } from '../../base/build.ts';
import { UsageError } from '../../base/errors.ts';
import { openContents, type ClusterPlace } from '../cluster-contents.ts';
import { storeImageFile } from '../compute/image-file.ts';
import { keepLease, takeLease } from '../store/postgres/lease.ts';
import { openPostgres } from '../store/postgres/open.ts';
import type { Store } from '../store/store.ts';

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
    // What cannot be removed now is found by collectors later.
    for (const content of contents.values()) await store.bytes.remove(content).catch(() => undefined);
    throw error;
  }
}

/**
 * Stores files, then does work with the contents that they became, by their paths. A lease keeps
 * collectors from what no row names yet, however long it takes; where it was lost, the work is refused.
 */
export async function storeFiles(
  database: string,
  source: FileSource,
  work: (store: Store, contents: ReadonlyMap<string, string>) => Promise<void>,
): Promise<void> {
  const own = await openPostgres(database, 1);
  const ends: (() => Promise<void>)[] = [() => own.destroy()];
  try {
    // Before anything of it is asked for: the tables may be of another release.
    const store = await openContents({ database, bytes: source.bytes }, (transaction) => lease.admit(transaction));
    ends.push(() => store.close());
    const lease = await takeLease(own, { address: `apply ${source.pid} of ${hostname()}`, version: build.version });
    // Where the database is away it ends by itself.
    ends.push(() => lease.release().catch(() => undefined));
    const keeping = keepLease(lease, () => undefined);
    ends.push(() => keeping.stop());
    const running = lease.begin();
    ends.push(async () => running.end());
    const contents = await storeAll(store, source);
    // What it refuses to use is left to collectors: of a commit whose answer was lost nobody knows here.
    await lease.within(running, () => work(store, contents));
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}
