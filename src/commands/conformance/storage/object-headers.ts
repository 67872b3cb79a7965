import { storage } from '../../../api/storage.ts';
import { section } from '../check.ts';
import { makeHome, putText } from './directories.ts';
import { makeObject, makeText } from './objects.ts';

export const headers = section('storage', '2 Object metadata headers', {
  'content-type-default': {
    states: 'The content type is application/octet-stream by default',
    operations: [storage.putObject, storage.getObject],
    run: async (at) => {
      const path = `${await at.need(makeHome)}/untyped`;
      at.expect(await at.storage('PUT', path, { body: 'x' }), { status: 204 });
      at.expect(await at.storage('GET', path), { status: 200, headers: { 'content-type': /^application\/octet-stream$/u } });
    },
  },
  'custom-headers': {
    states: 'Headers that begin with m- are stored and returned',
    operations: [storage.putObject, storage.getObject],
    run: async (at) => at.expect(await at.storage('GET', await at.need(makeObject)), { status: 200, headers: { 'm-colour': /^red$/u } }),
  },
  'headers-size': {
    states: 'Stored headers of more than 4 KB in total are rejected (section 8)',
    operations: [storage.putObject],
    run: async (at) => {
      const path = `${await at.need(makeHome)}/heavy`;
      const response = await putText(at, path, 'x', { 'm-one': 'a'.repeat(2500), 'm-two': 'b'.repeat(2500) });
      at.expect(response, { status: [400, 409, 413] }, { status: 204, decision: 'headers beyond 4 KB are silently dropped' });
    },
  },
});

export const metadata = section('storage', '4 PutMetadata', {
  'put-metadata': {
    states: 'PutMetadata returns 204, replaces all stored headers and keeps the data',
    run: async (at) => {
      const { path } = await makeText(at, 'metadata', 'data', { 'm-old': 'old' });
      async function* nothing(): AsyncGenerator<Uint8Array> {
        // Deployed services refuse Content-Length here; an empty stream is sent chunked.
      }
      const headers = { 'content-type': 'text/x-new', 'm-new': 'new' };
      at.expect(await at.storage('PUT', path, { query: { metadata: 'true' }, body: nothing(), headers }), { status: 204, empty: true });
      const response = await at.storage('GET', path);
      at.expect(response, { status: 200, body: 'data', headers: { 'content-type': /^text\/x-new$/u, 'm-new': /^new$/u } });
      at.assert(response.headers['m-old'] === undefined, 'the header m-old was not sent again but still exists');
    },
  },
});

export const seen = section('storage', '1 Common response headers', {
  'service-headers': {
    states: 'Responses carry x-request-id, x-response-time, x-server-name, Server and Date',
    reads: true,
    run: async (at) => {
      const wanted = ['x-request-id', 'x-response-time', 'x-server-name', 'server', 'date'];
      const response = await at.storage('GET', '~~/stor', { query: { limit: 1 } });
      const lacking = [...at.requests.seen.storage, response].flatMap(({ request, headers: has }) =>
        wanted.filter((name) => has[name] === undefined).map((name) => `${request} without ${name}`),
      );
      at.assert(lacking.length === 0, lacking.slice(0, 3).join('; '));
    },
  },
});
