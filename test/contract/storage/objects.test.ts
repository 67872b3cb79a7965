import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ApiError } from '../../../src/base/errors.ts';
import { cutContent } from '../../support/byte-stores.ts';
import { runsOnPostgres } from '../../support/cluster-database.ts';
import { chunked, createTestStorage, link, md5Of, type TestStorage } from './harness.ts';
import { create } from './upload-steps.ts';

let service: TestStorage;
beforeAll(async () => {
  service = await createTestStorage();
  await service.mkdir('/demo/stor/d');
});
afterAll(() => service.close());

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe('putObject', () => {
  test('204 with Etag, Last-Modified and Computed-MD5; the bytes come back with what was stored', async () => {
    const headers = { 'content-type': 'text/plain', 'm-colour': 'red', 'cache-control': 'no-store', 'x-ignored': 'yes' };
    const put = await service.ask('PUT', '/demo/stor/whole', { body: 'hello', headers });
    expect(put).toMatchObject({ status: 204, text: '', headers: { 'computed-md5': md5Of('hello') } });
    expect(put.headers['etag']).toMatch(uuid);
    const got = await service.ask('GET', '/demo/stor/whole');
    expect(got).toMatchObject({ status: 200, text: 'hello' });
    expect(got.headers).toMatchObject({
      'content-type': 'text/plain',
      'content-length': '5',
      'content-md5': md5Of('hello'),
      etag: put.headers['etag'],
      'last-modified': put.headers['last-modified'],
      'durability-level': '2',
      'm-colour': 'red',
      'cache-control': 'no-store',
    });
    expect(got.headers).not.toHaveProperty('x-ignored');
    const head = await service.ask('HEAD', '/demo/stor/whole');
    expect([head.status, head.text, head.headers['content-length'], head.headers['etag']]).toEqual([200, '', '5', put.headers['etag']]);
  });

  test('every header that the design lists is stored and comes back, in a listing of headers too', async () => {
    const stored = {
      'content-type': 'a/b',
      'access-control-allow-credentials': 'true',
      'access-control-allow-headers': 'x-one',
      'access-control-allow-methods': 'GET, PUT',
      'access-control-allow-origin': 'https://a.test',
      'access-control-expose-headers': 'x-two',
      'access-control-max-age': '60',
      'cache-control': 'private',
      'surrogate-key': 'a b',
      'content-disposition': 'inline',
      'm-any': 'thing',
    };
    await service.put('/demo/stor/described', 'x', stored);
    for (const method of ['GET', 'HEAD']) expect((await service.ask(method, '/demo/stor/described')).headers).toMatchObject(stored);
  });

  test('the content type is application/octet-stream unless given; the etag is new on every write', async () => {
    const first = await service.put('/demo/stor/plain', 'a');
    expect((await service.ask('GET', '/demo/stor/plain')).headers['content-type']).toBe('application/octet-stream');
    expect(await service.put('/demo/stor/plain', 'a')).not.toBe(first);
  });

  test('chunked bodies, empty ones, and one of 3 MiB in odd pieces', async () => {
    await service.put('/demo/stor/chunks', chunked('ab', '', 'cd'));
    expect((await service.ask('GET', '/demo/stor/chunks')).text).toBe('abcd');
    await service.put('/demo/stor/empty', chunked());
    const empty = await service.ask('GET', '/demo/stor/empty');
    expect([empty.text, empty.headers['content-length'], empty.headers['content-md5']]).toEqual(['', '0', md5Of('')]);
    const bytes = Buffer.alloc(3 * 1024 ** 2 + 7, 'data that repeats');
    await service.put('/demo/stor/large', chunked(bytes.subarray(0, 1), bytes.subarray(1, 999_999), bytes.subarray(999_999)));
    expect(Buffer.compare((await service.ask('GET', '/demo/stor/large')).bytes, bytes)).toBe(0);
  });

  test('parent missing, parent an object, over a directory, on a root', async () => {
    expect(await service.refusalOf('/demo/stor/none/x', {})).toEqual([404, 'DirectoryDoesNotExist']);
    await service.put('/demo/stor/file', 'x');
    expect(await service.refusalOf('/demo/stor/file/x', {})).toEqual([400, 'ParentNotDirectory']);
    expect(await service.refusalOf('/demo/stor/d', {})).toEqual([400, 'OperationNotAllowedOnDirectory']);
    for (const root of ['/demo', '/demo/stor', '/demo/elsewhere']) {
      expect(await service.refusalOf(root, {})).toEqual([400, 'OperationNotAllowedOnRootDirectory']);
    }
    expect(await service.refusalOf('/demo/uploads/x/y/z/w', {})).toEqual([405, 'MethodNotAllowed']);
  });

  test.each(['0', '7', '-1', '1.5', 'x', ''])('durability-level "%s": 400 InvalidDurabilityLevel', async (level) => {
    expect(await service.refusalOf('/demo/stor/copies', { 'durability-level': level })).toEqual([400, 'InvalidDurabilityLevel']);
  });

  test('durability-level 1 to 6, also as x-durability-level', async () => {
    for (const name of ['durability-level', 'x-durability-level']) {
      for (const level of ['1', '6']) {
        await service.put('/demo/stor/copies', 'x', { [name]: level });
        expect((await service.ask('HEAD', '/demo/stor/copies')).headers['durability-level']).toBe(level);
      }
    }
  });

  test('max-content-length: negative or none: 400; a declared length beyond it: 413 before reading', async () => {
    for (const bound of ['-1', 'x', '']) {
      expect(await service.refusalOf('/demo/stor/bound', { 'max-content-length': bound })).toEqual([400, 'InvalidMaxContentLength']);
    }
    const headers = { 'max-content-length': '4', 'content-length': '5' };
    expect(await service.refusalOf('/demo/stor/bound', headers)).toEqual([413, 'MaxContentLengthExceeded']);
  });

  test('a chunked body beyond max-content-length: 413, nothing stored; up to it: stored with the size received', async () => {
    const before = await service.countContents();
    const headers = { 'max-content-length': '4' };
    expect(await service.answerOf('PUT', '/demo/stor/bound', { headers, body: chunked('abc', 'de') })).toEqual([
      413,
      'MaxContentLengthExceeded',
    ]);
    expect(await service.answerOf('GET', '/demo/stor/bound')).toEqual([404, 'ResourceNotFound']);
    expect(await service.countContents()).toBe(before);
    await service.put('/demo/stor/bound', chunked('abc', 'd'), headers);
    expect((await service.ask('GET', '/demo/stor/bound')).headers['content-length']).toBe('4');
  });

  test('a chunked body beyond 5 GiB: 413', async () => {
    const piece = Buffer.alloc(64);
    Object.defineProperty(piece, 'length', { value: 5 * 1024 ** 3 + 1 });
    async function* huge(): AsyncGenerator<Uint8Array> {
      yield piece;
    }
    expect(await service.answerOf('PUT', '/demo/stor/huge', { body: huge() })).toEqual([413, 'MaxContentLengthExceeded']);
  });

  test('Content-MD5: checked, also of an empty body; the old object stays', async () => {
    await service.put('/demo/stor/summed', 'good', { 'content-md5': md5Of('good') });
    const count = await service.countContents();
    for (const body of ['bad', '']) {
      const headers = { 'content-md5': md5Of('other') };
      expect(await service.answerOf('PUT', '/demo/stor/summed', { headers, body })).toEqual([400, 'ContentMD5Mismatch']);
    }
    expect((await service.ask('GET', '/demo/stor/summed')).text).toBe('good');
    expect(await service.countContents()).toBe(count);
  });

  test('a refused body whose content cannot be removed is refused for its own reason', async () => {
    const { partsDirectory } = await create(service, '/demo/stor/kept');
    const remove = vi.spyOn(service.store.bytes, 'remove').mockRejectedValue(new Error('input/output error'));
    try {
      const body = 'x'.repeat(100_000);
      const headers = { 'content-md5': md5Of('other') };
      expect(await service.answerOf('PUT', '/demo/stor/kept', { headers, body })).toEqual([400, 'ContentMD5Mismatch']);
      vi.spyOn(service.store, 'writeEntry').mockRejectedValue(new ApiError(412, 'PreconditionFailed', 'changed'));
      // A part of an upload is written by a transaction everywhere.
      expect(await service.answerOf('PUT', `${partsDirectory}/0`, { body })).toEqual([412, 'PreconditionFailed']);
      expect(remove).toHaveBeenCalledTimes(2);
    } finally {
      vi.restoreAllMocks();
    }
  });

  test.each(['x', 'd41d8cd98f00b204e9800998ecf8427e', 'AAAA', '!!!!!!!!!!!!!!!!!!!!!!=='])(
    'Content-MD5 %s: 400 BadRequest',
    async (md5) => {
      expect(await service.refusalOf('/demo/stor/summed', { 'content-md5': md5 })).toEqual([400, 'BadRequest']);
    },
  );

  test('a body cut short is never stored', async () => {
    const count = await service.countContents();
    async function* cut(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('half');
      throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
    }
    await service.put('/demo/stor/cut', 'whole');
    expect(await service.answerOf('PUT', '/demo/stor/cut', { body: cut() })).toEqual([499, 'ClientClosedRequest']);
    expect((await service.ask('GET', '/demo/stor/cut')).text).toBe('whole');
    const short = { headers: { 'content-length': '10' }, body: chunked('half') };
    expect(await service.answerOf('PUT', '/demo/stor/cut', short)).toEqual([400, 'BadRequest']);
    expect((await service.ask('GET', '/demo/stor/cut')).text).toBe('whole');
    expect(await service.countContents()).toBe(count + 1);
  });

  test('4 KB of stored headers, names and values, and not one byte more: 400 InvalidArgumentError', async () => {
    const custom = (size: number) => ({ 'content-type': 'a/b', 'm-a': 'x'.repeat(size - 'content-typea/bm-a'.length) });
    await service.put('/demo/stor/headers', 'x', custom(4096));
    const { status, code, text } = await service.ask('PUT', '/demo/stor/headers', { headers: custom(4097), body: 'x' });
    expect([status, code, text]).toEqual([400, 'InvalidArgumentError', expect.stringContaining('4096')]);
    expect(await service.refusalOf('/demo/stor/headers', custom(9000))).toEqual([400, 'InvalidArgumentError']);
  });

  test.each([
    ['attachment; filename="../../etc/passwd"', 'attachment; filename="passwd"'],
    ['attachment; filename="C:\\\\dir\\\\a \\"b\\".txt"', 'attachment; filename="a \\"b\\".txt"'],
    [`attachment; filename*=UTF-8''..%2Fx%20y`, `attachment; filename*=UTF-8''x%20y`],
    [`attachment; filename*="UTF-8''a%2Fb"`, `attachment; filename*="UTF-8''b"`],
    [`attachment; filename*="UTF-8''a\\%2Fb%22"; x=y`, `attachment; filename*="UTF-8''b%22"; x=y`],
    [`attachment; filename*="UTF-8''b"`, `attachment; filename*="UTF-8''b"`],
    ['inline', 'inline'],
    ['form-data; name="n"; filename=plain.txt', 'form-data; name="n"; filename=plain.txt'],
  ])('content-disposition %s is stored as %s', async (given, stored) => {
    await service.put('/demo/stor/disposed', 'x', { 'content-disposition': given });
    expect((await service.ask('HEAD', '/demo/stor/disposed')).headers['content-disposition']).toBe(stored);
    // Clients send the stored headers again to change one of them.
    await service.put('/demo/stor/disposed?metadata=true', undefined, { 'content-disposition': stored });
    expect((await service.ask('HEAD', '/demo/stor/disposed')).headers['content-disposition']).toBe(stored);
  });

  test.each(['', ';', '"a"', 'attachment filename=x', 'attachment; filename="x', 'attachment; =x', `a; filename*=UTF-8''%zz`])(
    'content-disposition "%s": 400 BadRequest',
    async (value) => {
      expect(await service.refusalOf('/demo/stor/disposed', { 'content-disposition': value })).toEqual([400, 'BadRequest']);
    },
  );

  test('under public without one, the list of origins is *', async () => {
    await service.put('/demo/public/open', 'x');
    const open = await service.ask('GET', '/demo/public/open', { signed: false });
    expect([open.text, open.headers['access-control-allow-origin']]).toEqual(['x', '*']);
    await service.put('/demo/public/named', 'x', { 'access-control-allow-origin': 'https://a.test' });
    expect((await service.ask('GET', '/demo/public/named')).headers['access-control-allow-origin']).toBe('https://a.test');
    expect((await service.ask('GET', '/demo/stor/whole')).headers).not.toHaveProperty('access-control-allow-origin');
  });

  test('a role tag that no role has: 409 InvalidRoleTag', async () => {
    expect(await service.refusalOf('/demo/stor/roled', { 'role-tag': 'a, b' })).toEqual([409, 'InvalidRoleTag']);
  });

  test('anonymous and foreign requests are refused outside public', async () => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      expect([method, ...(await service.answerOf(method, '/demo/stor/whole', { signed: false }))]).toEqual([
        method,
        403,
        'AuthorizationFailed',
      ]);
    }
    expect(await service.answerOf('PUT', '/demo/public/x', { signed: false, body: 'x' })).toEqual([403, 'AuthorizationFailed']);
  });
});

describe('contents of every size', () => {
  // Up to 8 KiB they stand in rows, on PostgreSQL up to 16 KiB, above elsewhere; up to 16 KiB they are written in one step, and up to 64 KiB read in one.
  test.each([0, 1, 8191, 8192, 8193, 16_384, 16_385, 65_536, 65_537, 300_000])(
    '%d bytes: whole, by range, through a link, replaced, and gone',
    async (size) => {
      const before = await service.countContents();
      const bytes = randomBytes(size);
      await service.put('/demo/stor/sized', bytes);
      await service.put('/demo/stor/sized-link', undefined, link('/demo/stor/sized'));
      expect(await service.countContents()).toBe(before + 1);
      const other = randomBytes(size + 1);
      await service.put('/demo/stor/sized', other);
      for (const [target, expected] of [
        ['/demo/stor/sized', other],
        ['/demo/stor/sized-link', bytes],
      ] as const) {
        const got = await service.ask('GET', target);
        expect([got.status, md5Of(got.bytes), got.headers['content-md5']]).toEqual([200, md5Of(expected), md5Of(expected)]);
        if (expected.length < 3) continue;
        const range = await service.ask('GET', target, { headers: { range: 'bytes=1-2' } });
        expect([range.status, range.bytes]).toEqual([206, expected.subarray(1, 3)]);
      }
      await service.ask('DELETE', '/demo/stor/sized');
      expect(md5Of((await service.ask('GET', '/demo/stor/sized-link')).bytes)).toBe(md5Of(bytes));
      await service.ask('DELETE', '/demo/stor/sized-link');
      expect(await service.countContents()).toBe(before);
    },
  );

  test('few bytes stand in a row: on PostgreSQL, which may be far from the files, twice as many', async () => {
    const inRows: number[] = [];
    for (const size of [1, 8192, 8193, 16_384, 16_385]) {
      await service.put(`/demo/stor/row${size}`, randomBytes(size));
      const query = service.store.db.selectFrom('entries').select('content').where('name', '=', `row${size}`);
      if ((await query.executeTakeFirstOrThrow()).content?.startsWith('row/') === true) inRows.push(size);
    }
    expect(inRows).toEqual(runsOnPostgres() ? [1, 8192, 8193, 16_384] : [1, 8192]);
  });
});

describe('getObject', () => {
  test('an object whose bytes are damaged: HEAD answers, GET fails, and PUT stores it again', async () => {
    await service.put('/demo/stor/damaged', 'x'.repeat(20_000));
    const { content } = await service.store.db
      .selectFrom('entries')
      .select('content')
      .where('name', '=', 'damaged')
      .executeTakeFirstOrThrow();
    await cutContent(service.dir, content ?? '', 5);
    expect((await service.ask('GET', '/demo/stor/damaged')).status).toBe(500);
    expect(await service.ask('HEAD', '/demo/stor/damaged')).toMatchObject({ status: 200, headers: { 'content-length': '20000' } });
    await service.put('/demo/stor/damaged', 'y');
    expect(await service.ask('GET', '/demo/stor/damaged')).toMatchObject({ status: 200, text: 'y' });
  });

  beforeAll(async () => {
    await service.put('/demo/stor/digits', '0123456789', { 'content-type': 'text/plain; charset=utf-8' });
  });

  test.each([
    ['bytes=0-0', '0', 'bytes 0-0/10'],
    ['bytes=3-5', '345', 'bytes 3-5/10'],
    ['bytes=7-', '789', 'bytes 7-9/10'],
    ['bytes=-2', '89', 'bytes 8-9/10'],
    ['bytes=-99', '0123456789', 'bytes 0-9/10'],
    ['bytes=5-99', '56789', 'bytes 5-9/10'],
    ['bytes=0-', '0123456789', 'bytes 0-9/10'],
  ])('Range %s: 206', async (range, text, shown) => {
    const got = await service.ask('GET', '/demo/stor/digits', { headers: { range } });
    expect([got.status, got.text, got.headers['content-range'], got.headers['content-length']]).toEqual([
      206,
      text,
      shown,
      String(text.length),
    ]);
    expect(got.headers).not.toHaveProperty('content-md5');
  });

  test('Range with If-Match: the part of that version, or 412', async () => {
    const etag = await service.put('/demo/stor/resumed', '0123456789');
    const ask = (ifMatch: string) => service.ask('GET', '/demo/stor/resumed', { headers: { range: 'bytes=4-', 'if-match': ifMatch } });
    expect(await ask(etag)).toMatchObject({ status: 206, text: '456789' });
    expect(await ask('other')).toMatchObject({ status: 412, code: 'PreconditionFailed' });
  });

  test('Range with If-Range, as browsers and wget go on with a download: the part of that version, or the whole of another', async () => {
    const etag = await service.put('/demo/stor/resumed', '0123456789');
    // The date of a version of the present second guards nothing.
    const mtime = Date.now() - 10_000;
    await service.store.db.updateTable('entries').set({ mtime }).where('name', '=', 'resumed').execute();
    const modified = (await service.ask('HEAD', '/demo/stor/resumed')).headers['last-modified'] ?? '';
    const ask = (ifRange: string) => service.ask('GET', '/demo/stor/resumed', { headers: { range: 'bytes=4-', 'if-range': ifRange } });
    for (const same of [etag, `"${etag}"`, modified]) expect(await ask(same)).toMatchObject({ status: 206, text: '456789' });
    for (const other of ['other', '"other"', new Date(0).toUTCString()]) {
      expect(await ask(other)).toMatchObject({ status: 200, text: '0123456789' });
    }
  });

  test.each(['bytes=x', 'lines=1-2', 'bytes=5-3', 'bytes=-', ''])('Range "%s" is ignored', async (range) => {
    expect(await service.ask('GET', '/demo/stor/digits', { headers: { range } })).toMatchObject({ status: 200, text: '0123456789' });
  });

  test('outside: 416 with the size; several ranges: 501 NotImplemented', async () => {
    for (const range of ['bytes=10-', 'bytes=99-100', 'bytes=-0']) {
      const got = await service.ask('GET', '/demo/stor/digits', { headers: { range } });
      expect([got.status, got.headers['content-range'], got.code]).toEqual([416, 'bytes */10', 'RequestedRangeNotSatisfiable']);
    }
    expect(await service.answerOf('GET', '/demo/stor/digits', { headers: { range: 'bytes=0-1,3-4' } })).toEqual([501, 'NotImplemented']);
    await service.put('/demo/stor/nil', '');
    expect((await service.ask('GET', '/demo/stor/nil', { headers: { range: 'bytes=0-' } })).status).toBe(416);
  });

  test('Accept that excludes the stored type: 406 NotAcceptable', async () => {
    for (const accept of ['application/json', 'text/html, image/*', 'text/plain;q=0, */*']) {
      expect([accept, ...(await service.answerOf('GET', '/demo/stor/digits', { headers: { accept } }))]).toEqual([
        accept,
        406,
        'NotAcceptable',
      ]);
    }
    for (const accept of ['*/*', 'text/*', 'TEXT/PLAIN', 'image/png, text/plain;q=0.1', '']) {
      expect([accept, (await service.ask('GET', '/demo/stor/digits', { headers: { accept } })).status]).toEqual([accept, 200]);
    }
  });

  test('missing: 404 ResourceNotFound', async () => {
    expect(await service.answerOf('GET', '/demo/stor/nothing')).toEqual([404, 'ResourceNotFound']);
    expect(await service.answerOf('HEAD', '/demo/stor/nothing')).toEqual([404, undefined]);
  });
});

describe('deleteObject', () => {
  test('204, then 404; the bytes go', async () => {
    const before = await service.countContents();
    await service.put('/demo/stor/d/gone', 'x');
    expect(await service.answerOf('DELETE', '/demo/stor/d/gone')).toEqual([204, undefined]);
    expect(await service.answerOf('DELETE', '/demo/stor/d/gone')).toEqual([404, 'ResourceNotFound']);
    expect(await service.countContents()).toBe(before);
    expect((await service.ask('GET', '/demo/stor/d')).headers['result-set-size']).toBe('0');
  });
});
