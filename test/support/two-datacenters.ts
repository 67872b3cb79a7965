import { afterAll, beforeAll } from 'vitest';
import { useSandbox, type LocalInfo, type Sandbox } from './sandbox.ts';

/** Two local services that are datacenters of one cloud, `west` and `east`, each with a profile of its name and the same key. */
export interface TwoDatacenters extends Sandbox {
  readonly west: LocalInfo;
  readonly east: LocalInfo;
  stop(name: 'west' | 'east'): Promise<void>;
  /** Starts it again, at the address that it had. */
  start(name: 'west' | 'east'): Promise<void>;
}

/** Two datacenters for a test file. */
export function useTwoDatacenters(): TwoDatacenters {
  const sandbox = useSandbox();
  const running: Partial<Record<'west' | 'east', LocalInfo>> = {};
  const portOf = (url: string | undefined): string => (url === undefined ? '0' : new URL(url).port);

  async function start(name: 'west' | 'east'): Promise<void> {
    const other = name === 'west' ? 'east' : 'west';
    const before = running[name];
    const ports = ['--compute-port', portOf(before?.computeUrl), '--stor-port', portOf(before?.storUrl)];
    const place = ['--data', name, '--profile', name, '--datacenter', name, '--peer', `${other}=${other}`];
    running[name] = await sandbox.json<LocalInfo>('local', 'start', '--http', '--public-key', '.ssh/id_rsa.pub', ...place, ...ports);
  }
  async function stop(name: 'west' | 'east'): Promise<void> {
    await sandbox.cloud(['local', 'stop', '--data', name]);
  }

  beforeAll(async () => {
    await sandbox.shell("mkdir -p .ssh && ssh-keygen -q -t rsa -b 2048 -C laptop -N '' -f .ssh/id_rsa");
    await start('east');
    // The one that is started first learns the address of the other by a second start.
    await start('west');
    await stop('east');
    await start('east');
  });
  afterAll(async () => {
    for (const name of ['west', 'east'] as const) await stop(name);
  });
  const infoOf = (name: 'west' | 'east'): LocalInfo => {
    const info = running[name];
    if (info === undefined) throw new Error(`${name} does not run`);
    return info;
  };
  return Object.defineProperties({ start, stop } as TwoDatacenters, {
    ...Object.getOwnPropertyDescriptors(sandbox),
    west: { get: () => infoOf('west') },
    east: { get: () => infoOf('east') },
  });
}
