import { storage } from '../../../api/storage.ts';
import type { At } from '../at.ts';
import { section } from '../check.ts';
import { recordsOf, type Response } from '../response.ts';

const asDirectory = { 'content-type': 'application/json; type=directory' };

function putDirectory(at: At, path: string): Promise<Response> {
  return at.storage('PUT', path, { headers: asDirectory });
}

/** Creates the directory of the run. */
export async function makeHome(at: At): Promise<string> {
  const path = `/${at.account}/stor/${at.run}`;
  at.expect(await putDirectory(at, path), { status: 204 });
  return path;
}

/** Creates a directory below that of the run. */
export async function makeDirectory(at: At, name: string): Promise<string> {
  const path = `${await at.need(makeHome)}/${name}`;
  at.expect(await putDirectory(at, path), { status: 204 });
  return path;
}

export function putText(at: At, path: string, body = 'a text\n', headers: Record<string, string> = {}): Promise<Response> {
  return at.storage('PUT', path, { body, headers: { 'content-type': 'text/plain', ...headers } });
}

/** Names whose order by UTF-8 bytes differs from that by UTF-16 and from that by the rules of a language. */
const names = ['B', 'a', 'b', 'ä', '\uff5e', '\u{1f600}'];

async function makeListed(at: At): Promise<string> {
  const path = await makeDirectory(at, 'listed');
  for (const name of [...names].reverse()) at.expect(await putText(at, `${path}/${name}`), { status: 204 });
  at.expect(await putDirectory(at, `${path}/c`), { status: 204 });
  return path;
}

const all = [...names, 'c'].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
const namesOf = (response: Response): unknown[] => recordsOf(response).map(({ name }) => name);

export const directories = section('storage', '4 Directories', {
  'put-directory': {
    states: 'PutDirectory returns 204 without a body',
    run: async (at) => at.expect(await putDirectory(at, `/${at.account}/stor/${at.run}`), { status: 204, empty: true }),
  },
  'put-directory-again': {
    states: 'PutDirectory is idempotent and keeps the entries of the directory',
    run: async (at) => {
      const path = await makeDirectory(at, 'again');
      at.expect(await putText(at, `${path}/kept`), { status: 204 });
      at.expect(await putDirectory(at, path), { status: 204 });
      at.expect(await at.storage('GET', `${path}/kept`), { status: 200, body: 'a text\n' });
    },
  },
  'list-directory': {
    states: 'ListDirectory returns 200 with a stream of JSON records of the type directory',
    reads: true,
    run: async (at) => {
      const response = await at.storage('GET', '~~/stor');
      at.expect(response, { status: 200, headers: { 'content-type': /^application\/x-json-stream; ?type=directory$/u } });
      recordsOf(response);
    },
  },
  'list-size': {
    states: 'ListDirectory returns the total number of records in Result-Set-Size',
    run: async (at) => {
      const path = await at.need(makeListed);
      const response = await at.storage('GET', path, { query: { limit: 2 } });
      at.expect(response, { status: 200, headers: { 'result-set-size': new RegExp(`^${all.length}$`, 'u') } });
    },
  },
  'list-order': {
    states: 'ListDirectory is sorted by UTF-8 bytes',
    run: async (at) => {
      const found = namesOf(at.expect(await at.storage('GET', await at.need(makeListed)), { status: 200 }));
      at.assert(JSON.stringify(found) === JSON.stringify(all), `the order is ${found.join(' ')}`);
    },
  },
  'list-limit': {
    states: 'limit sets the maximum number of records in a page of ListDirectory',
    run: async (at) => {
      const found = namesOf(at.expect(await at.storage('GET', await at.need(makeListed), { query: { limit: 2 } }), { status: 200 }));
      at.assert(JSON.stringify(found) === JSON.stringify(all.slice(0, 2)), `limit=2 returns ${found.join(' ')}`);
    },
  },
  'list-marker': {
    states: 'marker is the name at which ListDirectory starts',
    run: async (at) => {
      const [, , third = ''] = all;
      const response = await at.storage('GET', await at.need(makeListed), { query: { marker: third } });
      const found = namesOf(at.expect(response, { status: 200 }));
      if (JSON.stringify(found) === JSON.stringify(all.slice(3))) at.decide('the marker itself is omitted');
      else at.assert(JSON.stringify(found) === JSON.stringify(all.slice(2)), `marker=${third} returns ${found.join(' ')}`);
    },
  },
  'delete-directory': {
    states: 'DeleteDirectory returns 204, and the directory no longer exists',
    run: async (at) => {
      const path = await makeDirectory(at, 'deleted');
      at.expect(await at.storage('DELETE', path), { status: 204, empty: true });
      at.expect(await at.storage('GET', path), { status: 404, code: 'ResourceNotFound' });
    },
  },
  'delete-directory-full': {
    states: 'DeleteDirectory is rejected unless the directory is empty',
    run: async (at) => {
      const path = await makeDirectory(at, 'full');
      at.expect(await putText(at, `${path}/kept`), { status: 204 });
      at.expect(await at.storage('DELETE', path), { status: [400, 409], code: 'DirectoryNotEmpty' });
      at.expect(await at.storage('GET', `${path}/kept`), { status: 200 });
    },
  },
});

export const entries = section('storage', '2 Directory entry', {
  'entry-object': {
    states: 'The record of an object has name, type, mtime, etag and size',
    operations: [storage.listDirectory],
    run: async (at) => {
      const record = recordsOf(await at.storage('GET', await at.need(makeListed))).find(({ name }) => name === 'a') ?? {};
      const { type, mtime, etag, size } = record;
      const isRight = type === 'object' && !Number.isNaN(Date.parse(String(mtime))) && typeof etag === 'string' && size === 7;
      at.assert(isRight, `the record of an object of 7 bytes is ${JSON.stringify(record)}`);
    },
  },
  'entry-directory': {
    states: 'The record of a directory has name, type and mtime, and neither etag nor size',
    operations: [storage.listDirectory],
    run: async (at) => {
      const record = recordsOf(await at.storage('GET', await at.need(makeListed))).find(({ name }) => name === 'c') ?? {};
      const { type, mtime, etag, size } = record;
      const isRight = type === 'directory' && !Number.isNaN(Date.parse(String(mtime))) && etag === undefined && size === undefined;
      at.assert(isRight, `the record of a directory is ${JSON.stringify(record)}`);
    },
  },
});
