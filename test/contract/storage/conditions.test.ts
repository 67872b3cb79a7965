import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Headers } from '../../../src/api/message.ts';
import { createTestStorage, directory, type TestStorage } from './harness.ts';

let service: TestStorage;
beforeAll(async () => {
  service = await createTestStorage();
});
afterAll(() => service.close());

describe('conditions', () => {
  const target = '/demo/stor/guarded';
  let etag = '';
  let modified = '';
  beforeAll(async () => {
    etag = await service.put(target, 'x');
    // A date guards what is older than the present second.
    const mtime = Date.now() - 10_000;
    await service.store.db.updateTable('entries').set({ mtime }).where('name', '=', 'guarded').execute();
    modified = (await service.ask('HEAD', target)).headers['last-modified'] ?? '';
  });
  const earlier = new Date(0).toUTCString();
  const later = new Date(Date.now() + 1e9).toUTCString();

  const cases = (): [Headers, number, number][] => [
    [{ 'if-match': etag }, 200, 204],
    [{ 'if-match': `"${etag}"` }, 200, 204],
    [{ 'if-match': `"x", "${etag}"` }, 200, 204],
    [{ 'if-match': '*' }, 200, 204],
    [{ 'if-match': 'other' }, 412, 412],
    [{ 'if-none-match': etag }, 304, 412],
    [{ 'if-none-match': `W/"${etag}"` }, 304, 412],
    [{ 'if-none-match': '*' }, 304, 412],
    [{ 'if-none-match': 'other' }, 200, 204],
    [{ 'if-modified-since': modified }, 304, 412],
    [{ 'if-modified-since': later }, 304, 412],
    [{ 'if-modified-since': earlier }, 200, 204],
    [{ 'if-unmodified-since': modified }, 200, 204],
    [{ 'if-unmodified-since': earlier }, 412, 412],
    [{ 'if-modified-since': 'no date' }, 200, 204],
    [{ 'if-match': 'other', 'if-none-match': etag }, 412, 412],
    [{ 'if-none-match': etag, 'if-unmodified-since': earlier }, 304, 412],
    [{ 'if-none-match': 'other', 'if-modified-since': later }, 200, 204],
    [{ 'if-match': etag, 'if-unmodified-since': earlier }, 200, 204],
  ];

  test('of GET and HEAD: 304 with the etag, 412 PreconditionFailed', async () => {
    for (const [headers, status] of cases()) {
      const got = await service.ask('GET', target, { headers });
      const shown = { 200: [undefined, etag, 'x'], 304: [undefined, etag, ''] }[status] ?? ['PreconditionFailed', undefined, got.text];
      expect([headers, got.status, got.code, got.headers['etag'], got.text]).toEqual([headers, status, ...shown]);
      expect((await service.ask('HEAD', target, { headers })).status).toBe(status);
    }
  });

  test('of PUT metadata: 204 or 412 PreconditionFailed', async () => {
    for (const [headers, , status] of cases()) {
      const { mtime } = await service.store.db
        .selectFrom('entries')
        .select('mtime')
        .where('name', '=', 'guarded')
        .executeTakeFirstOrThrow();
      const answered = await service.ask('PUT', `${target}?metadata=true`, { headers });
      expect([headers, answered.status, answered.code]).toEqual([headers, status, status === 412 ? 'PreconditionFailed' : undefined]);
      await service.store.db.updateTable('entries').set({ mtime }).where('name', '=', 'guarded').execute();
    }
  });

  test('of PUT: refused before the body is read, and the object stays', async () => {
    for (const [headers] of cases().filter(([, , status]) => status === 412)) {
      expect([headers, ...(await service.refusalOf(target, headers))]).toEqual([headers, 412, 'PreconditionFailed']);
    }
    expect(await service.put(target, 'y', { 'if-match': etag })).not.toBe(etag);
    expect(await service.refusalOf(target, { 'if-match': etag })).toEqual([412, 'PreconditionFailed']);
  });

  test('of DELETE: 412 PreconditionFailed, or gone', async () => {
    const now = await service.put('/demo/stor/victim', 'x');
    expect(await service.answerOf('DELETE', '/demo/stor/victim', { headers: { 'if-match': 'other' } })).toEqual([
      412,
      'PreconditionFailed',
    ]);
    expect(await service.answerOf('DELETE', '/demo/stor/victim', { headers: { 'if-match': now } })).toEqual([204, undefined]);
  });

  test('If-Match: * on nothing and If-None-Match: * on something fail; the reverse goes on', async () => {
    expect(await service.refusalOf('/demo/stor/fresh', { 'if-match': '*' })).toEqual([412, 'PreconditionFailed']);
    await service.put('/demo/stor/fresh', 'x', { 'if-none-match': '*' });
    expect(await service.refusalOf('/demo/stor/fresh', { 'if-none-match': '*' })).toEqual([412, 'PreconditionFailed']);
  });

  test.each([
    ['GET', ''],
    ['HEAD', ''],
    ['DELETE', ''],
    ['PUT', '?metadata=true'],
  ])('If-Match: * of %s %s on nothing: 412 PreconditionFailed; with an etag: 404', async (method, query) => {
    for (const [root, signed] of [
      ['stor', true],
      ['public', method !== 'GET' && method !== 'HEAD'],
    ]) {
      const statusOf = async (ifMatch: string) =>
        (await service.ask(method, `/demo/${root}/nothing${query}`, { headers: { 'if-match': ifMatch }, signed: Boolean(signed) })).status;
      expect([await statusOf('*'), await statusOf('x')]).toEqual([412, 404]);
    }
  });

  test('of PUT directory: 412, and the object that it would replace stays', async () => {
    const etag = await service.put('/demo/stor/kept', 'x');
    const refused = [412, 'PreconditionFailed'];
    expect(await service.refusalOf('/demo/stor/kept', { ...directory, 'if-none-match': '*' })).toEqual(refused);
    expect(await service.refusalOf('/demo/stor/kept', { ...directory, 'if-match': 'other' })).toEqual(refused);
    expect((await service.ask('GET', '/demo/stor/kept')).text).toBe('x');
    await service.put('/demo/stor/kept', undefined, { ...directory, 'if-match': etag });
    expect(await service.refusalOf('/demo/stor/kept', { ...directory, 'if-none-match': '*' })).toEqual(refused);
  });

  test('an empty If-Match creates, and is answered 409 ConcurrentRequest when the object exists', async () => {
    await service.put('/demo/stor/absent', 'x', { 'if-match': '' });
    expect(await service.refusalOf('/demo/stor/absent', { 'if-match': '' })).toEqual([409, 'ConcurrentRequest']);
  });
});
