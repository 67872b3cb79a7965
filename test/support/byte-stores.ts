import { randomUUID } from 'node:crypto';
import { stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { ByteStore } from '../../src/server/store/bytes.ts';
import { openFileBytes } from '../../src/server/store/file-bytes.ts';
import { openS3Bytes } from '../../src/server/store/s3/bytes.ts';
import { openS3, type S3Client } from '../../src/server/store/s3/client.ts';
import type { S3Options } from '../../src/server/store/s3/options.ts';
import { startCeph } from './ceph.ts';
import type { TestS3 } from './engine.ts';
import { startSwift } from './swift.ts';
import { hasProgram } from './witnesses.ts';

/** Where the tests keep contents: in files, or in a real store that speaks the S3 protocol. */

/** `ceph`, `swift`: which store the tests of a run use; files when absent. */
const wanted = 'CLOUD_TEST_BYTES';

/** Where it is, for the processes of the run. */
const place = 'CLOUD_TEST_S3';

const bucket = 'cloud';

/** How each is started, a program of it and the Debian packages. */
interface KnownEngine {
  readonly start: () => Promise<TestS3>;
  readonly program: string;
  readonly packages: string;
}

const engines: Readonly<Record<string, KnownEngine>> = {
  ceph: { start: startCeph, program: 'radosgw', packages: 'ceph-mon ceph-osd radosgw' },
  swift: { start: startSwift, program: 'swift-proxy-server', packages: 'swift-proxy swift-account swift-container swift-object memcached' },
};

/** Makes a bucket. */
export async function makeBucket(options: S3Options): Promise<void> {
  const client = openS3(options);
  await client.send({ method: 'PUT' });
  await client.close();
}

/** Starts the store that the tests of this run use. @returns what stops it */
export async function prepareBytes(): Promise<() => Promise<void>> {
  const name = process.env[wanted] ?? '';
  if (name === '') return async () => undefined;
  const engine = engines[name];
  if (!engine) throw new Error(`${wanted}=${name}: must be one of ${Object.keys(engines).join(', ')}`);
  if (!hasProgram(engine.program)) throw new Error(`Absent witness: ${name}. To run these tests: apt-get install ${engine.packages}`);
  const { stop, ...store } = await engine.start();
  const options: S3Options = { ...store, bucket, prefix: '' };
  await makeBucket(options).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  process.env[place] = JSON.stringify(options);
  return async () => {
    delete process.env[place];
    await stop();
  };
}

/** Where the contents of a directory's store are, which tests look into. */
const opened = new Map<string, S3Options>();

/** A place of its own in the store of this run; undefined when the tests keep contents in files. @param dir the directory of the test */
export function chooseTestS3(dir: string): S3Options | undefined {
  const given = process.env[place];
  if (given === undefined) return undefined;
  const options = opened.get(dir) ?? { ...(JSON.parse(given) as S3Options), prefix: `${randomUUID()}/` };
  opened.set(dir, options);
  return options;
}

/** An empty place of contents for a test. */
export async function openTestBytes(dir: string): Promise<{ bytes: ByteStore; close: () => Promise<void> }> {
  const options = chooseTestS3(dir);
  if (!options) return { bytes: await openFileBytes(dir), close: async () => undefined };
  const bytes = openS3Bytes(options);
  return { bytes, close: () => bytes.close() };
}

/** How many contents a place has. */
export async function countContents(bytes: ByteStore): Promise<number> {
  let count = 0;
  for await (const _ of bytes.list()) count += 1;
  return count;
}

async function withStore<T>(
  dir: string,
  inFiles: (file: (id: string) => string) => Promise<T>,
  inS3: (client: S3Client) => Promise<T>,
): Promise<T> {
  const options = opened.get(dir);
  if (!options) return inFiles((id) => join(dir, 'bytes', id.slice(0, 2), id));
  const client = openS3(options);
  try {
    return await inS3(client);
  } finally {
    await client.close();
  }
}

/** Bytes that a content takes. */
export function measureContent(dir: string, id: string): Promise<number> {
  return withStore(
    dir,
    async (fileOf) => (await stat(fileOf(id))).size,
    (client) => client.send({ method: 'HEAD', key: `bytes/${id}` }, ({ headers }) => Number(headers['content-length'])),
  );
}

/** Leaves a content the first bytes alone, as a damage of what keeps it does. */
export function cutContent(dir: string, id: string, size: number): Promise<void> {
  return withStore(
    dir,
    (fileOf) => truncate(fileOf(id), size),
    async (client) => void (await client.send({ method: 'PUT', key: `bytes/${id}`, body: Buffer.alloc(size) })),
  );
}

/** Begins to store a content in parts, as a gateway does that is killed then. @returns its id; undefined where the tests keep contents in files */
export function beginContent(dir: string): Promise<string | undefined> {
  return withStore(
    dir,
    async () => undefined,
    async (client) => {
      const id = randomUUID();
      const key = `bytes/${id}`;
      const [, uploadId = ''] = /<UploadId>([^<]+)</u.exec(await client.send({ method: 'POST', key, query: { uploads: '' } })) ?? [];
      await client.send({ method: 'PUT', key, query: { partNumber: '1', uploadId }, body: Buffer.alloc(5 * 1024 ** 2) });
      return id;
    },
  );
}
