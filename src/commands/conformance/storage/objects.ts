import { storage } from '../../../api/storage.ts';
import { section } from '../check.ts';
import { escapePattern, md5Of } from '../response.ts';
import { makeDirectory, makeHome, putText } from './directories.ts';
import type { At } from '../at.ts';

/** Every byte value twice, in an order that no text has. */
const everyByte = Buffer.from(Array.from({ length: 512 }, (_, at) => (at * 167) % 256));

export async function makeObject(at: At): Promise<string> {
  const path = `${await at.need(makeHome)}/object`;
  at.expect(await at.storage('PUT', path, { body: everyByte, headers: { 'content-type': 'image/x-test', 'm-colour': 'red' } }), {
    status: 204,
  });
  return path;
}

/** Creates an object that holds a text; returns its path and etag. */
export async function makeText(
  at: At,
  name: string,
  body?: string,
  headers?: Record<string, string>,
): Promise<{ path: string; etag: string }> {
  const path = `${await at.need(makeHome)}/${name}`;
  const response = at.expect(await putText(at, path, body, headers), { status: 204 });
  return { path, etag: response.headers['etag'] ?? '' };
}

export const date = /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/u;

export const objects = section('storage', '4 Objects', {
  'put-object': {
    states: 'PutObject returns 204 without a body, with Etag, Last-Modified and Computed-MD5',
    run: async (at) => {
      const path = `${await at.need(makeHome)}/put`;
      const headers = { etag: /./u, 'last-modified': date, 'computed-md5': new RegExp(`^${escapePattern(md5Of(everyByte))}$`, 'u') };
      at.expect(await at.storage('PUT', path, { body: everyByte }), { status: 204, empty: true, headers });
    },
  },
  'get-object': {
    states: 'GetObject returns 200 with the stored bytes',
    run: async (at) => at.expect(await at.storage('GET', await at.need(makeObject)), { status: 200, body: everyByte }),
  },
  'get-headers': {
    states: 'GetObject returns Etag, Last-Modified, Content-Length, Content-Type and Content-MD5',
    run: async (at) => {
      const response = await at.storage('GET', await at.need(makeObject));
      const headers = { etag: /./u, 'last-modified': date, 'content-length': /^512$/u, 'content-type': /^image\/x-test$/u };
      at.expect(response, { status: 200, headers });
      at.assert(response.headers['content-md5'] === md5Of(everyByte), `content-md5 is ${response.headers['content-md5'] ?? 'absent'}`);
    },
  },
  'get-empty': {
    states: 'An empty object is stored and returned',
    operations: [storage.putObject, storage.getObject],
    run: async (at) => {
      const path = `${await at.need(makeHome)}/empty`;
      at.expect(await at.storage('PUT', path, { body: '' }), { status: 204 });
      at.expect(await at.storage('GET', path), { status: 200, empty: true, headers: { 'content-length': /^0$/u } });
    },
  },
  'odd-name': {
    states: 'The name of an object may contain spaces, symbols and letters beyond ASCII',
    operations: [storage.putObject, storage.getObject],
    run: async (at) => {
      const { path } = await makeText(at, 'a b%41+"ä寿\u{1f600}?#');
      at.expect(await at.storage('GET', path), { status: 200, body: 'a text\n' });
    },
  },
  'parent-missing': {
    states: 'PutObject is rejected if the parent directory does not exist',
    run: async (at) => {
      const response = await putText(at, `${await at.need(makeHome)}/nowhere/x`);
      at.expect(response, { status: 404, code: ['DirectoryDoesNotExist', 'ResourceNotFound'] });
    },
  },
  'parent-object': {
    states: 'PutObject is rejected if the parent is not a directory',
    run: async (at) =>
      at.expect(await putText(at, `${await at.need(makeObject)}/x`), {
        status: [400, 404],
        code: ['ParentNotDirectory', 'DirectoryDoesNotExist'],
      }),
  },
  'put-md5': {
    states: 'PutObject accepts a body that matches Content-MD5 (rule 1)',
    run: (at) => makeText(at, 'md5', 'right', { 'content-md5': md5Of(Buffer.from('right')) }),
  },
  'put-md5-wrong': {
    states: 'PutObject rejects a body that does not match Content-MD5, and the object does not change (rule 1)',
    run: async (at) => {
      const { path } = await makeText(at, 'md5-wrong');
      const response = await putText(at, path, 'wrong', { 'content-md5': md5Of(Buffer.from('right')) });
      at.expect(response, { status: [400, 409, 422, 469], code: 'ContentMD5Mismatch' });
      at.expect(await at.storage('GET', path), { status: 200, body: 'a text\n' });
    },
  },
  'if-match': {
    states: 'PutObject with the etag of the object in If-Match replaces it (rule 2)',
    run: async (at) => {
      const { path, etag } = await makeText(at, 'if-match');
      at.expect(await putText(at, path, 'new', { 'if-match': etag }), { status: 204 });
      at.expect(await at.storage('GET', path), { status: 200, body: 'new' });
    },
  },
  'if-match-other': {
    states: 'PutObject with another etag in If-Match is rejected with 412, and nothing changes (rule 2)',
    run: async (at) => {
      const { path } = await makeText(at, 'if-match-other');
      const other = '00000000-0000-4000-8000-000000000000';
      at.expect(await putText(at, path, 'new', { 'if-match': other }), { status: 412, code: 'PreconditionFailed' });
      at.expect(await at.storage('GET', path), { status: 200, body: 'a text\n' });
    },
  },
  'if-modified-since': {
    states: 'GetObject with If-Modified-Since after the last change returns 304 (rule 2)',
    run: async (at) => {
      const path = await at.need(makeObject);
      const since = new Date(at.now() + 200_000).toUTCString();
      at.expect(await at.storage('GET', path, { headers: { 'if-modified-since': since } }), { status: 304, empty: true });
    },
  },
  'put-if-modified-since': {
    states: 'PutObject with If-Modified-Since after the last change is rejected with 412 (rule 2)',
    run: async (at) => {
      const { path } = await makeText(at, 'if-modified');
      const since = new Date(at.now() + 200_000).toUTCString();
      at.expect(await putText(at, path, 'new', { 'if-modified-since': since }), { status: 412, code: 'PreconditionFailed' });
      at.expect(await at.storage('GET', path), { status: 200, body: 'a text\n' });
    },
  },
  'put-chunked': {
    states: 'PutObject accepts a body of unknown length and stores the received bytes (rule 3)',
    run: async (at) => {
      const path = `${await at.need(makeHome)}/chunked`;
      async function* body() {
        yield Buffer.from('one ');
        yield Buffer.from('two');
      }
      at.expect(await at.storage('PUT', path, { body: body(), headers: { 'max-content-length': '100' } }), { status: 204 });
      at.expect(await at.storage('GET', path), { status: 200, body: 'one two', headers: { 'content-length': /^7$/u } });
    },
  },
  'put-chunked-too-long': {
    states: 'A body of unknown length above max-content-length is rejected and not stored (rule 3)',
    operations: [storage.putObject],
    run: async (at) => {
      const path = `${await at.need(makeHome)}/too-long`;
      async function* body() {
        yield Buffer.alloc(64);
      }
      const response = await at.storage('PUT', path, { body: body(), headers: { 'max-content-length': '10' } });
      at.expect(response, { status: 413, code: 'MaxContentLengthExceeded' });
      at.expect(await at.storage('GET', path), { status: 404 });
    },
  },
  durability: {
    states: 'durability-level sets the number of copies (rule 4)',
    operations: [storage.putObject, storage.getObject],
    run: async (at) => {
      const { path } = await makeText(at, 'copies', 'x', { 'durability-level': '1' });
      at.expect(await at.storage('GET', path), { status: 200, headers: { 'durability-level': /^1$/u } });
    },
  },
  'durability-default': {
    states: 'An object has two copies by default (rule 4; section 8)',
    operations: [storage.putObject, storage.getObject],
    run: async (at) =>
      at.expect(await at.storage('GET', await at.need(makeObject)), { status: 200, headers: { 'durability-level': /^2$/u } }),
  },
  'cors-stored': {
    states: 'CORS headers are stored, and returned to a request from an allowed origin (rule 5)',
    operations: [storage.putObject, storage.getObject],
    run: async (at) => {
      const { path } = await makeText(at, 'cors', 'x', { 'access-control-allow-origin': 'https://a.example' });
      const response = await at.storage('GET', path, { headers: { origin: 'https://a.example' } });
      at.expect(response, { status: 200, headers: { 'access-control-allow-origin': /^https:\/\/a\.example$/u } });
    },
  },
  preflight: {
    states: 'A preflight request is checked against the list in access-control-allow-origin (rule 5)',
    operations: [storage.putObject],
    run: async (at) => {
      const stored = { 'access-control-allow-origin': 'https://a.example', 'access-control-allow-methods': 'GET, PUT' };
      const { path } = await makeText(at, 'preflight', 'x', stored);
      const headers = { origin: 'https://a.example', 'access-control-request-method': 'GET' };
      const wanted = { status: [200, 204], headers: { 'access-control-allow-origin': /^https:\/\/a\.example$/u } };
      at.expect(await at.storage('OPTIONS', path, { headers, isBare: true }), wanted);
    },
  },
  'delete-object': {
    states: 'DeleteObject returns 204, and the object no longer exists',
    run: async (at) => {
      const { path } = await makeText(at, 'deleted-object');
      at.expect(await at.storage('DELETE', path), { status: 204, empty: true });
      at.expect(await at.storage('GET', path), { status: 404, code: 'ResourceNotFound' });
    },
  },
  'get-missing': {
    states: 'A path that does not exist returns 404 ResourceNotFound (section 7)',
    operations: [storage.getObject],
    reads: true,
    run: async (at) => at.expect(await at.storage('GET', '~~/stor/conformance-of-nothing'), { status: 404, code: 'ResourceNotFound' }),
  },
});

export const namespace = section('storage', '1 What the service does', {
  nested: {
    states: 'Directories and objects can be nested below /:login/stor',
    operations: [storage.putDirectory, storage.putObject],
    run: async (at) => {
      const path = await makeDirectory(at, 'nested');
      const below = await makeDirectory(at, 'nested/below');
      at.expect(await putText(at, `${below}/x`), { status: 204 });
      at.expect(await at.storage('GET', `${path}/below/x`), { status: 200, body: 'a text\n' });
    },
  },
});
