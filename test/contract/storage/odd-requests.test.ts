import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EntryRow } from '../../../src/server/store/schema.ts';
import { collectContents, runsOnPostgres } from '../../support/cluster-database.ts';
import { chunked, createTestStorage, directory, link, type TestStorage } from './harness.ts';
import { commit, create, putParts } from './upload-steps.ts';

/** Requests that are unusual or misspelled: each is answered as HTTP has it, or refused; none does something else than it says. */

let clock = Date.now();
let service: TestStorage;
beforeAll(async () => {
  service = await createTestStorage({ now: () => clock });
});
afterAll(() => service.close());

const object = '/demo/stor/object';
const content = '0123456789';

/** Goes on to the beginning of the next second. */
function nextSecond(): void {
  clock = (Math.floor(clock / 1000) + 1) * 1000;
}

async function textOf(target: string): Promise<string> {
  return (await service.ask('GET', target)).text;
}

describe('a PUT that would replace an object by something else', () => {
  beforeAll(async () => {
    await service.put(object, content, { 'content-type': 'text/plain' });
  });

  test.each(['bytes 4-9/10', 'bytes 0-9/10', 'bytes */10', 'nonsense'])('with Content-Range %s: 400, nothing changed', async (range) => {
    expect(await service.refusalOf(object, { 'content-range': range })).toEqual([400, 'BadRequest']);
    expect(await textOf(object)).toBe(content);
    const upload = await create(service, '/demo/stor/target');
    const part = `${upload.partsDirectory}/0`;
    expect(await service.refusalOf(part, { 'content-range': range })).toEqual([400, 'BadRequest']);
  });

  test.each(['?metadata', '?metadata=', '?metadata=1', '?metadata=True', '?metadata=false', '?Metadata=true', '?metadata=1&metadata=true'])(
    'with %s: 400, nothing changed',
    async (query) => {
      expect(await service.refusalOf(`${object}${query}`, { 'm-color': 'red' })).toEqual([400, 'InvalidArgumentError']);
      expect(await textOf(object)).toBe(content);
    },
  );

  test.each([
    'text/plain; type=directory',
    'application/x-json; type=link',
    'text/x; a="; type=directory"',
    'application/json; mtype=link',
  ])('with the content type %s, which is neither a directory nor a link: an object of that type', async (type) => {
    await service.put('/demo/stor/typed', content, { 'content-type': type, location: object });
    const { text, headers } = await service.ask('GET', '/demo/stor/typed');
    expect([text, headers['content-type']]).toEqual([content, type]);
  });

  test.each(['APPLICATION/JSON;Type="Directory"', 'application/json; charset=utf-8; type=directory;'])(
    'with the content type %s: a directory',
    async (type) => {
      await service.put('/demo/stor/new-directory', undefined, { 'content-type': type });
      expect(await service.list('/demo/stor/new-directory')).toEqual([]);
      await service.ask('DELETE', '/demo/stor/new-directory');
    },
  );

  test('by an object with the content type of a listing, directory or link: 400, nothing changed', async () => {
    const listing = 'application/x-json-stream; type=directory';
    for (const type of [listing, 'Application/X-JSON-Stream;TYPE="directory"'])
      expect(await service.refusalOf(object, { 'content-type': type })).toEqual([400, 'BadRequest']);
    for (const type of [listing, 'application/json; type=directory', 'application/json; type=link']) {
      const headers = { 'content-type': type };
      expect(await service.answerOf('PUT', `${object}?metadata=true`, { headers })).toEqual([400, 'BadRequest']);
      const json = { objectPath: object, headers };
      expect(await service.answerOf('POST', '/demo/uploads', { json })).toEqual([400, 'BadRequest']);
    }
    expect((await service.ask('GET', object)).headers['content-type']).toBe('text/plain');
  });

  test('with an empty content type: application/octet-stream', async () => {
    for (const target of ['/demo/stor/untyped', '/demo/stor/untyped?metadata=true'])
      for (const type of ['', ' ']) {
        await service.put(target, undefined, { 'content-type': type });
        expect((await service.ask('GET', '/demo/stor/untyped')).headers['content-type']).toBe('application/octet-stream');
      }
  });

  test('with a Content-Encoding, which is not stored: 415; identity is no encoding', async () => {
    expect(await service.refusalOf(object, { 'content-encoding': 'gzip' })).toEqual([415, 'UnsupportedMediaType']);
    expect(await textOf(object)).toBe(content);
    await service.put('/demo/stor/plain', content, { 'content-encoding': 'identity' });
    const { partsDirectory } = await create(service, '/demo/stor/target');
    expect(await service.refusalOf(`${partsDirectory}/0`, { 'content-encoding': 'br' })).toEqual([415, 'UnsupportedMediaType']);
  });

  test('of a directory or link with a body: 400; with an empty one it is made', async () => {
    for (const headers of [directory, link(object)]) {
      for (const [body, more] of [
        ['x', {}],
        [chunked('', 'x'), { 'transfer-encoding': 'chunked' }],
      ] as const) {
        const target = `/demo/stor/${randomUUID()}`;
        expect(await service.answerOf('PUT', target, { headers: { ...headers, ...more }, body })).toEqual([400, 'BadRequest']);
        expect((await service.ask('GET', target)).status).toBe(404);
        const empty = chunked();
        expect((await service.ask('PUT', target, { headers: { ...headers, 'transfer-encoding': 'chunked' }, body: empty })).status).toBe(
          204,
        );
      }
    }
  });
});

describe('a directory or a link', () => {
  beforeAll(() => service.put(object, content));

  test.each([
    ['durability-level', '99', 'InvalidDurabilityLevel'],
    ['x-durability-level', 'many', 'InvalidDurabilityLevel'],
    ['content-md5', 'x', 'BadRequest'],
  ])('with %s %s: 400 %s', async (name, value, code) => {
    for (const headers of [directory, link(object)])
      expect(await service.refusalOf('/demo/stor/unused', { ...headers, [name]: value })).toEqual([400, code]);
  });

  test('with a valid durability-level: created', async () => {
    for (const headers of [link(object), directory])
      await service.put('/demo/stor/unused', undefined, { ...headers, 'durability-level': '6' });
  });
});

describe('conditions', () => {
  test('If-Unmodified-Since guards a write: 412 while the version is of the present second, since another one could have the same date', async () => {
    const target = '/demo/stor/dated';
    nextSecond();
    await service.put(target, 'first');
    const modified = (await service.ask('HEAD', target)).headers['last-modified'] ?? '';
    const headers = { 'if-unmodified-since': modified };
    clock += 500;
    expect(await service.refusalOf(target, headers)).toEqual([412, 'PreconditionFailed']);
    expect(await service.answerOf('DELETE', target, { headers })).toEqual([412, 'PreconditionFailed']);
    expect((await service.ask('GET', target, { headers })).status).toBe(200);
    nextSecond();
    await service.put(target, 'second', headers);
    // The other writer, who read the same version.
    expect(await service.refusalOf(target, headers)).toEqual([412, 'PreconditionFailed']);
    expect(await textOf(target)).toBe('second');
  });

  test('of 20 writers with the same date at most one wins', async () => {
    const target = '/demo/stor/raced';
    nextSecond();
    await service.put(target, 'first');
    const modified = (await service.ask('HEAD', target)).headers['last-modified'] ?? '';
    nextSecond();
    const write = (): Promise<number> =>
      service.ask('PUT', target, { headers: { 'if-unmodified-since': modified }, body: 'x' }).then(({ status }) => status);
    const statuses = await Promise.all(Array.from({ length: 20 }, write));
    expect(statuses.toSorted((left, right) => left - right)).toEqual([204, ...Array.from({ length: 19 }, () => 412)]);
  });

  test('If-Match compares strongly: a weak etag never matches', async () => {
    const etag = await service.put('/demo/stor/strong', 'x');
    expect(await service.refusalOf('/demo/stor/strong', { 'if-match': `W/"${etag}"` })).toEqual([412, 'PreconditionFailed']);
    expect((await service.ask('GET', '/demo/stor/strong', { headers: { 'if-match': `W/"${etag}"` } })).status).toBe(412);
    expect((await service.ask('GET', '/demo/stor/strong', { headers: { 'if-none-match': `W/"${etag}"` } })).status).toBe(304);
  });

  test('If-Range takes one strong etag or the date of the version; with anything else the whole object is sent', async () => {
    const target = '/demo/stor/ranged';
    nextSecond();
    const etag = await service.put(target, content);
    const modified = (await service.ask('HEAD', target)).headers['last-modified'] ?? '';
    const statusOf = async (ifRange: string): Promise<number> =>
      (await service.ask('GET', target, { headers: { range: 'bytes=2-4', 'if-range': ifRange } })).status;
    expect([await statusOf(modified), await statusOf(etag)]).toEqual([200, 206]);
    nextSecond();
    expect([await statusOf(modified), await statusOf(etag), await statusOf(`"${etag}"`)]).toEqual([206, 206, 206]);
    const others = [
      '*',
      `W/"${etag}"`,
      `"x", "${etag}"`,
      `${etag}, x`,
      'x',
      '',
      new Date(clock + 60_000).toUTCString(),
      new Date(0).toUTCString(),
    ];
    const same = new Date(Date.parse(modified)).toISOString();
    for (const ifRange of [...others, same]) expect([ifRange, await statusOf(ifRange)]).toEqual([ifRange, 200]);
  });
});

test('HEAD ignores Range: 200 and the length of the whole object', async () => {
  await service.put(object, content);
  for (const range of ['bytes=2-4', 'bytes=20-', 'bytes=0-1,3-4']) {
    const { status, headers } = await service.ask('HEAD', object, { headers: { range } });
    expect([range, status, headers['content-length'], headers['content-range']]).toEqual([range, 200, '10', undefined]);
  }
  expect((await service.ask('GET', object, { headers: { range: 'bytes=2-4' } })).text).toBe('234');
});

test('browsers take no object for another type, and a public page runs as if it were of no origin', async () => {
  await service.put('/demo/public/page', '<script>', { 'content-type': 'text/html' });
  await service.put('/demo/stor/page', '<script>', { 'content-type': 'text/html' });
  const shown = await service.ask('GET', '/demo/public/page', { signed: false });
  expect(shown.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'content-security-policy': 'sandbox' });
  const own = (await service.ask('HEAD', '/demo/stor/page')).headers;
  expect([own['x-content-type-options'], own['content-security-policy']]).toEqual(['nosniff', undefined]);
});

describe('uploads', () => {
  test('the parts of a commit are an array: a text is no list of one', async () => {
    const upload = await create(service, '/demo/stor/assembled');
    const [etag = ''] = await putParts(service, upload, 'part');
    for (const parts of [etag, 1, { 0: etag }]) {
      const { status, code } = await commit(service, upload, parts);
      expect([status, code]).toEqual([409, 'MultipartUploadInvalidArgumentError']);
    }
    expect((await commit(service, upload, [etag])).status).toBe(201);
  });

  test.each(['00', '007', '%30', '0%30', '+1', '1.0', '10000', '-1', '1e1', '٣'])('part number %s: 409', async (number) => {
    const { partsDirectory } = await create(service, '/demo/stor/assembled');
    expect(await service.refusalOf(`${partsDirectory}/${encodeURI(number).replaceAll('%25', '%')}`, {})).toEqual([
      409,
      'MultipartUploadInvalidArgumentError',
    ]);
  });

  test('abort of 10,000 parts answers before their files are gone', async () => {
    const upload = await create(service, '/demo/stor/assembled');
    const template = (number: number): EntryRow => ({
      parent: upload.partsDirectory,
      name: String(number),
      type: 'object',
      etag: randomUUID(),
      mtime: clock,
      size: 1,
      md5: '',
      content: randomUUID(),
      copies: 2,
      headers: '{}',
      role_tags: '[]',
      children: 0,
    });
    const [first = ''] = await putParts(service, upload, 'x');
    expect(first).not.toBe('');
    await service.store.write(async (transaction) => {
      for (let at = 1; at < 10_000; at += 500) {
        const rows = Array.from({ length: Math.min(500, 10_000 - at) }, (_, index) => template(at + index));
        await transaction.insertInto('entries').values(rows).execute();
      }
    });
    const { remove } = service.store.bytes;
    let [begun, removed] = [0, 0];
    service.store.bytes.remove = async (id) => {
      begun += 1;
      // A slow disk.
      await new Promise((resolve) => setTimeout(resolve, 1));
      await remove(id);
      removed += 1;
    };
    expect((await service.ask('POST', `${upload.partsDirectory}/abort`)).status).toBe(204);
    expect(removed).toBeLessThan(10_000);
    service.store.bytes.remove = remove;
    // With several gateways the collector removes them, and not the request.
    const { removed: noted = 0 } = (await collectContents(service.store, { dryRun: true })) ?? {};
    expect(begun + noted).toBeGreaterThan(runsOnPostgres() ? 9000 : 0);
  });
});

describe('pages in the order of modification times', () => {
  async function names(query: string, folder: string): Promise<string[]> {
    return (await service.list(`${folder}?sort=mtime&limit=3${query}`)).map(({ name }) => String(name));
  }
  async function fill(folder: string, count: number): Promise<void> {
    await service.mkdir(folder);
    for (let number = 0; number < count; number += 1) {
      clock += 10;
      await service.put(`${folder}/n${number}`, 'x');
    }
  }

  test.each(['overwritten', 'deleted'])('go on where a page ended, although its last entry is %s meanwhile', async (how) => {
    for (const order of ['', '&sort_order=reverse']) {
      const folder = `/demo/stor/${randomUUID()}`;
      await fill(folder, 7);
      const seen: string[] = await names(order, folder);
      for (;;) {
        const last = seen.at(-1) ?? '';
        clock += 10;
        if (how === 'deleted') await service.ask('DELETE', `${folder}/${last}`);
        else await service.put(`${folder}/${last}`, 'again');
        const page = await names(`${order}&marker=${last}`, folder);
        const fresh = page.filter((name) => !seen.includes(name));
        if (fresh.length === 0) break;
        seen.push(...fresh);
      }
      expect(seen.toSorted()).toEqual(['n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6']);
    }
  });

  test('a marker TIME/NAME names the place itself, also of an entry that never was', async () => {
    const folder = `/demo/stor/${randomUUID()}`;
    await fill(folder, 5);
    const [, , third] = await service.list(`${folder}?sort=mtime`);
    clock += 10;
    await service.put(`${folder}/n2`, 'again');
    const marker = encodeURIComponent(`${String(third?.['mtime'])}/n2`);
    expect(await names(`&marker=${marker}`, folder)).toEqual(['n3', 'n4', 'n2']);
    expect(await service.answerOf('GET', `${folder}?sort=mtime&marker=x/y`)).toEqual([400, 'InvalidArgumentError']);
  });
});

test('a body of a GET or DELETE, chunked or not, is ignored', async () => {
  const forms = [{ body: 'xx' }, { body: chunked('x', 'x'), headers: { 'transfer-encoding': 'chunked' } }];
  for (const [at, form] of forms.entries()) {
    await service.put(`/demo/stor/bodied${at}`, content);
    expect((await service.ask('GET', `/demo/stor/bodied${at}`, form)).text).toBe(content);
    expect((await service.ask('DELETE', `/demo/stor/bodied${at}`, form)).status).toBe(204);
  }
});
