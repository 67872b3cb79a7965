import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { endLocal } from '../support/end-service.ts';
import { createSandbox, type LocalInfo, type Sandbox } from '../support/sandbox.ts';

/** Services with data of their own have profiles of their own. */

let user: Sandbox;
let remove: () => void;
let started: LocalInfo[] = [];

beforeEach(() => {
  ({ sandbox: user, remove } = createSandbox());
});
afterEach(async () => {
  for (const { dataDir } of started) await endLocal(user.home, dataDir);
  started = [];
  remove();
});

async function start(...words: string[]): Promise<LocalInfo> {
  const info = await user.json<LocalInfo>('local', 'start', '--compute-port', '0', '--stor-port', '0', '--empty', ...words);
  started.push(info);
  return info;
}

const urlOf = async (profile: string): Promise<string | undefined> => (await user.json<{ url?: string }>('profile', 'get', profile)).url;

describe('profiles of local start', () => {
  it('of a second data directory leave those of the first alone, also with accounts, and are kept with the data', async () => {
    const first = await start('--add-account', 'other');
    const second = await start('--data', 'data', '--add-account', 'other');
    expect([first.profile, second.profile, second.accounts?.[0]?.profile]).toEqual(['local', 'local-2', 'local-2-other']);
    expect([await urlOf('local'), await urlOf('local-2')]).toEqual([first.computeUrl, second.computeUrl]);
    await endLocal(user.home, first.dataDir);
    await endLocal(user.home, second.dataDir);
    const again = await start('--data', 'data', '--add-account', 'other');
    expect([again.profile, await urlOf('local-2'), await urlOf('local')]).toEqual(['local-2', again.computeUrl, first.computeUrl]);
    const asked = await start('--data', 'data', '--profile', 'mine');
    expect(asked.profile).toBe('mine');
    await endLocal(user.home, asked.dataDir);
    expect((await start('--data', 'data')).profile).toBe('mine');
  });

  it('of added accounts follow the service to other ports, also when a later start does not name them', async () => {
    const first = await start('--add-account', 'other');
    await endLocal(user.home, first.dataDir);
    const again = await start();
    expect([await urlOf('local-other'), again.accounts]).toEqual([again.computeUrl, undefined]);
    expect((await user.here(['keys', 'list', '--profile', 'local-other'])).code).toBe(0);
  });

  it('are free again when the data is gone', async () => {
    const first = await start('--data', 'gone');
    expect(first.profile).toBe('local');
    await endLocal(user.home, first.dataDir);
    rmSync(first.dataDir, { recursive: true });
    expect((await start('--data', 'next')).profile).toBe('local');
  });

  it('that cannot be written leave no service running', async () => {
    user.write('.config/cloud/profiles', '');
    const { code } = await user.here(['local', 'start', '--compute-port', '0', '--stor-port', '0', '--empty']);
    expect([code, await user.json('local', 'status')]).toEqual([1, expect.objectContaining({ running: false })]);
  });

  it('of two starts at the same time are those of one service', async () => {
    const words = ['local', 'start', '--compute-port', '0', '--stor-port', '0', '--data', 'both', '-j'];
    const outcomes = await Promise.all([user.cloud(words), user.cloud(words), user.cloud(words)]);
    const infos = outcomes.map(({ stdout }) => JSON.parse(stdout || '{}') as LocalInfo);
    started.push(...infos.slice(0, 1));
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(new Set(infos.map(({ pid }) => pid)).size).toBe(1);
    expect(outcomes.filter(({ stderr }) => stderr.includes('Already running'))).toHaveLength(2);
    expect(statSync(join(user.home, 'both/profile.json')).mode & 0o077).toBe(0);
  });
});
