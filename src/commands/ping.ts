import { compute } from '../api/compute.ts';
import { storage } from '../api/storage.ts';
import { command, type Context } from '../cli/command.ts';
import { createAttempts } from '../cli/attempts.ts';
import { readBounded, readError, readSkew } from '../client/response.ts';
import { buildRequest } from '../client/request.ts';
import type { HttpResponse } from '../api/message.ts';
import type { ApiError } from '../base/errors.ts';
import { readDatacenter } from '../lookup/served.ts';
import { records } from '../output/kinds.ts';

/** The response of one service. */
interface Pong {
  service: string;
  url: string;
  versions?: string[] | undefined;
  server: string | undefined;
  datacenter?: string | undefined;
  /** Seconds by which this machine's clock is ahead of the service. */
  skew: number | undefined;
  /** Milliseconds from sending the request to the response headers. */
  latency: number;
}

async function pingCompute({ compute: client, settings, world }: Context): Promise<Pong> {
  const started = world.now();
  const { headers, value } = await client.answer(compute.ping, {});
  return {
    service: 'compute',
    url: settings().url?.value ?? '',
    versions: value.cloudapi?.versions,
    server: headers['server'],
    datacenter: readDatacenter(headers),
    skew: readSkew({ headers }, world.now),
    latency: world.now() - started,
  };
}

/** Codes of responses to an accepted signature whose owner may not list the directory. */
const lacksPermission: readonly string[] = ['NoMatchingRoleTag', 'AuthorizationFailed'];

/** Lists one entry, because the object storage has no ping; its response tells that it is there, even if the caller may not list it. */
async function pingStorage({ storage: client, account, settings, world }: Context): Promise<Pong> {
  const started = world.now();
  const { target } = buildRequest(storage.listDirectory, { account, path: 'stor', limit: 1 });
  // The response to a HEAD request would not say why it is refused.
  const response = await client.request({ method: 'GET', target });
  const latency = world.now() - started;
  const url = settings().storUrl?.value ?? '';
  const error = await readRefusal(response, { url: new URL(target, url), now: world.now });
  if (error !== undefined && !lacksPermission.includes(error.code)) throw error;
  const { headers } = response;
  return { service: 'storage', url, server: headers['server'], skew: readSkew(response, world.now), latency };
}

/** The error in a response; undefined for a successful one, whose body is read to its end so that the connection can be reused. */
async function readRefusal(response: HttpResponse, origin: Parameters<typeof readError>[1]): Promise<ApiError | undefined> {
  if (response.status >= 400) return await readError(response, origin);
  await readBounded(response.body, 1024 * 1024, 'the service');
  return undefined;
}

export const ping = command({
  summary: 'Check that both services respond',
  description:
    'SKEW is the number of seconds by which the clock of this machine is ahead of the service. LATENCY is the response time in milliseconds.',
  run: async (invocation) => {
    const pings = [pingCompute, ...(invocation.settings().storUrl === undefined ? [] : [pingStorage])];
    const attempts = createAttempts(invocation, pings.length);
    const rows = await attempts.each(pings, (each) => each(invocation));
    if (rows.length === 0) attempts.finish();
    return records(rows, {
      columns: [
        'service',
        'url',
        'versions',
        'server',
        'datacenter',
        { key: 'skew', title: 'SKEW-S' },
        { key: 'latency', title: 'LATENCY-MS' },
      ],
      id: 'service',
    });
  },
  examples: [
    { line: 'cloud ping', help: 'Do my profile and key work?' },
    { line: 'cloud ping --profile work -j', help: 'Another profile, as JSON' },
  ],
});
