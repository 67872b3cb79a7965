import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useSandbox, type LocalInfo } from '../support/sandbox.ts';

interface Shown {
  id: string;
  name: string;
  owner: string;
  state: string;
  published_at: string;
  files: { sha1: string }[];
}

const sandbox = useSandbox();
const { cloud } = sandbox;
const machine = '6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001';
const free = ['--compute-port', '0', '--stor-port', '0'];
let west: LocalInfo;
let east: LocalInfo;

/** A request to one of the two services, as JSON. */
async function ask<T>(profile: string, ...words: string[]): Promise<T> {
  const { stdout } = await cloud(['--profile', profile, 'api', ...words]);
  return JSON.parse(stdout) as T;
}

beforeAll(async () => {
  west = await sandbox.json<LocalInfo>('local', 'start', '--data', 'west', '--profile', 'west', ...free);
  east = await sandbox.json<LocalInfo>('local', 'start', '--data', 'east', '--profile', 'east', '--peer', 'west=west', ...free);
});
afterAll(async () => {
  for (const data of ['west', 'east']) await cloud(['local', 'stop', '--data', data]);
});

async function makeImage(): Promise<Shown> {
  const made = await ask<Shown>('west', 'POST', '/my/images', '-f', `machine=${machine}`, '-f', 'name=made', '-f', 'version=1');
  for (;;) {
    const now = await ask<Shown>('west', `/my/images/${made.id}`);
    if (now.state === 'active') return now;
  }
}

test('an image made in one local service is imported into another, file and all', async () => {
  expect(await ask('east', '/my/datacenters')).toMatchObject({ local: east.computeUrl, west: west.computeUrl });
  const made = await makeImage();
  const action = `/my/images?action=import-from-datacenter&datacenter=west&id=${made.id}`;
  const copy = await ask<Shown>('east', 'POST', action);
  expect(copy).toEqual({ ...made, owner: east.accountId });
  await ask('east', 'POST', `/my/images/${made.id}?action=export`, '-f', 'storage_path=/demo/stor/copy');
  const { bytes } = await cloud(['--profile', 'east', 'stor', 'cat', 'copy.zfs.gz']);
  expect(createHash('sha1').update(bytes).digest('hex')).toBe(made.files[0]?.sha1);
});

test('what is not there, or the operator has, is refused', async () => {
  const unknown = await cloud([
    '--profile',
    'east',
    'api',
    'POST',
    `/my/images?action=import-from-datacenter&datacenter=west&id=${machine}`,
  ]);
  expect([unknown.code, unknown.stderr]).toEqual([3, expect.stringContaining(`image ${machine} does not exist in west`)]);
});

test('images are given to those only who know the secret, which only the owner of the data can read', async () => {
  const file = join(west.dataDir, 'peer.secret');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const url = `${west.computeUrl}/--peer/images/04f66d5e-0a32-4af3-a1f9-3bd80f95f0e1`;
  const status = async (secret: string): Promise<string> =>
    (await sandbox.shell(`curl -s -o /dev/null -w '%{http_code}' --cacert ${west.caFile} -H 'peer-secret: ${secret}' ${url}`)).stdout;
  expect([await status('wrong'), await status(readFileSync(file, 'utf8'))]).toEqual(['403', '200']);
});

test('a service that is gone is named, and nothing is imported', async () => {
  const made = await makeImage();
  await cloud(['local', 'stop', '--data', 'west']);
  const path = `/my/images?action=import-from-datacenter&datacenter=west&id=${made.id}`;
  const { code, stderr } = await cloud(['--profile', 'east', '--retries', '0', 'api', 'POST', path]);
  expect([code, stderr]).toEqual([1, expect.stringContaining('datacenter west does not answer')]);
});
