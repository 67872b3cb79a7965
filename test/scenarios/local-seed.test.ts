import { describe, expect, it } from 'vitest';
import { useLocal } from '../support/sandbox.ts';

/** Objects, users and roles of a directory, or of an access document, are put into services. */

const user = useLocal('--add-account', 'other');
const access = `version: "1"
users:
  - login: ann
    email: ann@example.com
    password: $FIXTURE_PASSWORD
policies:
  - name: reading
    rules: [CAN getobject]
roles:
  - name: readers
    members: [ann]
    policies: [reading]
`;
user.write('fixtures/stor/reports/2024/June.txt', 'June');
user.write('fixtures/stor/empty', '');
user.write('fixtures/public/index.html', '<p>');
user.write('fixtures/access.yaml', access);
user.write('plain/a/b.txt', 'plain');
user.write('odd/stor/x', 'x');
user.write('odd/other/y', 'y');
Object.assign(user.env, { FIXTURE_PASSWORD: 'of-no-use-1' });
const read = async (path: string, ...words: string[]): Promise<string> => (await user.here([...words, 'stor', 'cat', path])).stdout;

describe('cloud local seed SOURCE', () => {
  it('puts in objects, users, policies and roles', async () => {
    expect(await user.here(['local', 'seed', 'fixtures'])).toMatchObject({ code: 0, stderr: 'Added fixtures\n' });
    expect(await read('reports/2024/June.txt')).toBe('June');
    expect(await read('~~/public/index.html')).toBe('<p>');
    expect(await user.json('roles', 'get', 'readers')).toMatchObject({ members: [{ login: 'ann' }], policies: [{ name: 'reading' }] });
  });

  it('puts a directory without any of these names into stor, for the account that is named', async () => {
    expect((await user.here(['local', 'seed', 'plain', '--account', 'other', '-q'])).code).toBe(0);
    expect(await read('a/b.txt', '--profile', 'local-other')).toBe('plain');
    expect((await user.here(['stor', 'cat', 'a/b.txt'])).code).not.toBe(0);
  });

  it('takes an access document alone', async () => {
    user.write('more.yaml', 'version: "1"\nusers:\n  - login: bob\n    email: bob@example.com\n    password: $FIXTURE_PASSWORD\n');
    expect((await user.here(['local', 'seed', 'more.yaml', '-q'])).code).toBe(0);
    expect((await user.json<{ login: string }[]>('users', 'list')).map(({ login }) => login).toSorted()).toEqual(['ann', 'bob']);
  });

  it.each([
    ['nowhere', 2, 'nowhere does not exist'],
    ['odd', 2, 'odd/other: only stor, public and access.yaml are allowed here'],
    ['broken.yaml', 1, 'the fixtures could not be added: '],
  ])('%s is refused with %i', async (source, code, problem) => {
    user.write('broken.yaml', 'version: "1"\nusers: 7\n');
    expect(await user.here(['local', 'seed', source])).toMatchObject({ code, stderr: expect.stringContaining(problem) as string });
  });

  it('names the account whose key the services do not have', async () => {
    expect(await user.here(['local', 'seed', 'plain', '--account', 'nobody'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('no key of the account nobody') as string,
    });
  });

  it('works on data at rest, does so again without harm, and with services of cloud local run, which may begin with it', async () => {
    expect((await user.here(['local', 'stop'])).code).toBe(0);
    user.write('fixtures/stor/empty', 'not empty any more');
    expect(await user.here(['local', 'seed', 'fixtures'])).toMatchObject({ code: 0, stderr: 'Added fixtures\n' });
    user.write('begin/first', ' begun ');
    const line = 'cloud local seed plain -q && cloud stor cat reports/2024/June.txt empty first a/b.txt && cloud roles get readers -j';
    const { code, stdout } = await user.cloud([
      'local',
      'run',
      '--data',
      user.local.dataDir,
      '--fixtures',
      'begin',
      '--',
      'sh',
      '-c',
      line,
    ]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Junenot empty any more begun plain\{/u)]);
    expect(JSON.parse(stdout.slice(stdout.indexOf('{')))).toMatchObject({ members: [{ login: 'ann' }], policies: [{ name: 'reading' }] });
  });
});
