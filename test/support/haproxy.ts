import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { balancerConfiguration } from '../../src/cli/guides/cluster-files.ts';
import { findPorts } from './free-ports.ts';
import { giveAway, requireProgram, unprivileged } from './unprivileged.ts';
import { areRequired } from './witnesses.ts';

/** haproxy as the guide to clusters has it, in front of gateways of a test. */
export interface Balancer {
  readonly computePort: number;
  readonly storPort: number;
  stop(): Promise<void>;
}

export const haproxy = '/usr/sbin/haproxy';

/** Whether it is absent, for `describe.skipIf`; where it is required, what needs it fails instead. */
export function lacksHaproxy(): boolean {
  return !areRequired && !existsSync(haproxy);
}

/** Milliseconds that a start may take. */
const timeoutMs = 30_000;

/** Ports of a gateway: compute service, object storage, admin port. */
export type GatewayPorts = readonly [compute: number, stor: number, admin: number];

/** The configuration of the guide with other ports and gateways. */
function writeConfiguration(compute: number, stor: number, gateways: readonly GatewayPorts[]): string {
  const listen = [compute, stor].flatMap((port, service) => [
    `listen service${service}`,
    `  bind 127.0.0.1:${port}`,
    ...gateways.map((ports, at) => `  server gateway${at + 1} 127.0.0.1:${ports[service]} port ${ports[2]}`),
  ]);
  const defaults = balancerConfiguration.slice(0, balancerConfiguration.indexOf('listen compute'));
  return `${[...defaults, ...listen].join('\n')}\n`;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => socket.destroy() && resolve(true));
    socket.once('error', () => resolve(false));
  });
}

/** Starts haproxy over gateways on the loopback that take the PROXY protocol from there. It ends with this process. */
export async function startHaproxy(gateways: readonly GatewayPorts[]): Promise<Balancer> {
  requireProgram(haproxy, 'haproxy');
  const folder = mkdtempSync(join(tmpdir(), 'cloud-haproxy-'));
  const computePort = await findPorts(2);
  const storPort = computePort + 1;
  writeFileSync(join(folder, 'haproxy.cfg'), writeConfiguration(computePort, storPort, gateways));
  giveAway(folder);
  const [program, ...words] = [...unprivileged, haproxy, '-db', '-f', join(folder, 'haproxy.cfg')];
  const child = spawn(program, words, { stdio: ['ignore', 'ignore', 'pipe'], cwd: folder });
  let said = '';
  child.stderr.on('data', (piece: Buffer) => (said += piece.toString()));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  for (const end = Date.now() + timeoutMs; !((await answers(computePort)) && (await answers(storPort)));) {
    if (child.exitCode !== null || Date.now() > end) throw new Error(`haproxy does not start: ${said}`);
    await sleep(20);
  }
  return {
    computePort,
    storPort,
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
