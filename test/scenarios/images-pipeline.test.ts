import { expect, test } from 'vitest';
import { expectWholeImage, listImagesIn, machine, pipeline, west } from '../support/image-pipeline.ts';
import { killAtFault } from '../support/kill-at-fault.ts';
import { useTwoDatacenters } from '../support/two-datacenters.ts';

interface Step {
  step: string;
  outcome: string;
  id: string;
  dc?: string;
  path: string;
}

const user = useTwoDatacenters();

test('an instance becomes an image with a verified copy in two datacenters; what is there is not made again', async () => {
  const dry = await user.json<Step[]>(...pipeline('1.0.0', '--to', 'east', '--dry-run'));
  expect(dry.map(({ step, outcome }) => `${step} ${outcome}`)).toEqual(['create missing', 'export missing', 'import missing']);
  expect(await listImagesIn(user, 'west', '1.0.0')).toEqual([]);
  const steps = await user.json<Step[]>(...pipeline('1.0.0', '--to', 'east', '--tag', 'role=web'));
  expect(steps.map(({ step }) => step)).toEqual(['create', 'wait', 'export', 'verify', 'import']);
  expect(new Set(steps.map(({ id }) => id)).size).toBe(1);
  expect(await user.json(...west('images', 'tags', 'get', 'web@1.0.0'))).toEqual({ role: 'web' });
  await expectWholeImage(user, '1.0.0');
  const again = await user.here(pipeline('1.0.0', '--to', 'east'));
  expect([again.code, again.stdout]).toEqual([0, '']);
  expect(again.stderr).toContain(`create web@1.0.0: done earlier (${steps[0]?.id})\n`);
  expect(again.stderr).toContain('import web@1.0.0: done earlier (east)\n');
  await expectWholeImage(user, '1.0.0');
});

test('a dry run names the datacenters that the run imports into, not that of the image', async () => {
  const rehearse = async (to: string): Promise<string[]> =>
    (await user.json<Step[]>(...pipeline('1.3.0', '--to', to, '--dry-run')))
      .filter(({ step }) => step === 'import')
      .map(({ dc, outcome }) => `${dc} ${outcome}`);
  expect(await rehearse('all')).toEqual(['east missing', 'west-2 missing']);
  expect(await rehearse('west')).toEqual([]);
  const steps = await user.json<Step[]>(...pipeline('1.3.0', '--to', 'east,west'));
  expect(steps.filter(({ step }) => step === 'import').map(({ dc }) => dc)).toEqual(['east']);
  expect(await rehearse('all')).toEqual(['east present', 'west-2 missing']);
});

test.each([
  ['--to', 'nosuch'],
  ['--to', 'east', '--from', 'nosuch'],
])('an unknown datacenter is refused before anything is created: %s %s', async (...words) => {
  const refused = await user.here(pipeline('1.4.0', ...words));
  expect([refused.code, refused.stdout, refused.stderr]).toEqual([3, '', expect.stringContaining('datacenter "nosuch" does not exist')]);
  expect(await listImagesIn(user, 'west', '1.4.0')).toEqual([]);
  expect(await user.json('resume')).toEqual([]);
});

test('all steps are done although nobody reads the output any more', async () => {
  const line = pipeline('1.5.0', '--to', 'east', '-o', 'csv').join(' ');
  const piped = await user.shell(`set -o pipefail; cloud ${line} -q | true`);
  expect([piped.code, piped.stderr]).toEqual([0, '']);
  await expectWholeImage(user, '1.5.0');
});

test(
  'killed or interrupted in any step, cloud resume ends with the same state as one run, and with one image',
  { timeout: 240_000 },
  async () => {
    const moments = [
      ['1.1.0', 0, ['createimagefrommachine', 'stall:0'], []],
      ['1.1.1', 1, ['getimage', '503'], []],
      ['1.1.2', 2, ['exportimage', 'stall:0'], []],
      ['1.1.3', 3, ['getobject', 'stall:1'], []],
      ['1.1.4', 4, ['getimage', '503'], ['--data', 'east']],
      ['1.1.5', 0, ['createimagefrommachine', 'stall:0'], [], 'SIGINT'],
      ['1.1.6', 2, ['exportimage', 'stall:0'], [], 'SIGINT'],
    ] as const;
    for (const [version, done, fault, data, signal] of moments) {
      await killAtFault(user, pipeline(version, '--to', 'east'), fault, data.length > 0 ? data : ['--data', 'west'], signal);
      expect(await user.json('resume')).toMatchObject([
        { kind: 'images', source: machine, target: `web@${version}`, state: 'interrupted', done },
      ]);
      const resumed = await user.here(['resume', '--all']);
      expect([version, resumed.code, resumed.stderr]).toEqual([version, 0, expect.stringContaining(`import web@${version}: done (east)`)]);
      await expectWholeImage(user, version);
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
  await expectWholeImage(user, '1.2.0');
});

test('a failed creation is explained, and what is no instance is refused before anything is sent', async () => {
  const failing = west('images', 'pipeline', machine.replace(/1$/, '3'), 'odd', '1.0.0');
  const failed = await user.here(failing);
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('could not be created')]);
  expect(await user.json('resume')).toEqual([]);
  const refused = await user.here(west('images', 'pipeline', 'web', 'web', '1'));
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('is not the UUID of an instance')]);
});
