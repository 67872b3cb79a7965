import { readdirSync, readFileSync } from 'node:fs';
import { get } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { readLiveMemory } from './collect-garbage.ts';
import type { LocalInfo } from './sandbox.ts';

/** What a process has: descriptors, and bytes of resident memory. */
export interface Load {
  readonly descriptors: number;
  readonly memory: number;
}

/** What a process has now. */
export function readLoad(pid: number): Load {
  const [, kibibytes = '0'] = /VmRSS:\s+(\d+) kB/u.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return { descriptors: readdirSync(`/proc/${pid}/fd`).length, memory: Number(kibibytes) * 1024 };
}

/** What a service has when nothing is left to collect; `live`: bytes of the objects and buffers that it refers to. */
export interface SettledLoad extends Load {
  readonly live: number;
}

/** Most that may be left of an attack. V8 and the allocator keep for later much of what has been freed. */
const most: Readonly<Record<keyof SettledLoad, number>> = { descriptors: 20, live: 25 * 1024 ** 2, memory: 150 * 1024 ** 2 };

export async function readSettledLoad(service: Pick<LocalInfo, 'pid' | 'dataDir'>): Promise<SettledLoad> {
  const live = await readLiveMemory(service);
  return { ...readLoad(service.pid), live };
}

/** Expects a service to have no more than before, when everything is collected. */
export async function expectLoadBack(service: Pick<LocalInfo, 'pid' | 'dataDir'>, before: SettledLoad): Promise<void> {
  const over = async (): Promise<string[]> => {
    const now = await readSettledLoad(service);
    const names = Object.keys(most) as (keyof SettledLoad)[];
    return names.filter((name) => now[name] > before[name] + most[name]).map((name) => `${name}: ${now[name]}, ${before[name]} before`);
  };
  await expect.poll(over, { timeout: 30_000, interval: 500 }).toEqual([]);
}

/** Milliseconds until the compute service at an address answers `/--ping`; Infinity when it does not within `limit`. */
export function ping(computeUrl: string, { localAddress = '127.0.0.1', limit = 5000 } = {}): Promise<number> {
  const started = performance.now();
  return new Promise((resolve) => {
    const options = { rejectUnauthorized: false, localAddress, agent: false, timeout: limit } as const;
    const request = get(`${computeUrl.replace('localhost', '127.0.0.1')}/--ping`, options, (response) => {
      response.resume();
      response.on('end', () => resolve(performance.now() - started));
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(Infinity));
  });
}

/** Milliseconds in which a service answers while it is attacked. */
const pingLimit = 1000;

/** Pings a service from now on. The function that is returned ends that, and gives the longest time in milliseconds. */
function keepPinging({ computeUrl }: Pick<LocalInfo, 'computeUrl'>): () => Promise<number> {
  const end = new AbortController();
  let longest = 0;
  const work = async (): Promise<void> => {
    while (!end.signal.aborted) {
      longest = Math.max(longest, await ping(computeUrl, { localAddress: '127.0.0.2', limit: 30_000 }));
      await sleep(50);
    }
  };
  const working = work();
  return async () => {
    end.abort();
    await working;
    return longest;
  };
}

/**
 * Expects a service to answer each ping within a second while it is attacked, and gives the longest time. The attack is made up to three
 * times: other work on this machine makes pings slow too, but not each time.
 */
export async function expectPings(service: Pick<LocalInfo, 'computeUrl'>, attack: () => Promise<void>): Promise<number> {
  let longest = Infinity;
  for (let round = 0; round < 3 && longest >= pingLimit; round += 1) {
    const stopPinging = keepPinging(service);
    let pinged = Infinity;
    try {
      await attack();
    } finally {
      pinged = await stopPinging();
    }
    longest = Math.min(longest, pinged);
  }
  expect(longest).toBeLessThan(pingLimit);
  return longest;
}
