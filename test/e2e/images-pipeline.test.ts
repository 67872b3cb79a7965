import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { killAtFault } from '../support/kill-at-fault.ts';
import { useTwoDatacenters } from '../support/two-datacenters.ts';

interface Step {
  step: string;
  outcome: string;
  id: string;
  dc?: string;
  path: string;
}

interface Image {
  id: string;
  version: string;
  state: string;
  files: { sha1: string; size: number }[];
}

const user = useTwoDatacenters();
const machine = '6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001';
const west = (...words: string[]): string[] => ['--profile', 'west', ...words];
const pipeline = (version: string, ...words: string[]): string[] => west('images', 'pipeline', machine, 'web', version, ...words);
const listIn = async (profile: string, version: string): Promise<Image[]> =>
  await user.json<Image[]>('--profile', profile, 'images', 'list', '--name', 'web', '--version', version, '--state', 'all');

/** The image is there once, in both datacenters, with a copy that is whole. */
async function expectWhole(version: string): Promise<void> {
  const [image, ...others] = await listIn('west', version);
  expect([version, image?.state, others]).toEqual([version, 'active', []]);
  expect((await listIn('east', version)).map(({ id, state }) => [id, state])).toEqual([[image?.id, 'active']]);
  const { bytes } = await user.here(west('stor', 'cat', `images/web-${version}.zfs.gz`));
  expect([bytes.length, createHash('sha1').update(bytes).digest('hex')]).toEqual([image?.files[0]?.size, image?.files[0]?.sha1]);
  const manifest = await user.here(west('stor', 'cat', `images/web-${version}.imgmanifest`));
  expect(JSON.parse(manifest.stdout)).toMatchObject({ uuid: image?.id, name: 'web', version });
  expect(await user.json('resume')).toEqual([]);
}

test('an instance becomes an image with a verified copy in two datacenters; what is there is not made again', async () => {
  const dry = await user.json<Step[]>(...pipeline('1.0.0', '--to', 'east', '--dry-run'));
  expect(dry.map(({ step, outcome }) => `${step} ${outcome}`)).toEqual(['create missing', 'export missing', 'import missing']);
  expect(await listIn('west', '1.0.0')).toEqual([]);
  const steps = await user.json<Step[]>(...pipeline('1.0.0', '--to', 'east', '--tag', 'role=web'));
  expect(steps.map(({ step }) => step)).toEqual(['create', 'wait', 'export', 'verify', 'import']);
  expect(new Set(steps.map(({ id }) => id)).size).toBe(1);
  expect(await user.json(...west('images', 'tags', 'get', 'web@1.0.0'))).toEqual({ role: 'web' });
  await expectWhole('1.0.0');
  const again = await user.here(pipeline('1.0.0', '--to', 'east'));
  expect([again.code, again.stdout]).toEqual([0, '']);
  expect(again.stderr).toContain(`create web@1.0.0: done before (${steps[0]?.id})\n`);
  expect(again.stderr).toContain('import web@1.0.0: done before (east)\n');
  await expectWhole('1.0.0');
});

test(
  'killed or interrupted in any step, cloud resume ends with the same state as one run, and with one image',
  { timeout: 240_000 },
  async () => {
    const moments = [
      ['1.1.0', ['createimagefrommachine', 'stall:0'], []],
      ['1.1.1', ['getimage', '503'], []],
      ['1.1.2', ['exportimage', 'stall:0'], []],
      ['1.1.3', ['getobject', 'stall:1'], []],
      ['1.1.4', ['getimage', '503'], ['--data', 'east']],
      ['1.1.5', ['createimagefrommachine', 'stall:0'], [], 'SIGINT'],
      ['1.1.6', ['exportimage', 'stall:0'], [], 'SIGINT'],
    ] as const;
    for (const [version, fault, data, signal] of moments) {
      await killAtFault(user, pipeline(version, '--to', 'east'), fault, data.length > 0 ? data : ['--data', 'west'], signal);
      expect(await user.json('resume')).toMatchObject([
        { kind: 'images', source: machine, target: `web@${version}`, state: 'interrupted' },
      ]);
      const resumed = await user.here(['resume', '--all']);
      expect([version, resumed.code, resumed.stderr]).toEqual([version, 0, expect.stringContaining(`import web@${version}: done (east)`)]);
      await expectWhole(version);
    }
  },
);

test('a copy that was damaged before the run goes on is found and made again', async () => {
  await killAtFault(user, pipeline('1.2.0', '--to', 'east'), ['getimage', '503'], ['--data', 'east']);
  const path = 'images/web-1.2.0.zfs.gz';
  const { bytes } = await user.here(west('stor', 'cat', path));
  const damaged = Buffer.from(bytes);
  damaged.writeUInt8(damaged.readUInt8(100) ^ 1, 100);
  await user.here(west('stor', 'put', user.write('damaged', damaged), path));
  const resumed = await user.here(['resume', '--all']);
  expect(resumed.stderr).toContain(`export web@1.2.0: done (/demo/stor/${path})`);
  await expectWhole('1.2.0');
});

test('a failed creation is explained, and what is no instance is refused before anything is sent', async () => {
  const failing = west('images', 'pipeline', machine.replace(/1$/, '3'), 'odd', '1.0.0');
  const failed = await user.here(failing);
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('could not be created')]);
  expect(await user.json('resume')).toEqual([]);
  const refused = await user.here(west('images', 'pipeline', 'web', 'web', '1'));
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('is not the UUID of an instance')]);
});
