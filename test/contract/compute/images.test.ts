import { describe, expect, test } from 'vitest';
import { local as guide } from '../../../src/cli/guides/local.ts';
import { createFaults } from '../../../src/server/faults/rules.ts';
import { createTestService } from '../../support/service.ts';
import { invalid, machineOf, missing, operatorImage, second, useImages, type Shown } from './image-service.ts';

const images = useImages();

test('the guide to the local service names every instance', async () => {
  const machines = await images.service.store.db.selectFrom('machines').select(['id', 'name']).distinct().execute();
  const told = guide.sections.flatMap(({ blocks }) =>
    blocks.flatMap((block) => (typeof block === 'object' && 'terms' in block ? block.terms : [])),
  );
  const named = new Map(told.map(([id, text]) => [id, text.split(',')[0]]));
  expect(machines.length).toBeGreaterThan(2);
  for (const { id, name } of machines) expect(named.get(id)).toBe(name);
});

describe('creation', () => {
  test('answers at once, goes through creating to active, and has a file', async () => {
    const json = { machine: machineOf(2), name: 'db', version: '1', description: 'd', homepage: 'h', eula: 'e', tags: { a: 1, b: true } };
    const response = await images.service.compute('POST', '/my/images', { json: { ...json, acl: [images.service.other.id] } });
    const image = response.json as Shown;
    expect(response).toMatchObject({
      status: 201,
      json: { name: 'db', version: '1', state: 'creating', os: 'linux', type: 'zvol', public: false },
    });
    expect(response.json).toMatchObject({
      description: 'd',
      homepage: 'h',
      eula: 'e',
      tags: { a: 1, b: true },
      acl: [images.service.other.id],
    });
    expect(response.headers['location']).toBe(`/demo/images/${image.id}`);
    expect(response.headers['job-id']).toMatch(/^[0-9a-f-]{36}$/u);
    expect(response.headers['x-joyent-jobid']).toBe(response.headers['job-id']);
    const list = async (query: string): Promise<string[]> =>
      ((await images.service.compute('GET', `/my/images?name=db${query}`)).json as Shown[]).map(({ state }) => state);
    expect([await list(''), await list('&state=all'), await list('&state=creating')]).toEqual([[], ['creating'], ['creating']]);
    const done = await images.finish(image);
    expect(done).toMatchObject({ state: 'active', owner: images.service.account.id, published_at: new Date(images.now()).toISOString() });
    expect(done.files).toMatchObject([{ compression: 'gzip', sha1: expect.stringMatching(/^[0-9a-f]{40}$/u) as unknown }]);
    expect(await list('')).toEqual(['active']);
    expect((await images.askAsOther('GET', `/my/images/${image.id}`)).status).toBe(200);
  });

  test.each([
    [3, 'PrepareImageDidNotRun'],
    [4, 'VmHasNoOrigin'],
    [5, 'NotSupported'],
    [6, 'InternalError'],
  ])('of sample instance %i ends in %s', async (number, code) => {
    const failed = await images.finish(await images.create({ machine: machineOf(number) }));
    expect(failed).toMatchObject({ state: 'failed', files: [], error: { code, message: expect.stringMatching(/\w+/u) as unknown } });
  });

  test.each([
    [7, 422, 'InsufficientServerVersionError'],
    [8, 501, 'NotAvailable'],
  ])('of sample instance %i is refused: %i %s', async (number, status, code) => {
    const json = { machine: machineOf(number), name: 'a', version: '1' };
    expect(await images.service.compute('POST', '/my/images', { json })).toMatchObject({ status, code });
  });

  test.each([
    [{}, 'MissingParameter', 'machine, name, version'],
    [{ machine: machineOf(1) }, 'MissingParameter', 'name, version'],
    [{ machine: 'web-1', name: 'a', version: '1' }, 'InvalidArgument', 'machine'],
    [{ machine: second(1), name: 'a', version: '1' }, 'InvalidArgument', 'machine'],
    [{ machine: machineOf(1), name: 'a'.repeat(513), version: '1' }, 'InvalidArgument', 'name'],
    [{ machine: machineOf(1), name: 'a', version: '1'.repeat(129) }, 'InvalidArgument', 'version'],
    [{ machine: machineOf(1), name: 'a', version: '1', description: 'a'.repeat(513) }, 'InvalidArgument', 'description'],
    [{ machine: machineOf(1), name: 'a', version: '1', homepage: 'a'.repeat(129) }, 'InvalidArgument', 'homepage'],
    [{ machine: machineOf(1), name: 'a', version: '1', eula: 'a'.repeat(129) }, 'InvalidArgument', 'eula'],
    [{ machine: machineOf(1), name: 'a', version: '1', acl: ['bob'] }, 'InvalidArgument', 'acl[0]'],
    [{ machine: machineOf(1), name: 'a', version: '1', tags: { x: {} } }, 'InvalidArgument', 'tags.x'],
    [{ machine: machineOf(1), name: 'a', version: '1', tags: 'x' }, 'InvalidArgument', 'tags'],
  ])('%j: %s', async (json, code, words) => {
    const response = await images.service.compute('POST', '/my/images', { json });
    expect(response).toMatchObject({ status: 409, code });
    expect(response.text).toContain(words);
  });

  test('of an instance that runs is refused', async () => {
    const set = (state: string): Promise<unknown> =>
      images.service.store.write((transaction) =>
        transaction.updateTable('machines').set({ state }).where('id', '=', machineOf(1)).execute(),
      );
    await set('running');
    const response = await images.service.compute('POST', '/my/images', { json: { machine: machineOf(1), name: 'a', version: '1' } });
    expect(response).toMatchObject(invalid);
    expect(response.text).toContain('running');
    await set('stopped');
  });

  test('a fault lets the next one fail', async () => {
    const faulty = await createTestService({
      now: images.now,
      settings: { imageTime: 0, faults: createFaults('imagecreation=VmHasNoOrigin*1') },
    });
    try {
      const states: string[] = [];
      for (const version of ['1', '2']) {
        await faulty.compute('POST', '/my/images', { json: { machine: machineOf(1), name: 'a', version } });
        states.push(
          ...((await faulty.compute('GET', `/my/images?state=all&version=${version}`)).json as Shown[]).map(({ state }) => state),
        );
      }
      expect(states).toEqual(['failed', 'active']);
    } finally {
      await faulty.close();
    }
  });

  test('requests at the same time finish an image once', async () => {
    const image = await images.create({ name: 'once' });
    const before = await images.countContents();
    images.pass();
    await Promise.all([1, 2, 3, 4].map(() => images.service.compute('GET', `/my/images/${image.id}`)));
    expect(await images.countContents()).toBe(before + 1);
  });
});

describe('update and delete', () => {
  test('changes what is given, clears with an empty text', async () => {
    const image = await images.finish(await images.create({ description: 'old', homepage: 'h' }));
    const json = {
      name: 'new',
      version: '2',
      description: '',
      tags: { x: 'y' },
      acl: [images.service.other.id, images.service.other.id.toUpperCase()],
    };
    const response = await images.service.compute('POST', `/my/images/${image.id}?action=update`, { json });
    expect(response).toMatchObject({
      status: 200,
      json: { name: 'new', version: '2', homepage: 'h', tags: { x: 'y' }, acl: [images.service.other.id] },
    });
    expect(response.json).not.toHaveProperty('description');
    expect(await images.askAsOther('POST', `/my/images/${image.id}?action=update`, { name: 'x' })).toMatchObject({
      status: 422,
      code: 'NotImageOwnerError',
    });
    expect(await images.service.compute('POST', `/my/images/${image.id}?action=update`, { json: { acl: ['x'] } })).toMatchObject(invalid);
    expect(await images.service.compute('POST', `/my/images/${second(9)}?action=update`, { json: {} })).toMatchObject(missing);
    expect(await images.service.compute('POST', `/my/images/${image.id}?action=explode`)).toMatchObject(invalid);
    expect(await images.service.compute('POST', `/my/images/${image.id}`)).toMatchObject({ status: 409, code: 'MissingParameter' });
    expect(await images.service.compute('POST', '/my/images?action=explode')).toMatchObject(invalid);
  });

  test('delete: not of others, not in use, and the file goes too', async () => {
    expect(await images.service.compute('DELETE', `/my/images/${operatorImage}`)).toMatchObject({ status: 403, code: 'NotAuthorized' });
    const before = await images.countContents();
    const image = await images.finish(await images.create());
    expect(await images.countContents()).toBe(before + 1);
    const use = (origin: string | null): Promise<unknown> =>
      images.service.store.write((transaction) =>
        transaction.updateTable('images').set({ origin }).where('name', '=', 'postgres').execute(),
      );
    await use(image.id);
    expect(await images.service.compute('DELETE', `/my/images/${image.id}`)).toMatchObject({ status: 409, code: 'InUseError' });
    await use(null);
    expect((await images.service.compute('DELETE', `/my/images/${image.id}`)).status).toBe(204);
    expect(await images.service.compute('DELETE', `/my/images/${image.id}`)).toMatchObject(missing);
    expect(await images.countContents()).toBe(before);
  });
});

test('a list has public images, own images, and those that another account has shared', async () => {
  const own = await images.finish(await images.create({ name: 'listed', tags: { owner: images.service.other.id } }));
  const list = async (): Promise<string[]> => ((await images.askAsOther('GET', '/my/images')).json as Shown[]).map(({ id }) => id);
  expect(await list()).toContain(operatorImage);
  expect(await list()).not.toContain(own.id);
  await images.service.compute('POST', `/my/images/${own.id}?action=update`, { json: { acl: [images.service.other.id.toUpperCase()] } });
  expect(await list()).toContain(own.id);
  const named = (await images.askAsOther('GET', `/my/images?name=listed&owner=${own.owner.toUpperCase()}`)).json as Shown[];
  expect(named.map(({ id }) => id)).toEqual([own.id]);
});

test('a list shows a change to every request that begins after the response to the change', async () => {
  const { id } = await images.finish(await images.create({ name: 'image' }));
  const list = async (query = '') => (await images.service.compute('GET', `/my/images${query}`)).json as Shown[];
  const find = async (query = '') => (await list(query)).find((image) => image.id === id)?.name;
  for (let round = 0; round < 10; round += 1) {
    const name = `image${round}`;
    const underWay = [find(), find('?public=false'), find(`?name=${name}`)];
    const changed = await images.service.compute('POST', `/my/images/${id}?action=update`, { json: { name } });
    expect([changed.status, await find(), await find('?public=false'), await find(`?name=${name}`)]).toEqual([200, name, name, name]);
    expect(await list(`?name=image${round - 1}`)).toEqual([]);
    await Promise.all(underWay);
  }
  expect((await images.service.compute('DELETE', `/my/images/${id}`)).status).toBe(204);
  expect([await find(), await find('?public=false'), await find('?name=image9')]).toEqual([undefined, undefined, undefined]);
});
