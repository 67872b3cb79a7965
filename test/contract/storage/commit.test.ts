import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestStorage, link, md5Of, type TestStorage } from './harness.ts';
import { commit, commitRefusalOf, create, invalid, putParts, stateOf, wrongState } from './upload-steps.ts';

let service: TestStorage;
beforeAll(async () => {
  service = await createTestStorage();
});
afterAll(() => service.close());

const mebibyte = 1024 ** 2;
const full = randomBytes(5 * mebibyte);

describe('commitMultipartUpload', () => {
  test('a part whose bytes are lost is no part that is being replaced', async () => {
    const upload = await create(service, '/demo/stor/lost');
    // The later one first, so that nobody has read it before.
    const later = await service.put(`${upload.partsDirectory}/1`, randomBytes(40_000));
    const query = service.store.db.selectFrom('entries').select('content').where('etag', '=', later);
    const { content } = await query.executeTakeFirstOrThrow();
    await service.store.bytes.remove(content ?? '');
    const first = await service.put(`${upload.partsDirectory}/0`, randomBytes(5 * 1024 ** 2));
    expect((await commit(service, upload, [first, later])).status).toBe(500);
  });

  test('201 with Location, Etag and Computed-MD5; the object is the parts in order, with its headers; ranges span parts', async () => {
    const before = await service.countContents();
    const parts = [full, randomBytes(5 * mebibyte + 3), Buffer.from('the end')];
    const whole = Buffer.concat(parts);
    const declared = {
      'content-md5': md5Of(whole),
      'content-length': whole.length,
      'content-type': 'video/x',
      'm-a': '1',
      'durability-level': 4,
    };
    const upload = await create(service, '/demo/stor/a film', declared);
    const etags: string[] = [];
    for (const index of [2, 0, 1]) etags[index] = await service.put(`${upload.partsDirectory}/${index}`, parts[index]);
    await service.put(`${upload.partsDirectory}/3`, 'not committed');
    const done = await commit(service, upload, etags);
    expect([done.status, done.headers['location'], done.headers['computed-md5'], done.text]).toEqual([
      201,
      '/demo/stor/a film',
      md5Of(whole),
      '',
    ]);
    const got = await service.ask('GET', '/demo/stor/a%20film');
    expect(createHash('md5').update(got.bytes).digest('base64')).toBe(md5Of(whole));
    expect(got.headers).toMatchObject({
      etag: done.headers['etag'],
      'content-length': String(whole.length),
      'content-md5': md5Of(whole),
      'content-type': 'video/x',
      'durability-level': '4',
      'm-a': '1',
    });
    for (const [start, end] of [
      [0, 1],
      [full.length - 2, full.length + 2],
      [full.length, full.length + 1],
      [100, whole.length - 3],
      [whole.length - 8, whole.length],
    ] as const) {
      const { status, bytes } = await service.ask('GET', '/demo/stor/a%20film', { headers: { range: `bytes=${start}-${end - 1}` } });
      expect([status, Buffer.compare(bytes, whole.subarray(start, end))]).toEqual([206, 0]);
    }
    expect(await stateOf(service, upload)).toMatchObject({ state: 'done', result: 'committed' });
    expect(await stateOf(service, upload)).not.toHaveProperty('partsDirectory');
    expect(await service.answerOf('GET', upload.partsDirectory)).toEqual([404, 'ResourceNotFound']);
    expect(await service.countContents()).toBe(before + 3);
    await service.ask('PUT', '/demo/stor/linked', { headers: link('/demo/stor/a%20film') });
    await service.ask('DELETE', '/demo/stor/a%20film');
    expect((await service.ask('GET', '/demo/stor/linked')).bytes).toHaveLength(whole.length);
    await service.ask('DELETE', '/demo/stor/linked');
    expect(await service.countContents()).toBe(before);
  });

  test('the same parts again: the same answer, also after the object was deleted; others: 409 InvalidMultipartUploadState', async () => {
    const upload = await create(service, '/demo/stor/again');
    const etags = await putParts(service, upload, 'x');
    const first = await commit(service, upload, etags);
    await service.ask('DELETE', '/demo/stor/again');
    const second = await commit(service, upload, etags);
    expect([second.status, second.headers['etag']]).toEqual([201, first.headers['etag']]);
    expect(await service.answerOf('GET', '/demo/stor/again')).toEqual([404, 'ResourceNotFound']);
    expect(await commitRefusalOf(service, upload, [])).toEqual(wrongState);
    expect(await commitRefusalOf(service, upload, ['other'])).toEqual(wrongState);
    expect(await service.answerOf('POST', `${upload.partsDirectory}/abort`)).toEqual(wrongState);
  });

  test('at once from several sides: all get the same answer', async () => {
    const upload = await create(service, '/demo/stor/crowd');
    const etags = await putParts(service, upload, full, 'x');
    const answers = await Promise.all(Array.from({ length: 8 }, () => commit(service, upload, etags)));
    expect(new Set(answers.map(({ status, headers }) => `${status} ${headers['etag']}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(201);
  });

  test('one after the other, each begun while another is on its way: no commit is refused for what an earlier one has done', async () => {
    for (let round = 0; round < 10; round += 1) {
      const upload = await create(service, `/demo/stor/late-${round}`);
      const etags = await putParts(service, upload, 'x');
      const answers = await Promise.all(
        Array.from({ length: 24 }, async (_, index) => {
          for (let turns = index * 4; turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve));
          return commit(service, upload, etags);
        }),
      );
      expect(new Set(answers.map(({ status, headers, text }) => `${status} ${headers['etag'] ?? text}`)).size).toBe(1);
    }
  });

  test.each([
    ['/demo/stor/a@b, (c) [d]?e#f&g="h"', '/demo/stor/a@b, (c) [d]?e#f&g="h"'],
    ['/demo/stor/100% ü\n🎈 ', '/demo/stor/100%25 %C3%BC%0A%F0%9F%8E%88%20'],
  ])('the Location of %j is %j', async (path, location) => {
    const done = await commit(service, await create(service, path), []);
    expect([done.status, done.headers['location'], decodeURIComponent(location)]).toEqual([201, location, path]);
  });

  test('zero parts make an empty object', async () => {
    const upload = await create(service, '/demo/stor/zero');
    expect((await commit(service, upload, [])).headers['computed-md5']).toBe(md5Of(''));
    const got = await service.ask('GET', '/demo/stor/zero');
    expect([got.status, got.text, got.headers['content-length'], got.headers['content-md5']]).toEqual([200, '', '0', md5Of('')]);
  });

  test('replaces an object, whose bytes go', async () => {
    await service.put('/demo/stor/replaced', 'old');
    const before = await service.countContents();
    const upload = await create(service, '/demo/stor/replaced');
    await commit(service, upload, await putParts(service, upload, 'new'));
    expect((await service.ask('GET', '/demo/stor/replaced')).text).toBe('new');
    expect(await service.countContents()).toBe(before);
  });

  test('target a directory: 400; parent missing: 404; parent an object: 400; the upload stays as it was', async () => {
    await service.mkdir('/demo/stor/taken');
    await service.put('/demo/stor/leaf', 'x');
    for (const [target, ...refusal] of [
      ['/demo/stor/taken', 400, 'OperationNotAllowedOnDirectory'],
      ['/demo/stor/missing/x', 404, 'DirectoryDoesNotExist'],
      ['/demo/stor/leaf/x', 400, 'ParentNotDirectory'],
    ] as const) {
      const upload = await create(service, target);
      const etags = await putParts(service, upload, 'x');
      // The target is looked at before the parts.
      for (const parts of [etags, ['other']]) expect(await commitRefusalOf(service, upload, parts)).toEqual(refusal);
      expect(await stateOf(service, upload)).toMatchObject({ state: 'created' });
    }
  });

  test('parts missing, malformed, unknown, in another order, replaced, or too small: 409, and the upload stays as it was', async () => {
    const upload = await create(service, '/demo/stor/picky');
    const etags = await putParts(service, upload, full, full, 'x');
    const [a = '', b = '', c = ''] = etags;
    for (const parts of [undefined, 'x', [1], { 0: a }, [a, b, c, c], [b, a, c], ['x'], [a, c]]) {
      expect([parts, ...(await commitRefusalOf(service, upload, parts))]).toEqual([parts, ...invalid]);
    }
    await service.put(`${upload.partsDirectory}/1`, 'small');
    expect(await commitRefusalOf(service, upload, etags)).toEqual(invalid);
    const [, small = ''] = (await service.list(upload.partsDirectory)).map(({ etag }) => String(etag));
    expect(await commitRefusalOf(service, upload, [a, small, c])).toEqual(invalid);
    expect(
      await commitRefusalOf(
        service,
        upload,
        Array.from({ length: 10_001 }, () => a),
      ),
    ).toEqual(invalid);
    expect(await stateOf(service, upload)).toMatchObject({ state: 'created' });
    expect((await commit(service, upload, [a, small])).status).toBe(201);
  });

  test('declared content-length or content-md5 that the data have not: 409, and the upload stays as it was', async () => {
    for (const headers of [{ 'content-length': 2 }, { 'content-md5': md5Of('y') }]) {
      const upload = await create(service, '/demo/stor/declared', headers);
      const etags = await putParts(service, upload, 'x');
      expect(await commitRefusalOf(service, upload, etags)).toEqual(invalid);
      expect(await stateOf(service, upload)).toMatchObject({ state: 'created' });
      expect(await service.answerOf('GET', '/demo/stor/declared')).toEqual([404, 'ResourceNotFound']);
    }
  });

  test('a part replaced after its bytes were read ahead is read anew', async () => {
    const upload = await create(service, '/demo/stor/anew');
    await putParts(service, upload, randomBytes(5 * mebibyte), 'x', 'y');
    const etags = await putParts(service, upload, full, 'z');
    const done = await commit(service, upload, etags);
    expect(done.headers['computed-md5']).toBe(md5Of(Buffer.concat([full, Buffer.from('z')])));
  });
});
