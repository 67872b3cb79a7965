import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { S3Options } from '../../src/server/store/s3/options.ts';
import { countContents, makeBucket } from '../support/byte-stores.ts';
import { startCeph, type TestCeph } from '../support/ceph.ts';
import { createLimitedService, type LimitedService } from '../support/limited-service.ts';

/** Contents in a bucket of Ceph whose quota is used up, in the run that has Ceph (`CLOUD_TEST_BYTES=ceph`): as on a full disk. */

const mebibyte = 1024 ** 2;

describe.skipIf(process.env['CLOUD_TEST_BYTES'] !== 'ceph')('a quota of Ceph', () => {
  let ceph: TestCeph;
  beforeAll(async () => void (ceph = await startCeph()));
  afterAll(() => ceph.stop());

  describe.each(['user', 'bucket'])('for the %s', (scope) => {
    let service: LimitedService;
    const ends: (() => unknown)[] = [];
    beforeAll(async () => {
      const { endpoint, region, credentials } = ceph;
      const bytes: S3Options = { endpoint, region, credentials, bucket: `of-${scope}`, prefix: '' };
      await makeBucket(bytes);
      service = await createLimitedService(bytes);
      ends.push(() => service.close());
      limit(100 * mebibyte);
      // Of a quota that is not enabled Ceph counts nothing.
      ceph.administer('quota', 'enable', `--quota-scope=${scope}`);
    });
    afterAll(async () => {
      ceph.administer('quota', 'disable', `--quota-scope=${scope}`);
      for (const end of ends.toReversed()) await end();
    });

    const limit = (size: number): void => void ceph.administer('quota', 'set', `--quota-scope=${scope}`, `--max-size=${size}`);

    test('writes get 507, small ones and reads go on, nothing half stays, what is deleted makes room', { timeout: 120_000 }, async () => {
      const { bytes, db } = service.store;
      const before = randomBytes(4 * mebibyte);
      expect((await service.stor('PUT', 'before', { body: before })).status).toBe(204);
      const upload = await service.storage('POST', '/demo/uploads', { json: { objectPath: '/demo/stor/parts' } });
      const { partsDirectory } = JSON.parse(upload.text) as { partsDirectory: string };
      expect(await service.collect()).toMatchObject({ removed: 0 });
      const [rows, contents] = [await db.selectFrom('entries').selectAll().execute(), await countContents(bytes)];

      limit(mebibyte);
      // The last one is sent in two parts.
      for (const size of [40_000, 900_000, 9 * mebibyte]) {
        for (const path of ['/demo/stor/new', '/demo/stor/before', `${partsDirectory}/0`]) {
          const { status, code } = await service.storage('PUT', path, { body: randomBytes(size) });
          expect([path, size, status, code]).toEqual([path, size, 507, 'NotEnoughSpace']);
        }
      }
      expect(before.equals((await service.stor('GET', 'before')).bytes)).toBe(true);
      expect(await db.selectFrom('entries').selectAll().execute()).toEqual(rows);
      expect(await countContents(bytes)).toBe(contents);
      for await (const { id } of bytes.listUnfinished?.(Infinity) ?? []) throw new Error(`${id} was not given up`);
      await expect(service.collect()).rejects.toThrow('QuotaExceeded');
      expect(await service.put('small', 5000)).toBe(204);

      expect((await service.stor('DELETE', 'before')).status).toBe(204);
      expect(await service.collect()).toMatchObject({ removed: 1 });
      expect([await service.put('new', 900_000), await service.put('newer', mebibyte)]).toEqual([204, 507]);

      limit(100 * mebibyte);
      expect([
        await service.put('newer', 20 * mebibyte),
        (await service.storage('PUT', `${partsDirectory}/0`, { body: before })).status,
      ]).toEqual([204, 204]);
    });
  });
});
