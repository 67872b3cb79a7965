import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { findReferenced } from '../../../src/server/storage/garbage.ts';
import { collectUnreferenced } from '../../../src/server/store/collect.ts';
import type { TestReply } from '../../support/service.ts';
import { invalid, machineOf, missing, operatorImage, second, useImages, type Shown } from './image-service.ts';

const images = useImages();

async function putDirectory(path: string): Promise<void> {
  await images.service.storage('PUT', path, { headers: { 'content-type': 'application/json; type=directory' } });
}

describe('export', () => {
  test('writes manifest and file: into a directory under its name, else under the path', async () => {
    const image = await images.finish(await images.create({ name: 'ex/port', version: '2.0' }));
    await putDirectory('/demo/stor/images');
    const before = await images.countContents();
    for (const [path, base] of [
      ['/demo/stor/images', '/demo/stor/images/ex-port-2.0'],
      ['/demo/stor/images/mine', '/demo/stor/images/mine'],
    ] as const) {
      const response = await images.service.compute('POST', `/my/images/${image.id}?action=export`, { json: { storage_path: path } });
      const location = { storage_url: 'https://storage.test', image_path: `${base}.zfs.gz`, manifest_path: `${base}.imgmanifest` };
      expect(response).toMatchObject({ status: 200, json: location });
      const file = await images.service.storage('GET', location.image_path);
      const [{ sha1, size } = { sha1: '', size: 0 }] = image.files;
      expect([createHash('sha1').update(file.bytes).digest('hex'), file.bytes.length]).toEqual([sha1, size]);
      expect(file.headers['content-md5']).toBe(createHash('md5').update(file.bytes).digest('base64'));
      expect(gunzipSync(file.bytes).length).toBe(65_536);
      const manifest = JSON.parse((await images.service.storage('GET', location.manifest_path)).text) as object;
      expect(manifest).toMatchObject({ v: 2, uuid: image.id, name: 'ex/port', version: '2.0', state: 'active', files: image.files });
    }
    // Both exports and the image share one file.
    expect(await images.countContents()).toBe(before + 2);
    const path = '/demo/stor/images/mine.zfs.gz';
    await images.service.compute('DELETE', `/my/images/${image.id}`);
    expect((await images.service.storage('GET', path)).status).toBe(200);
  });

  test('the old name of the path is taken too', async () => {
    const image = await images.finish(await images.create());
    const response = await images.service.compute('POST', `/my/images/${image.id}?action=export`, {
      json: { manta_path: '/demo/stor/images/old' },
    });
    expect(response.json).toMatchObject({ manifest_path: '/demo/stor/images/old.imgmanifest' });
    await collectUnreferenced(images.service.store, Infinity, findReferenced);
    expect(
      (await images.service.compute('POST', `/my/images/${image.id}?action=export`, { json: { storage_path: '/demo/stor/images/x' } }))
        .status,
    ).toBe(200);
  });

  test.each([
    [{}, 409, 'MissingParameter'],
    [{ storage_path: 'stor/x' }, 409, 'InvalidArgument'],
    [{ storage_path: '/other/stor/x' }, 403, 'NotAuthorized'],
    [{ storage_path: '/demo/stor/none/x' }, 404, 'ResourceNotFound'],
    [{ storage_path: '/demo/uploads/x' }, 409, 'InvalidArgument'],
    [{ storage_path: '/demo' }, 409, 'InvalidArgument'],
    [{ storage_path: '/demo/x' }, 409, 'InvalidArgument'],
    [{ storage_path: '/demo/stor/..' }, 409, 'InvalidArgument'],
    [{ storage_path: '/demo/stor/images/old.zfs.gz/x' }, 409, 'InvalidArgument'],
  ])('to %j: %i %s', async (json, status, code) => {
    const { id } = ((await images.service.compute('GET', '/my/images?name=made')).json as Shown[])[0] ?? { id: '' };
    const before = await images.countContents();
    expect(await images.service.compute('POST', `/my/images/${id}?action=export`, { json })).toMatchObject({ status, code });
    expect(await images.countContents()).toBe(before);
  });

  test('an image that is being made, or could not be, has no file to export', async () => {
    const failing = await images.create({ machine: machineOf(3) });
    const ask = (): Promise<TestReply> =>
      images.service.compute('POST', `/my/images/${failing.id}?action=export`, { json: { storage_path: '/demo/stor/images' } });
    expect(await ask()).toMatchObject(invalid);
    expect(await images.finish(failing)).toMatchObject({ state: 'failed' });
    expect(await ask()).toMatchObject(invalid);
  });

  test('only of own images', async () => {
    const json = { storage_path: '/demo/stor/images' };
    const refused = await images.service.compute('POST', `/my/images/${operatorImage}?action=export`, { json });
    expect(refused).toMatchObject({ status: 422, code: 'NotImageOwnerError' });
    expect(await images.service.compute('POST', `/my/images/${second(9)}?action=export`, { json })).toMatchObject(missing);
  });
});

describe('import', () => {
  const importing = (id: string, datacenter = 'east-1-2'): Promise<TestReply> =>
    images.service.compute('POST', `/my/images?action=import-from-datacenter&datacenter=${datacenter}&id=${id}`);

  test('brings the origins along; ids and dates stay', async () => {
    const response = await importing(second(3));
    expect(response).toMatchObject({
      status: 201,
      json: { id: second(3), name: 'inventory', origin: second(2), published_at: '2025-04-05T10:00:00.000Z' },
    });
    expect((await images.service.compute('GET', `/my/images/${second(2)}`)).json).toMatchObject({ origin: second(1), state: 'active' });
    expect((await images.service.compute('GET', `/my/images/${second(1)}`)).json).toMatchObject({ owner: images.service.account.id });
    expect((response.json as Shown).files.length).toBe(1);
    expect(await importing(second(3))).toMatchObject({ status: 409, code: 'ImageUuidAlreadyExistsError' });
    expect(await images.service.compute('DELETE', `/my/images/${second(1)}`)).toMatchObject({ status: 409, code: 'InUseError' });
  });

  test('refusals', async () => {
    expect(await importing(second(5))).toMatchObject({ status: 422, code: 'OriginIsNotActiveError' });
    expect(await importing(second(6))).toMatchObject({ status: 403, code: 'UnauthorizedError' });
    expect(await importing(second(9))).toMatchObject(missing);
    expect(await importing(second(4), 'mars')).toMatchObject(invalid);
    const missingBoth = await images.service.compute('POST', '/my/images?action=import-from-datacenter');
    expect(missingBoth).toMatchObject({ status: 409, code: 'MissingParameter' });
    expect(missingBoth.text).toContain('datacenter, id');
    expect(await images.service.compute('GET', `/my/images/${second(5)}`)).toMatchObject(missing);
  });
});

describe('the second datacenter', () => {
  const list = async (query: string): Promise<string[]> => {
    const { json } = await images.service.second('GET', `/my/images${query}`);
    return (json as Shown[]).map(({ id }) => id);
  };

  test('lists what can be imported from it, whatever was imported', async () => {
    const { headers } = await images.service.second('GET', '/my/images');
    expect(headers['cloud-datacenter-name']).toBe('east-1-2');
    expect(await list('')).toEqual([1, 2, 3, 5, 6].map(second));
    expect(await list('?state=all')).toEqual([1, 2, 3, 4, 5, 6].map(second));
    expect(await list('?state=disabled')).toEqual([second(4)]);
    expect(await list('?public=true')).toEqual([second(6)]);
    expect(await list('?public=false&name=inventory&os=smartos&version=2.0.0&type=zone-dataset')).toEqual([second(3)]);
    expect(await list('?name=web')).toEqual([]);
    expect(await list(`?owner=${images.service.other.id}`)).toEqual([]);
    const { json } = await images.service.second('GET', '/my/images?type=smartmachine', { headers: { 'accept-version': '~7' } });
    expect(json).toHaveLength(5);
  });

  test('shows each of them, and none of the first', async () => {
    expect(await images.service.second('GET', `/my/images/${second(4)}`)).toMatchObject({
      status: 200,
      json: { id: second(4), name: 'billing-base', state: 'disabled', owner: images.service.account.id },
    });
    expect(await images.service.second('GET', `/my/images/${operatorImage}`)).toMatchObject(missing);
  });

  test.each([
    ['DELETE', `/my/images/${second(1)}`, undefined],
    ['POST', `/my/images/${second(1)}?action=update`, { name: 'x' }],
    ['POST', `/my/images/${second(1)}?action=export`, { storage_path: '/demo/stor/x' }],
    ['POST', `/my/images/${second(1)}?action=clone`, undefined],
    ['POST', '/my/images', { machine: '6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001', name: 'x', version: '1' }],
    ['POST', '/my/images?action=import-from-datacenter', { datacenter: 'east-1', id: operatorImage }],
  ])('its images stay as they are: %s %s', async (method, path, json) => {
    const response = await images.service.second(method, path, json && { json });
    expect([response.status, response.code]).toEqual([501, 'NotAvailable']);
    expect(await list('?state=all')).toHaveLength(6);
  });

  test('has a compute service of its own', async () => {
    const url = 'https://east-1-2.test';
    await images.service.store.write(async (transaction) => {
      await transaction.insertInto('datacenters').values({ name: 'east-1-2', url }).execute();
      await transaction.insertInto('services').values({ name: 'compute', url: 'https://east-1.test' }).execute();
    });
    const [first, { json: services }] = [
      await images.service.compute('GET', '/my/services'),
      await images.service.second('GET', '/my/services'),
    ];
    expect([first.json, services]).toMatchObject([{ compute: 'https://east-1.test' }, { compute: url, storage: 'https://storage.test' }]);
  });

  test('account, keys and access are those of the first one', async () => {
    for (const path of ['/my', '/my/keys', '/my/roles', '/my/datacenters', '/my/packages']) {
      expect((await images.service.second('GET', path)).json).toEqual((await images.service.compute('GET', path)).json);
    }
    expect((await images.service.second('GET', '/my/images', { signing: false })).status).toBe(401);
  });
});

describe('clone', () => {
  test('makes an own image of a shared one, and a hidden one of its origin', async () => {
    const acl = { acl: [images.service.other.id] };
    await images.service.compute('POST', `/my/images/${second(3)}?action=update`, { json: acl });
    const { status, json } = await images.askAsOther('POST', `/my/images/${second(3)}?action=clone`);
    const clone = json as Shown;
    expect([status, clone.owner, clone.acl, clone.name, clone.state]).toEqual([
      200,
      images.service.other.id,
      undefined,
      'inventory',
      'active',
    ]);
    expect([second(3), second(2)]).not.toContain(clone.id);
    const origin = (await images.askAsOther('GET', `/my/images/${clone.origin ?? ''}`)).json as Shown;
    expect(origin).toMatchObject({ name: 'inventory-libs', state: 'disabled', owner: images.service.other.id });
    expect(((await images.askAsOther('GET', '/my/images?name=inventory-libs')).json as Shown[]).length).toBe(0);
    expect(((await images.askAsOther('GET', '/my/images?name=inventory-*')).json as Shown[]).length).toBe(0);
  });

  test('refusals', async () => {
    const own = await images.finish(await images.create());
    for (const id of [own.id, operatorImage]) {
      expect(await images.service.compute('POST', `/my/images/${id}?action=clone`)).toMatchObject({ status: 422, code: 'ImageNotShared' });
    }
    expect(await images.service.compute('POST', `/my/images/${second(9)}?action=clone`)).toMatchObject(missing);
    const taken = { owner: images.service.other.id };
    await images.service.store.write((transaction) => transaction.updateTable('images').set(taken).where('id', '=', second(2)).execute());
    expect(await images.askAsOther('POST', `/my/images/${second(3)}?action=clone`)).toMatchObject({
      status: 422,
      code: 'NotImageOwnerError',
    });
  });

  test('one that is being made, or could not be, is not copied: nothing would ever finish the copy', async () => {
    const image = await images.create({ acl: [images.service.other.id] });
    expect(await images.askAsOther('POST', `/my/images/${image.id}?action=clone`)).toMatchObject(invalid);
    await images.finish(image);
    expect((await images.askAsOther('POST', `/my/images/${image.id}?action=clone`)).json).toMatchObject({ state: 'active' });
  });
});
