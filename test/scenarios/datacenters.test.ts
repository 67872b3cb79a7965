import { expect, test } from 'vitest';
import { openTerminal } from '../support/terminal.ts';
import { useTwoDatacenters } from '../support/two-datacenters.ts';

type Row = Record<string, unknown> & { dc: string; name: string };

const user = useTwoDatacenters();
const west = (...words: string[]): string[] => ['--profile', 'west', ...words];

/** Each list that can ask several datacenters, and each command that shows single things. */
const reads = [
  'keys list',
  'keys get laptop',
  'users list',
  'roles list',
  'roles get dev',
  'policies list',
  'policies get reads',
  'packages list',
  'packages get g1-nano',
  'images list',
  'services list',
  'services get storage',
  'account limits',
];

test('every list and every record of several datacenters has the datacenter, in the order in which they were named', async () => {
  for (const profile of ['west', 'east'])
    for (const words of ['roles create dev', "policies create reads --rule 'CAN listkeys'"])
      await user.line(`cloud --profile ${profile} ${words}`);
  for (const line of reads) {
    const rows = await user.json<Row[]>(...west(...line.split(' '), '--dc', 'east,west'));
    const alone = await user.json<Row | Row[]>(...west(...line.split(' ')));
    const own = rows.filter(({ dc }) => dc === 'west');
    expect([line, own]).toEqual([line, [alone].flat().map((row) => Object.assign({}, row, { dc: 'west' }))]);
    const order = [...new Set(rows.map(({ dc }) => dc))];
    if (own.length > 0) expect([line, order]).toEqual([line, ['east', 'west']]);
  }
});

test('--dc all asks every datacenter; tables begin with it, JSON lines have it, and --columns knows it', async () => {
  const { stdout } = await user.here(west('datacenters', 'list', '-o', 'name'));
  const names = stdout.trim().split('\n');
  expect(names).toEqual(['east', 'west', 'west-2']);
  const table = await user.here(west('services', 'list', '--dc', 'all', '--columns', 'dc,name'));
  expect(table.stdout).toBe(
    `DC      NAME\n${names.flatMap((dc) => ['compute', 'storage'].map((name) => `${dc.padEnd(6)}  ${name}\n`)).join('')}`,
  );
  const lines = await user.here(west('services', 'get', 'storage', '--dc', 'all', '-o', 'jsonl'));
  const rows = lines.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);
  expect(rows.map(({ dc, name }) => [dc, name])).toEqual(names.map((dc) => [dc, 'storage']));
  expect((await user.here(west('services', 'list', '--dc', 'east'))).stdout).toMatch(/^DC +NAME +URL\neast +compute +\S+\neast +storage/);
});

test('what one datacenter does not have is named with it: exit code 5; when all fail, their own code', async () => {
  await user.line('cloud --profile east roles create only-east');
  const partly = await user.here(west('roles', 'get', 'only-east', '--dc', 'west,east', '--columns', 'dc,name'));
  expect([partly.code, partly.stdout]).toEqual([5, 'DC    NAME\neast  only-east\n']);
  expect(partly.stderr).toMatch(/west: .*"only-east" does not exist.*1 of 2 datacenters failed/s);
  const none = await user.here(west('roles', 'get', 'nobody', '--dc', 'west,east', '-H'));
  expect([none.code, none.stdout]).toEqual([3, '']);
  const unknown = await user.here(west('images', 'list', '--dc', 'west,esat'));
  expect([unknown.code, unknown.stdout, unknown.stderr]).toEqual([
    3,
    '',
    expect.stringContaining('datacenter "esat" does not exist\nhint: did you mean east?'),
  ]);
  expect((await user.here(west('images', 'list', '--dc', ','))).code).toBe(2);
});

test('a passphrase is asked for once for all datacenters', async () => {
  const line = `cp .ssh/id_rsa locked && ssh-keygen -q -p -a 1 -P '' -N secret -f locked && cp .ssh/id_rsa.pub locked.pub`;
  expect((await user.shell(line)).code).toBe(0);
  const session = openTerminal('cloud --profile west --key-file locked services list --dc all --columns dc,name', {
    env: user.env,
    cwd: user.home,
  });
  await session.until(/Passphrase of \S+: /);
  session.type('secret\r');
  const { code, text } = await session.end();
  expect([code, text.split('Passphrase').length]).toEqual([0, 2]);
  expect(text).toMatch(/east +compute[\s\S]*west-2 +storage/);
});

test('a datacenter that cannot be reached is named, and the others are shown', async () => {
  await user.stop('east');
  const { code, stdout, stderr } = await user.here(west('services', 'list', '--dc', 'all', '--columns', 'dc,name', '-H', '--retries', '0'));
  expect([code, stdout]).toEqual([5, 'west    compute\nwest    storage\nwest-2  compute\nwest-2  storage\n']);
  expect(stderr).toMatch(/east: .*\n.*1 of 3 datacenters failed/s);
});

test('a hint names the profile and the datacenter that the command asked', async () => {
  const { stderr } = await user.here(west('keys', 'get', 'nothere', '--dc', 'west'));
  expect(stderr).toContain('\nhint: cloud --profile west keys list --dc west\n');
});

test('-o name of a datacenter or a service prints its name', async () => {
  for (const words of [
    ['datacenters', 'get', 'east'],
    ['services', 'get', 'storage'],
  ])
    expect((await user.here(west(...words, '-o', 'name'))).stdout).toBe(`${words[2]}\n`);
});
