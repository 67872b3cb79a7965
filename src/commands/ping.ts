import { compute } from '../api/compute.ts';
import { storage } from '../api/storage.ts';
import { command, type Context } from '../cli/command.ts';
import { createAttempts } from '../cli/attempts.ts';
import { readSkew } from '../client/response.ts';
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

async function pingStorage({ storage: client, account, settings, world }: Context): Promise<Pong> {
  const started = world.now();
  const { headers } = await client.answer(storage.listDirectory, { account, path: 'stor', limit: 1 }, { head: true });
  return {
    service: 'storage',
    url: settings().storUrl?.value ?? '',
    server: headers['server'],
    skew: readSkew({ headers }, world.now),
    latency: world.now() - started,
  };
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
