import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { collect, type Collected } from '../../src/server/cluster-collector.ts';
import { openClusterStore } from '../../src/server/store/postgres/open.ts';
import type { S3Options } from '../../src/server/store/s3/options.ts';
import { countContents, makeBucket } from '../support/byte-stores.ts';
import { createDatabase } from '../support/cluster-database.ts';
import { createTestService, type TestService } from '../support/service.ts';
import { startSwift, type TestSwift } from '../support/swift.ts';

/** Contents in a bucket of Swift whose quota is used up, in the run that has Swift (`CLOUD_TEST_BYTES=swift`): as on a full disk. */

const mebibyte = 1024 ** 2;
const bucket = 'limited';

describe.skipIf(process.env['CLOUD_TEST_BYTES'] !== 'swift')('a quota of Swift', () => {
  let swift: TestSwift;
  let service: TestService;
  const ends: (() => unknown)[] = [];
  beforeAll(async () => {
    swift = await startSwift();
    ends.push(() => swift.stop());
    const { endpoint, region, credentials } = swift;
    const bytes: S3Options = { endpoint, region, credentials, bucket, prefix: '' };
    await makeBucket(bytes);
    const { url, drop } = await createDatabase();
    ends.push(drop);
    service = await createTestService({ open: () => openClusterStore({ database: url, bytes }) });
    ends.push(() => service.close());
  });
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  });

  const stor = (method: string, name: string, sent = {}) => service.storage(method, `/demo/stor/${name}`, sent);
  const put = async (name: string, size: number): Promise<number> => (await stor('PUT', name, { body: randomBytes(size) })).status;
  const run = (): Promise<Collected | undefined> => collect({ store: service.store, sweep: true });

  test('writes get 507, small ones and reads go on, nothing half stays, what is deleted makes room', { timeout: 120_000 }, async () => {
    const { bytes, db } = service.store;
    const before = randomBytes(4 * mebibyte);
    expect((await stor('PUT', 'before', { body: before })).status).toBe(204);
    expect(await run()).toMatchObject({ removed: 0 });
    const [rows, contents] = [await db.selectFrom('entries').selectAll().execute(), await countContents(bytes)];

    await swift.limitBytes(bucket, mebibyte);
    for (const size of [40_000, 900_000, 9 * mebibyte]) {
      for (const name of ['new', 'before']) {
        const { status, code } = await stor('PUT', name, { body: randomBytes(size) });
        expect([name, size, status, code]).toEqual([name, size, 507, 'NotEnoughSpace']);
      }
    }
    expect(before.equals((await stor('GET', 'before')).bytes)).toBe(true);
    expect(await db.selectFrom('entries').selectAll().execute()).toEqual(rows);
    expect(await countContents(bytes)).toBe(contents);
    for await (const { id } of bytes.listUnfinished?.(Infinity) ?? []) throw new Error(`${id} was not given up`);
    expect(await put('small', 5000)).toBe(204);

    expect((await stor('DELETE', 'before')).status).toBe(204);
    // Swift counts the bytes of a bucket once a minute, and when its limit changes.
    await expect(run()).rejects.toThrow('EntityTooLarge');
    expect(await countContents(bytes)).toBe(contents - 1);
    await swift.limitBytes(bucket, mebibyte);
    expect(await run()).toMatchObject({ removed: 0 });
    expect(await put('new', 900_000)).toBe(204);
  });
});
