import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAll, type HttpResponse } from '../../../src/api/message.ts';
import { collectUnreferenced } from '../../../src/server/store/collect.ts';
import { findReferenced } from '../../../src/server/storage/garbage.ts';
import { createTestStorage, directory, link, md5Of, type TestStorage } from './harness.ts';

let service: TestStorage;
beforeAll(async () => {
  service = await createTestStorage();
});
afterAll(() => service.close());

/** A response whose body is still to be read. */
function open(method: string, target: string): Promise<HttpResponse> {
  return service.handlers.storage({ method, target, headers: service.signature }, { remoteAddress: '127.0.0.1', secure: true });
}

function times<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)));
}

/** Makes an object of two parts. */
async function putPieces(target: string): Promise<Buffer> {
  const parts = [randomBytes(5 * 1024 ** 2), randomBytes(1024 ** 2)];
  const { json } = await service.ask('POST', '/demo/uploads', { json: { objectPath: target } });
  const { partsDirectory } = json as { partsDirectory: string };
  const etags = [];
  for (const [index, part] of parts.entries()) etags.push(await service.put(`${partsDirectory}/${index}`, part));
  expect((await service.ask('POST', `${partsDirectory}/commit`, { json: { parts: etags } })).status).toBe(201);
  return Buffer.concat(parts);
}

/** What the counter of a directory says, and what there is. */
async function countEntries(target: string): Promise<[number, number]> {
  const { headers } = await service.ask('GET', target);
  return [Number(headers['result-set-size']), (await service.list(`${target}?limit=1024`)).length];
}

describe('racing writers', () => {
  test('of those with the same If-Match exactly one wins; losers get 412, and their bytes go', async () => {
    const etag = await service.put('/demo/stor/race', 'start');
    const before = await service.countContents();
    const answers = await times(20, (index) =>
      service.ask('PUT', '/demo/stor/race', { body: `writer ${index}`.padEnd(20_000), headers: { 'if-match': etag } }),
    );
    expect(answers.map(({ status }) => status).sort((left, right) => left - right)).toEqual([
      204,
      ...Array.from({ length: 19 }, () => 412),
    ]);
    const winner = answers.findIndex(({ status }) => status === 204);
    const got = await service.ask('GET', '/demo/stor/race');
    expect([got.text.trimEnd(), got.headers['etag']]).toEqual([`writer ${winner}`, answers[winner]?.headers['etag']]);
    expect(await service.countContents()).toBe(before);
  });

  test('of those that create exactly one wins, by If-None-Match: * (412) or an empty If-Match (409)', async () => {
    for (const [headers, code] of [
      [{ 'if-none-match': '*' }, 'PreconditionFailed'],
      [{ 'if-match': '' }, 'ConcurrentRequest'],
    ] as const) {
      const target = `/demo/stor/create-${code}`;
      const answers = await times(20, (index) => service.ask('PUT', target, { body: `${index}`, headers }));
      expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
      expect(answers.filter((answer) => answer.code === code)).toHaveLength(19);
    }
  });

  test('without conditions all succeed, and one whole body is there', async () => {
    const before = await service.countContents();
    const answers = await times(30, (index) => service.ask('PUT', '/demo/stor/last', { body: `${index}`.repeat(1000) }));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]));
    const got = await service.ask('GET', '/demo/stor/last');
    expect(answers.map(({ headers }) => headers['etag'])).toContain(got.headers['etag']);
    expect(got.headers['content-md5']).toBe(md5Of(got.bytes));
    expect(await service.countContents()).toBe(before + 1);
  });

  test('puts, links, deletes and directories at once keep the count of entries and of bytes right', async () => {
    await service.mkdir('/demo/stor/busy');
    const before = await service.countContents();
    await times(200, async (index) => {
      const target = `/demo/stor/busy/${index % 7}`;
      if (index % 5 === 0) return service.ask('DELETE', target);
      if (index % 5 === 1) return service.ask('PUT', target, { headers: link(`/demo/stor/busy/${(index + 1) % 7}`) });
      if (index % 5 === 2) return service.ask('PUT', target, { headers: directory });
      return service.ask('PUT', target, { body: `${index}` });
    });
    const [counted, there] = await countEntries('/demo/stor/busy');
    expect(counted).toBe(there);
    const { contents } = await service.store.db
      .selectFrom('entries')
      .select((of) => of.fn.count<number>('content').distinct().as('contents'))
      .where('parent', '=', '/demo/stor/busy')
      .executeTakeFirstOrThrow();
    expect(await service.countContents()).toBe(before + contents);
  });

  test('a directory that is deleted while an object is put in it: one of the two is refused', async () => {
    for (let round = 0; round < 10; round += 1) {
      await service.mkdir('/demo/stor/contested');
      const [put, removal] = await Promise.all([
        service.ask('PUT', '/demo/stor/contested/x', { body: 'x' }),
        service.ask('DELETE', '/demo/stor/contested'),
      ]);
      expect([`204 400`, `404 204`]).toContain(`${put.status} ${removal.status}`);
      await service.ask('DELETE', '/demo/stor/contested/x');
      await service.ask('DELETE', '/demo/stor/contested');
    }
  });
});

describe('readers', () => {
  test('get one whole version while others overwrite', async () => {
    const versions = Array.from({ length: 12 }, (_, index) => Buffer.alloc(300_000, `version ${index} `));
    await service.put('/demo/stor/read', versions[0]);
    const md5s = new Set(versions.map(md5Of));
    const writing = times(12, (index) => service.ask('PUT', '/demo/stor/read', { body: versions[index] }));
    const got = await times(60, () => service.ask('GET', '/demo/stor/read'));
    await writing;
    for (const { status, headers, bytes } of got) {
      expect([status, headers['content-length']]).toEqual([200, String(bytes.length)]);
      expect(md5s.has(md5Of(bytes))).toBe(true);
      expect(headers['content-md5']).toBe(md5Of(bytes));
    }
  });

  test.each([
    ['one piece', async (target: string) => service.put(target, randomBytes(100_000)).then(() => undefined)],
    ['several pieces', async (target: string) => putPieces(target).then(() => undefined)],
  ])('of %s read to the end what was deleted meanwhile; then the bytes go', async (_, make) => {
    const before = await service.countContents();
    await make('/demo/stor/held');
    const [read, left, failed] = [
      await open('GET', '/demo/stor/held'),
      await open('GET', '/demo/stor/held'),
      await open('HEAD', '/demo/stor/held'),
    ];
    await service.ask('DELETE', '/demo/stor/held');
    expect(await service.countContents()).toBeGreaterThan(before);
    const bytes = await readAll(read.body);
    expect(md5Of(bytes)).toBe(read.headers['content-md5']);
    await readAll(failed.body);
    for await (const _piece of left.body) break;
    await expect.poll(() => service.countContents()).toBe(before);
  });
});

describe('what a crash leaves', () => {
  test('bytes without an object are collected; those of objects, parts and pieces are not', async () => {
    await service.put('/demo/stor/kept', 'kept');
    const whole = await putPieces('/demo/stor/pieces');
    const { json } = await service.ask('POST', '/demo/uploads', { json: { objectPath: '/demo/stor/x' } });
    await service.put(`${(json as { partsDirectory: string }).partsDirectory}/0`, 'part');
    await service.put('/demo/stor/lost', 'lost'.repeat(5000));
    const before = await service.countContents();
    await service.store.db.deleteFrom('entries').where('name', '=', 'lost').execute();
    expect(await collectUnreferenced(service.store, Date.now() + 1000, findReferenced)).toBe(1);
    expect(await service.countContents()).toBe(before - 1);
    expect((await service.ask('GET', '/demo/stor/kept')).text).toBe('kept');
    expect(md5Of((await service.ask('GET', '/demo/stor/pieces')).bytes)).toBe(md5Of(whole));
  });
});
