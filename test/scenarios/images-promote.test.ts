import { expect, test } from 'vitest';
import { killAtFault } from '../support/kill-at-fault.ts';
import { useTwoDatacenters } from '../support/two-datacenters.ts';

interface Image {
  id: string;
  name: string;
  version: string;
  state: string;
  origin?: string;
  published_at: string;
}

interface Promoted {
  dc: string;
  id: string;
  outcome: string;
}

const user = useTwoDatacenters();
const west = (...words: string[]): string[] => ['--profile', 'west', ...words];
const east = (...words: string[]): string[] => ['--profile', 'east', ...words];
/** The images that are built into the second datacenter of west: each is the origin of the next. */
const chain = [1, 2, 3].map((number) => `b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e000${number}`);

const listed = async (...words: string[]): Promise<Image[]> => await user.json<Image[]>(...words, 'images', 'list', '--state', 'all');

test('an image comes to another datacenter with all that it builds on, by the same ids; the second time nothing is done', async () => {
  await user.json(...west('images', 'import', 'west-2', chain[2] ?? ''));
  const dry = await user.json<Promoted[]>(...west('images', 'promote', 'inventory', '--to', 'east', '--dry-run'));
  expect(dry.map(({ dc, id, outcome }) => [dc, id, outcome])).toEqual(chain.map((id) => ['east', id, 'missing']));
  expect((await listed(...east())).filter(({ id }) => chain.includes(id))).toEqual([]);
  const said = await user.here(west('images', 'promote', 'inventory', '--to', 'east'));
  expect([said.code, said.stdout]).toEqual([0, '']);
  expect(said.stderr.split('\n').filter((line) => line.startsWith('east: Imported image'))).toHaveLength(3);
  const there = await listed(...east());
  for (const image of await listed(...west()))
    if (chain.includes(image.id)) expect(there).toContainEqual({ ...image, owner: expect.any(String) });
  const own = await user.here(west('images', 'promote', 'inventory', '--to', 'west'));
  expect([own.code, own.stderr]).toEqual([0, 'west has the image, and no other datacenter was given\n']);
  const again = await user.json<Promoted[]>(...west('images', 'promote', 'inventory', '--to', 'all', '--from', 'west', '--dry-run'));
  expect(again.map(({ dc, outcome }) => `${dc} ${outcome}`)).toEqual([
    ...Array(3).fill('east present'),
    ...Array(3).fill('west-2 present'),
  ]);
  expect(await user.json('resume')).toEqual([]);
});

test('killed while an image is imported, it goes on by cloud resume, and the chain is whole at the end', async () => {
  for (const id of chain.toReversed()) await user.json(...east('images', 'delete', id, '-y'));
  // The last of the chain is asked for again and again.
  await killAtFault(
    user,
    west('images', 'promote', 'inventory', '--to', 'east'),
    ['getimage', '503', '--path', `*/${chain[2]}`],
    ['--data', 'east'],
  );
  const partly = await listed(...east());
  expect(chain.map((id) => partly.some((image) => image.id === id))).toEqual([true, true, false]);
  const [left] = await user.json<{ kind: string; state: string; source: string; target: string }[]>('resume');
  expect(left).toMatchObject({ kind: 'images', state: 'interrupted', source: 'inventory@2.0.0', target: 'east' });
  const resumed = await user.here(['resume', '--all']);
  expect([resumed.code, resumed.stderr]).toEqual([0, expect.stringContaining('east: Imported image inventory@2.0.0')]);
  const there = await listed(...east());
  expect(chain.map((id) => there.find((image) => image.id === id)?.state)).toEqual(['active', 'active', 'active']);
  expect(await user.json('resume')).toEqual([]);
});

test('a datacenter that cannot be reached is named, the others get the image, and the rest stays to be gone on with', async () => {
  await user.here(['local', 'faults', 'add', 'getimage', 'close', '--data', 'east', '-q']);
  const { code, stdout, stderr } = await user.here(west('images', 'promote', 'inventory', '--to', 'west-2,east', '-j', '--retries', '0'));
  expect([code, (JSON.parse(stdout) as Promoted[]).map(({ dc }) => dc)]).toEqual([5, ['west-2', 'west-2', 'west-2']]);
  expect(stderr).toMatch(/"message":"east: .*1 of 2 datacenters failed.*cloud resume [0-9a-f]{8}/s);
  await user.here(['local', 'faults', 'clear', '--data', 'east', '-q']);
  expect((await user.here(['resume', '--all'])).code).toBe(0);
  expect(await user.json('resume')).toEqual([]);
});

test('what cannot be promoted is refused before anything is sent', async () => {
  for (const [words, code, reason] of [
    [['inventory'], 2, '--to is required'],
    [['inventory', '--to', 'nowhere'], 3, 'datacenter "nowhere" does not exist'],
    [['inventory', '--to', 'east', '--from', 'nowhere'], 3, 'datacenter "nowhere" does not exist'],
    [['nothing', '--to', 'east'], 3, 'image "nothing" does not exist'],
  ] as const) {
    const outcome = await user.here(west('images', 'promote', ...words));
    expect([words, outcome.code, outcome.stderr]).toEqual([words, code, expect.stringContaining(reason)]);
  }
  // An address that the list of datacenters does not have.
  const { hostname, port } = new URL(user.west.computeUrl);
  const url = `http://${hostname === 'localhost' ? '127.0.0.1' : 'localhost'}:${port}`;
  const unnamed = await user.here(west('--url', url, 'images', 'promote', 'inventory', '--to', 'east', '-n'));
  expect([unnamed.code, unnamed.stderr]).toEqual([
    2,
    expect.stringMatching(/no datacenter of the cloud has the URL .*\n.*--from NAME, one of east, west/),
  ]);
  expect((await user.here(west('--url', url, 'images', 'promote', 'inventory', '--to', 'east', '-n', '--from', 'west'))).code).toBe(0);
});
