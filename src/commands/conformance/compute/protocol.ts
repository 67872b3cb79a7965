import { readingSection, section } from '../check.ts';
import { Skip } from '../outcome.ts';
import { md5Of, objectOf, type Response } from '../response.ts';
import type { At } from '../at.ts';

/** Checks of every response, and of the ways to send parameters (section 1). */

function assertAll(at: At, find: (response: Response) => string | undefined): void {
  const found = at.requests.seen.compute.flatMap((response) => {
    const wrong = find(response);
    return wrong === undefined ? [] : [`${response.request} (${response.status}): ${wrong}`];
  });
  at.assert(found.length === 0, found.slice(0, 3).join('; '));
}

async function createRoleBy(at: At, suffix: string, given: { query?: object; type?: string; body?: string }): Promise<void> {
  const { query = {}, type, body } = given;
  const headers = type === undefined ? {} : { 'content-type': type };
  const sent = { query: { ...query }, headers, ...(body !== undefined && { body }) };
  const response = at.expect(await at.compute('POST', '/my/roles', sent), { status: 201 });
  at.assert(objectOf(response)['name'] === `${at.run}-${suffix}`, `the name is ${String(objectOf(response)['name'])}`);
}

export const parameters = section('compute', '1 Common rules', {
  tls: {
    states: 'Every request must use TLS (rule 1)',
    reads: true,
    run: async (at) => {
      if (at.requests.urls.compute?.protocol === 'http:') throw new Skip('the profile uses plain HTTP');
      const sending = at.compute('GET', '/--ping', { isPlain: true });
      const response = await sending.catch(() => undefined);
      at.assert(response === undefined || response.status >= 300, `plain HTTP returns ${response?.status ?? 0}`);
    },
  },
  'parameters-query': {
    states: 'Parameters may be sent as a query string (rule 2)',
    run: (at) => createRoleBy(at, 'q', { query: { name: `${at.run}-q` } }),
  },
  'parameters-form': {
    states: 'Parameters may be sent as application/x-www-form-urlencoded (rule 2)',
    run: (at) => createRoleBy(at, 'f', { type: 'application/x-www-form-urlencoded', body: `name=${at.run}-f` }),
  },
  'parameters-multipart': {
    states: 'Parameters may be sent as multipart/form-data (rule 2)',
    run: (at) => {
      const body = `--edge\r\ncontent-disposition: form-data; name="name"\r\n\r\n${at.run}-m\r\n--edge--\r\n`;
      return createRoleBy(at, 'm', { type: 'multipart/form-data; boundary=edge', body });
    },
  },
  'parameters-json': {
    states: 'Parameters may be sent as application/json (rule 2)',
    run: (at) => createRoleBy(at, 'j', { type: 'application/json', body: JSON.stringify({ name: `${at.run}-j` }) }),
  },
  accept: {
    states: 'Responses are JSON only: a request that does not accept JSON returns 406 (rule 3; section 7)',
    reads: true,
    run: async (at) => at.expect(await at.compute('GET', '/my', { headers: { accept: 'image/png' } }), { status: 406 }),
  },
  my: {
    states: 'my stands for the login of the caller in paths (rule 4)',
    reads: true,
    run: async (at) => {
      const [one, other] = [await at.compute('GET', '/my'), await at.compute('GET', `/${at.account}`)];
      at.assert(
        objectOf(at.expect(one, { status: 200 }))['id'] === objectOf(at.expect(other, { status: 200 }))['id'],
        'the responses have different accounts',
      );
    },
  },
});

export const seen = readingSection('compute', '1 Every response', {
  date: {
    states: 'Every response carries Date (RFC 1123), Api-Version, Request-Id and Response-Time in milliseconds (rule 5)',
    run: async (at) => {
      await at.compute('GET', '/--ping');
      assertAll(at, ({ headers }) => {
        if (!/^\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT$/u.test(headers['date'] ?? '')) return 'Date';
        if (!/^\d+\.\d+\.\d+$/u.test(headers['api-version'] ?? '')) return 'Api-Version';
        return /^\d+$/u.test(headers['response-time'] ?? '') ? undefined : 'Response-Time';
      });
    },
  },
  'request-id': {
    states: 'Request-Id is unique (rule 5)',
    run: async (at) => {
      const responses = [await at.compute('GET', '/--ping'), await at.compute('GET', '/--ping'), ...at.requests.seen.compute];
      const ids = new Set(responses.map(({ headers }) => headers['request-id']));
      // `seen` includes the two responses of this check.
      at.assert(!ids.has(undefined) && ids.size === at.requests.seen.compute.length, 'an id is missing or repeated');
    },
  },
  'content-md5': {
    states: 'Responses with a body carry Content-Length, Content-Type and Content-MD5, which is that of the body (rule 5)',
    run: async (at) => {
      await at.compute('GET', '/--ping');
      assertAll(at, ({ headers, body }) => {
        if (body.length === 0) return undefined;
        if (headers['content-length'] !== String(body.length)) return `Content-Length ${headers['content-length'] ?? 'absent'}`;
        if (!(headers['content-type'] ?? '').startsWith('application/json')) return `Content-Type ${headers['content-type'] ?? 'absent'}`;
        return headers['content-md5'] === md5Of(body) ? undefined : `Content-MD5 ${headers['content-md5'] ?? 'absent'}`;
      });
    },
  },
  server: {
    states: 'Server is <service_name>/<major>.<minor>.<patch> (rule 5; section 9)',
    run: async (at) => {
      await at.compute('GET', '/--ping');
      assertAll(at, ({ headers }) =>
        /^[^/]+\/\d+\.\d+\.\d+$/u.test(headers['server'] ?? '') ? undefined : `Server ${headers['server'] ?? 'absent'}`,
      );
    },
  },
  'datacenter-name': {
    states: 'Responses carry Cloud-Datacenter-Name since 9.2.0 (rule 5)',
    run: async (at) => {
      const { headers } = await at.compute('GET', '/--ping');
      if (headers['cloud-datacenter-name'] === undefined && headers['triton-datacenter-name'] !== undefined)
        at.decide('the header is Triton-Datacenter-Name');
      else assertAll(at, (response) => (response.headers['cloud-datacenter-name'] === undefined ? 'no Cloud-Datacenter-Name' : undefined));
    },
  },
});

export const ping = readingSection('compute', '4 Ping', {
  'ping-pong': {
    states: 'Ping returns 200 with ping "pong" and the list of versions, with Api-Version and Server',
    run: async (at) => {
      const response = at.expect(await at.compute('GET', '/--ping'), { status: 200, headers: { 'api-version': /./u, server: /./u } });
      const { ping: pong, ...rest } = objectOf(response);
      const [service] = Object.values(rest) as { versions?: unknown }[];
      at.assert(pong === 'pong' && Array.isArray(service?.versions) && service.versions.length > 0, response.body.toString());
    },
  },
});

export const versions = readingSection('compute', '9 Versioning', {
  'version-ranges': {
    states: 'Accept-Version accepts ranges: ~8, an exact version, ~8||~7, * (rule 2)',
    run: async (at) => {
      const { headers } = at.expect(await at.compute('GET', '/--ping', { headers: { 'accept-version': '*' } }), { status: 200 });
      for (const range of ['~8', headers['api-version'] ?? '', '~8||~7', '*'])
        at.expect(await at.compute('GET', '/my', { headers: { 'accept-version': range } }), { status: 200 });
    },
  },
  'version-chosen': {
    states: 'Api-Version is a version of the range (rule 2)',
    run: async (at) =>
      at.expect(await at.compute('GET', '/my', { headers: { 'accept-version': '~8' } }), {
        status: 200,
        headers: { 'api-version': /^8\./u },
      }),
  },
  'version-invalid': {
    states: 'An invalid range returns 449 InvalidVersion (rule 2)',
    run: async (at) => {
      for (const range of ['~1', 'latest please'])
        at.expect(
          await at.compute('GET', '/my', { headers: { 'accept-version': range } }),
          { status: 449, code: 'InvalidVersion' },
          { status: 400, code: 'InvalidVersion', decision: 'the status of InvalidVersion is 400' },
        );
    },
  },
});

export const errors = section('compute', '7 Errors', {
  'not-found': {
    states: 'An unknown path returns 404 ResourceNotFound, with a body of code and message',
    reads: true,
    run: async (at) => {
      const response = at.expect(await at.compute('GET', '/my/conformance-of-nothing'), { status: 404, code: 'ResourceNotFound' });
      at.assert(typeof objectOf(response)['message'] === 'string', 'the response has no message');
    },
  },
  method: {
    states: 'An unsupported method returns 405',
    run: async (at) => at.expect(await at.compute('DELETE', '/my/packages'), { status: 405 }),
  },
  'bad-json': {
    states: 'A body that does not match its content type returns 400',
    run: async (at) => {
      const headers = { 'content-type': 'application/json' };
      at.expect(await at.compute('POST', '/my/roles', { body: '{"name":', headers }), { status: 400 });
    },
  },
  'too-large': {
    states: 'Too much data returns 413 RequestTooLarge',
    run: async (at) => {
      const response = await at.compute('POST', '/my/roles', { json: { name: 'x'.repeat(3 * 1024 * 1024) } });
      at.expect(response, { status: 413, code: ['RequestTooLarge', 'RequestEntityTooLarge'] });
    },
  },
  encoding: {
    states: 'An unsupported content type returns 415',
    run: async (at) => {
      const headers = { 'content-type': 'image/png' };
      at.expect(await at.compute('POST', '/my/roles', { body: 'x', headers }), { status: 415 });
    },
  },
});
