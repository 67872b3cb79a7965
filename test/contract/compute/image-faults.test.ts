import { afterEach, describe, expect, test, vi } from 'vitest';
import { countContents } from '../../support/byte-stores.ts';
import { StoreUnavailable } from '../../../src/server/store/unavailable.ts';
import { second, useImages } from './image-service.ts';

/** Images while the disk is full, and images whose files are damaged. */

const images = useImages();
const full = (): Error => Object.assign(new Error('no space left on device'), { code: 'ENOSPC', syscall: 'write' });
const list = async (query = '') => images.service.compute('GET', `/my/images?state=all${query}`);
const count = (): Promise<number> => countContents(images.service.store.bytes);

afterEach(() => vi.restoreAllMocks());

/** Lets writes of contents fail, the first `after` excepted. */
function failWrites(error: Error, after = 0): void {
  const { bytes } = images.service.store;
  const write = bytes.write.bind(bytes);
  let done = 0;
  vi.spyOn(bytes, 'write').mockImplementation(async (body) => {
    if ((done += 1) > after) throw error;
    return write(body);
  });
}

describe('an image whose creation is due', () => {
  test.each([
    ['the disk is full', full()],
    ['the store of contents is unavailable', new StoreUnavailable('the store does not respond')],
  ])('is completed later if %s; meanwhile all images are listed and read', async (name, error) => {
    const image = await images.create({ name });
    images.pass();
    failWrites(error);
    const before = await count();
    expect(await list(`&name=${encodeURIComponent(name)}`)).toMatchObject({ status: 200, json: [{ id: image.id, state: 'creating' }] });
    expect(await images.service.compute('GET', `/my/images/${image.id}`)).toMatchObject({ status: 200, json: { state: 'creating' } });
    expect(await count()).toBe(before);
    vi.restoreAllMocks();
    expect(await list(`&name=${encodeURIComponent(name)}`)).toMatchObject({ status: 200, json: [{ id: image.id, state: 'active' }] });
  });
});

describe('an import', () => {
  test.each([0, 1, 2])('for which there is no room after %i files keeps none of them', async (files) => {
    const before = await count();
    failWrites(full(), files);
    const response = await images.service.compute('POST', `/my/images?action=import-from-datacenter&datacenter=east-1-2&id=${second(3)}`);
    expect([response.status, response.code]).toEqual([507, 'NotEnoughSpace']);
    expect(await count()).toBe(before);
    expect(await images.service.compute('GET', `/my/images/${second(1)}`)).toMatchObject({ status: 404 });
  });

  test('whose transaction finds no room keeps no file', async () => {
    const before = await count();
    vi.spyOn(images.service.store, 'write').mockRejectedValue(full());
    const response = await images.service.compute('POST', `/my/images?action=import-from-datacenter&datacenter=east-1-2&id=${second(3)}`);
    expect([response.status, await count()]).toEqual([507, before]);
  });
});

describe('an export', () => {
  const exporting = (id: string) =>
    images.service.compute('POST', `/my/images/${id}?action=export`, { json: { storage_path: '/demo/stor/out' } });
  const exported = async (): Promise<number> => (await images.service.storage('GET', '/demo/stor/out.zfs.gz')).status;

  test('whose transaction finds no room keeps no manifest', async () => {
    const image = await images.finish(await images.create());
    const before = await count();
    vi.spyOn(images.service.store, 'write').mockRejectedValue(full());
    expect([(await exporting(image.id)).status, await count()]).toEqual([507, before]);
  });

  test('of an image whose file is damaged or missing is refused, and the log says which file', async () => {
    const image = await images.finish(await images.create());
    const { bytes, db } = images.service.store;
    const { content } = await db.selectFrom('images').select('content').where('id', '=', image.id).executeTakeFirstOrThrow();
    const read = bytes.read.bind(bytes);
    vi.spyOn(bytes, 'read').mockImplementation(async (id, start, end) => {
      const chunks: Buffer[] = [];
      for await (const chunk of await read(id, start, end)) chunks.push(Buffer.from(chunk));
      const whole = Buffer.concat(chunks);
      whole[500] = (whole[500] ?? 0) ^ 1;
      return (async function* () {
        yield whole;
      })();
    });
    const damaged = await exporting(image.id);
    expect([damaged.status, damaged.code, damaged.text]).toEqual([
      500,
      'InternalError',
      expect.stringContaining('the stored bytes are missing or damaged'),
    ]);
    expect(images.service.log.join('\n')).toContain(`the content ${content} of image ${image.id} does not have its SHA-1`);
    vi.restoreAllMocks();
    expect(await exported()).toBe(404);
    await bytes.remove(content ?? '');
    expect([(await exporting(image.id)).status, await exported()]).toEqual([500, 404]);
    expect(images.service.log.join('\n')).toContain(`the content ${content} of image ${image.id} is missing`);
  });
});
