import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { openStore } from '../../src/server/store/open.ts';
import { emptyImage } from '../../src/server/store/empty-image.ts';
import type { LocalInfo } from '../support/sandbox.ts';
import { useTwoDatacenters } from '../support/two-datacenters.ts';
import { assertWholeStore, waitForRemovals } from '../support/whole-store.ts';

/** Images when a service is killed in the middle of an import, an export or a clone, and an import of a file that the source does not have. */

interface Image {
  id: string;
  name: string;
  state: string;
}

const user = useTwoDatacenters();
const halfId = '6d1a3a4c-0000-4000-8000-0000000000aa';
/** Images that are built into the second datacenter of west: each is the origin of the next. */
const chain = [1, 2, 3].map((number) => `b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e000${number}`);
const west = (...words: string[]): string[] => ['--profile', 'west', ...words];
const dataDir = (name: string): string => join(user.home, name);

/** A datacenter that begins to send the file of an image, and does not go on. */
let asked = (): void => undefined;
const half = createServer(({ url = '' }, response: ServerResponse) => {
  const size = 1_000_000;
  if (url.endsWith('/file')) {
    response.writeHead(200, { 'content-length': size });
    response.write(Buffer.alloc(size / 2, 1), () => asked());
    return;
  }
  const files = JSON.stringify([{ compression: 'none', sha1: '0'.repeat(40), size }]);
  const image = { ...emptyImage, id: halfId, name: 'half', version: '1', os: 'linux', type: 'zvol', owner: halfId, public: 0 };
  response.end(JSON.stringify({ image: { ...image, state: 'active', content: 'x', files }, login: 'demo' }));
});
afterAll(() => half.close());

/** Starts a service again. */
async function start(name: string, ...words: string[]): Promise<LocalInfo> {
  const place = ['--data', name, '--profile', name, '--datacenter', name];
  return await user.json('local', 'start', '--http', ...place, ...words, '--compute-port', '0', '--stor-port', '0');
}

/** Sends a command, kills the service meanwhile, and starts it again. @param when resolves when to kill */
async function killDuring(words: readonly string[], when: Promise<unknown>): Promise<void> {
  const { pid } = await user.json<LocalInfo>('local', 'status', '--data', 'west');
  const working = user.here(west(...words, '--retries', '0'));
  await when;
  process.kill(pid, 'SIGKILL');
  await working;
  // Its locks are released with its descriptors.
  while (existsSync(`/proc/${pid}/fd/0`)) await sleep(5);
  await start('west', '--peer', 'half=half');
}

const listImages = async (): Promise<Image[]> =>
  (await user.json<Image[]>(...west('images', 'list', '--state', 'all'))).filter(({ name }) => name.startsWith('inventory'));

/** Asserts that each image has its whole file, which an export reads. */
async function assertFiles(images: readonly Image[]): Promise<void> {
  for (const { id, state } of images) {
    const { code, stderr } = await user.here(west('images', 'export', id, '/demo/stor/checked'));
    expect([id, state, code, stderr]).toEqual([
      id,
      expect.stringMatching(/^(?:active|disabled)$/u),
      0,
      expect.stringMatching(/^Exported/u),
    ]);
  }
}

test('a file that the source does not have is an error that names it, without a retry', async () => {
  await user.json('--profile', 'east', 'images', 'import', 'east-2', chain[0] ?? '');
  await user.stop('east');
  const store = await openStore(dataDir('east'));
  const { content } = await store.db
    .selectFrom('images')
    .select('content')
    .where('id', '=', chain[0] ?? '')
    .executeTakeFirstOrThrow();
  await store.bytes.remove(content ?? '');
  await store.close();
  await start('east');
  const { code, stderr } = await user.here(west('images', 'import', 'east', chain[0] ?? ''));
  expect([code, stderr]).toEqual([1, expect.stringContaining(`the file of image ${chain[0]} is missing or damaged in datacenter east`)]);
  expect(stderr).not.toContain('retrying');
});

test('a service that is killed while it imports, exports or clones has whole images or none, and no file too many', async () => {
  mkdirSync(dataDir('half'));
  await once(half.listen(0, '127.0.0.1'), 'listening');
  const { port } = half.address() as AddressInfo;
  writeFileSync(join(dataDir('half'), 'run.json'), JSON.stringify({ computeUrl: `http://127.0.0.1:${port}` }));
  writeFileSync(join(dataDir('half'), 'peer.secret'), 'secret');
  await user.stop('west');
  await start('west', '--peer', 'half=half');
  await killDuring(['images', 'import', 'half', halfId], new Promise<void>((done) => (asked = done)));
  expect((await user.here(west('images', 'get', halfId))).code).toBe(3);
  expect(readdirSync(join(dataDir('west'), 'tmp'))).toEqual([]);
  for (const pause of [20, 30, 45]) {
    await killDuring(['images', 'import', 'west-2', chain[2] ?? ''], sleep(2 * pause));
    // The image with its origins, or none of them.
    expect([0, 3]).toContain((await listImages()).length);
    await user.here(west('images', 'import', 'west-2', chain[2] ?? ''));
    await user.json(...west('images', 'share', chain[2] ?? '', user.west.accountId));
    await killDuring(['images', 'clone', chain[2] ?? ''], sleep(pause));
    const images = await listImages();
    expect([3, 6]).toContain(images.length);
    await assertFiles(images);
    await killDuring(['images', 'export', chain[2] ?? '', '/demo/stor/out'], sleep(pause));
    const { stdout } = await user.here(west('stor', 'find', '/demo/stor', '--name', 'out.*', '-o', 'name'));
    expect([0, 2]).toContain(stdout.split('\n').filter((line) => line !== '').length);
    await user.here(west('stor', 'rm', '-q', 'out.imgmanifest', 'out.zfs.gz'));
    // Images before their origins.
    for (let left = await listImages(); left.length > 0; left = await listImages())
      for (const { id } of left) await user.here(west('images', 'delete', id, '-y'));
  }
  await waitForRemovals(dataDir('west'));
  await user.stop('west');
  await assertWholeStore(dataDir('west'));
});
