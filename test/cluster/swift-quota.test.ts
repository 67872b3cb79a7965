import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { S3Options } from '../../src/server/store/s3/options.ts';
import { countContents, makeBucket } from '../support/byte-stores.ts';
import { createLimitedService, type LimitedService } from '../support/limited-service.ts';
import { startSwift, type TestSwift } from '../support/swift.ts';

/** Contents in a bucket of Swift whose quota is used up, in the run that has Swift (`CLOUD_TEST_BYTES=swift`): as on a full disk. */

const mebibyte = 1024 ** 2;
const bucket = 'limited';

describe.skipIf(process.env['CLOUD_TEST_BYTES'] !== 'swift')('a quota of Swift', () => {
  let swift: TestSwift;
  let service: LimitedService;
  const ends: (() => unknown)[] = [];
  beforeAll(async () => {
    swift = await startSwift();
    ends.push(() => swift.stop());
    const { endpoint, region, credentials } = swift;
    const bytes: S3Options = { endpoint, region, credentials, bucket, prefix: '' };
    await makeBucket(bytes);
    service = await createLimitedService(bytes);
    ends.push(() => service.close());
  });
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  });

  test('writes get 507, small ones and reads go on, nothing half stays, what is deleted makes room', { timeout: 120_000 }, async () => {
    const { bytes, db } = service.store;
    const before = randomBytes(4 * mebibyte);
    expect((await service.stor('PUT', 'before', { body: before })).status).toBe(204);
    expect(await service.collect()).toMatchObject({ removed: 0 });
    const [rows, contents] = [await db.selectFrom('entries').selectAll().execute(), await countContents(bytes)];

    await swift.limitBytes(bucket, mebibyte);
    for (const size of [40_000, 900_000, 9 * mebibyte]) {
      for (const name of ['new', 'before']) {
        const { status, code } = await service.stor('PUT', name, { body: randomBytes(size) });
        expect([name, size, status, code]).toEqual([name, size, 507, 'NotEnoughSpace']);
      }
    }
    expect(before.equals((await service.stor('GET', 'before')).bytes)).toBe(true);
    expect(await db.selectFrom('entries').selectAll().execute()).toEqual(rows);
    expect(await countContents(bytes)).toBe(contents);
    for await (const { id } of bytes.listUnfinished?.(Infinity) ?? []) throw new Error(`${id} was not given up`);
    expect(await service.put('small', 5000)).toBe(204);

    expect((await service.stor('DELETE', 'before')).status).toBe(204);
    // Swift counts the bytes of a bucket once a minute, and when its limit changes.
    await expect(service.collect()).rejects.toThrow('EntityTooLarge');
    expect(await countContents(bytes)).toBe(contents - 1);
    await swift.limitBytes(bucket, mebibyte);
    expect(await service.collect()).toMatchObject({ removed: 0 });
    expect(await service.put('new', 900_000)).toBe(204);
  });
});
