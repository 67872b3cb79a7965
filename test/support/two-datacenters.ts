import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { writeRsaKeyFile } from './rsa-keys.ts';
import { useSandbox, type LocalInfo, type Sandbox } from './sandbox.ts';

/** Two local services that are datacenters of one cloud, `west` and `east`, each with a profile of its name and the same key. */
export interface TwoDatacenters extends Sandbox {
  readonly west: LocalInfo;
  readonly east: LocalInfo;
  stop(name: 'west' | 'east'): Promise<void>;
}

/** Two datacenters for a test file. */
export function useTwoDatacenters(): TwoDatacenters {
  const sandbox = useSandbox();
  const running: Partial<Record<'west' | 'east', LocalInfo>> = {};

  async function start(name: 'west' | 'east'): Promise<void> {
    const other = name === 'west' ? 'east' : 'west';
    const ports = ['--compute-port', '0', '--stor-port', '0'];
    const place = ['--data', name, '--profile', name, '--datacenter', name, '--peer', `${other}=${other}`];
    running[name] = await sandbox.json<LocalInfo>('local', 'start', '--http', '--public-key', '.ssh/id_rsa.pub', ...place, ...ports);
  }
  async function stop(name: 'west' | 'east'): Promise<void> {
    await sandbox.here(['local', 'stop', '--data', name]);
  }

  beforeAll(async () => {
    mkdirSync(join(sandbox.home, '.ssh'));
    writeRsaKeyFile(join(sandbox.home, '.ssh/id_rsa'), { comment: 'laptop' });
    // West learns the address of east, which is not asked for that of west.
    await start('east');
    await start('west');
  });
  afterAll(async () => {
    for (const name of ['west', 'east'] as const) await stop(name);
  });
  const infoOf = (name: 'west' | 'east'): LocalInfo => {
    const info = running[name];
    if (info === undefined) throw new Error(`${name} does not run`);
    return info;
  };
  return Object.defineProperties({ stop } as TwoDatacenters, {
    ...Object.getOwnPropertyDescriptors(sandbox),
    west: { get: () => infoOf('west') },
    east: { get: () => infoOf('east') },
  });
}
