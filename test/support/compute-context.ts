import { compute } from '../../src/api/compute.ts';
import { storage } from '../../src/api/storage.ts';
import type { Context } from '../../src/cli/command.ts';
import { createClient, type ClientOptions, type ComputeClient } from '../../src/client/client.ts';
import type { World } from '../../src/base/world.ts';
import { signHeaders, type TestService } from './service.ts';

function describeClient(service: TestService, name: 'compute' | 'storage', now: () => number): ClientOptions {
  const keyId = `/demo/keys/${service.key.fingerprint}`;
  return {
    endpoint: {
      service: name,
      url: new URL(`https://${name}.test`),
      authorize: async () => {
        const { date = '', authorization = '' } = signHeaders(name, { key: service.key, keyId, date: new Date(now()).toUTCString() });
        return { date, authorization };
      },
      roles: [],
      apiVersion: '~9',
    },
    send: ({ method, url, headers, body }) =>
      service.handlers[name](
        { method, target: url.pathname + url.search, headers: { host: url.host, ...headers }, ...(body !== undefined && { body }) },
        { remoteAddress: '127.0.0.1', secure: true },
      ),
    retry: { retries: 0, base: 1, most: 1, sleep: () => Promise.resolve(), random: Math.random },
    now,
  };
}

/** A client of the compute service of a test, in this process and without a socket. */
function createTestClient(service: TestService, now: () => number = Date.now): ComputeClient {
  return createClient(compute, describeClient(service, 'compute', now));
}

/** As much of a command's context as works on access needs: clients of both services. */
export function createTestContext(service: TestService, env: World['env'] = {}, now: () => number = Date.now): Context {
  const world = { env, now, interrupted: new AbortController().signal };
  const clients = { compute: createTestClient(service, now), storage: createClient(storage, describeClient(service, 'storage', now)) };
  return { ...clients, account: 'demo', world, settings: () => ({}) } as unknown as Context;
}
