import { compute } from '../../src/api/compute.ts';
import type { Context } from '../../src/cli/command.ts';
import { createClient, type ComputeClient } from '../../src/client/client.ts';
import type { World } from '../../src/base/world.ts';
import { signHeaders, type TestService } from './service.ts';

/** A client of the compute service of a test, in this process and without a socket. */
export function createTestClient(service: TestService, now: () => number = Date.now): ComputeClient {
  const keyId = `/demo/keys/${service.key.fingerprint}`;
  return createClient(compute, {
    endpoint: {
      service: 'compute',
      url: new URL('https://compute.test'),
      authorize: async () => {
        const { date = '', authorization = '' } = signHeaders('compute', { key: service.key, keyId, date: new Date(now()).toUTCString() });
        return { date, authorization };
      },
      roles: [],
      apiVersion: '~9',
    },
    send: ({ method, url, headers, body }) =>
      service.handlers.compute(
        { method, target: url.pathname + url.search, headers: { host: url.host, ...headers }, ...(body !== undefined && { body }) },
        { remoteAddress: '127.0.0.1', secure: true },
      ),
    retry: { retries: 0, base: 1, most: 1, sleep: () => Promise.resolve(), random: Math.random },
    now,
  });
}

/** As much of a command's context as works with the compute service need. */
export function createTestContext(service: TestService, env: World['env'] = {}, now: () => number = Date.now): Context {
  const world = { env, now, interrupted: new AbortController().signal };
  return { compute: createTestClient(service, now), account: 'demo', world, settings: () => ({}) } as unknown as Context;
}
