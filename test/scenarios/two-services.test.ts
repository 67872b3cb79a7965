import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { useTwoServices } from '../support/two-services.ts';

/** Objects go from one service to another with everything that is stored with them. */

const user = useTwoServices();
const run = (...words: string[]) => user.here(['stor', ...words]);

/** What is stored of each object, by its path below a directory, and which names are links of each other. */
async function describeTree(profile: string, directory: string): Promise<Record<string, unknown>> {
  const { stdout } = await run('find', directory, '--type', 'object', '-0', '--profile', profile);
  const paths = stdout
    .split('\0')
    .filter((path) => path !== '')
    .toSorted();
  const rows = await user.json<Record<string, unknown>[]>(
    'stor',
    'stat',
    '--literal',
    '--profile',
    profile,
    '--columns',
    'all',
    ...paths,
    paths[0] ?? '',
  );
  const first = new Map<unknown, number>();
  return Object.fromEntries(
    rows.map(({ path, etag, ...rest }, at) => {
      if (!first.has(etag)) first.set(etag, at);
      return [String(path).replace(`/demo/stor/${directory}/`, ''), { ...rest, mtime: undefined, link: first.get(etag) }];
    }),
  );
}

beforeAll(async () => {
  mkdirSync(join(user.home, 'tree/sub'), { recursive: true });
  for (const name of ['a.txt', 'b.html', 'sub/c.bin', 'sub/empty'])
    writeFileSync(join(user.home, 'tree', name), name.endsWith('empty') ? '' : name);
  // Whole seconds go through a file exactly on every Node.js: what is linked anew may have the time of either file.
  utimesSync(join(user.home, 'tree/a.txt'), 1_700_000_000, 1_700_000_000);
  await user.line(`cloud stor put -rq tree tree
    cloud stor put -q tree/a.txt tree/typed --type text/x-own -m color='grün' --header 'access-control-allow-origin: https://a.example' --header 'cache-control: max-age=60' --copies 3
    cloud stor ln -q tree/typed tree/sub/linked; cloud stor ln -q tree/typed tree/sub/other; cloud stor meta set tree/sub/other mark=2 -q`);
});

describe('PROFILE/stor:PATH', () => {
  it('sync brings a tree over with types, headers, copies and links, and the second time nothing', async () => {
    const first = await run('sync', 'local/stor:tree', 'far/stor:tree', '-j');
    expect(first).toMatchObject({ code: 0 });
    const wanted = await describeTree('local', 'tree');
    expect(Object.keys(wanted)).toHaveLength(7);
    expect(await describeTree('far', 'tree')).toEqual(wanted);
    expect(wanted['typed']).toMatchObject({
      contentType: 'text/x-own',
      durability: 3,
      'm-color': 'grün',
      'access-control-allow-origin': 'https://a.example',
    });
    expect((await run('sync', 'local/stor:tree', 'far/stor:tree', '-j')).stdout).toBe('[]\n');
    expect((await run('diff', 'stor:tree', 'far/stor:tree', '-o', 'name')).stdout).toBe('');
  });

  it('takes preferences from the environment, and nothing else', async () => {
    await run('mkdir', 'spare', '--profile', 'far');
    const diff = (env: Record<string, string>) => user.here(['stor', 'diff', 'far/stor:tree', 'far/stor:spare'], { env });
    const { code, stdout } = await diff({});
    expect(await diff({ CLOUD_STOR_URL: 'http://127.0.0.1:1', CLOUD_USER: 'stranger' })).toMatchObject({ code, stdout });
    expect(await diff({ CLOUD_TIMEOUT: 'odd' })).toMatchObject({ code: 2, stderr: expect.stringContaining('CLOUD_TIMEOUT') as string });
  });

  it('goes back, finds what changed, and deletes when asked', async () => {
    await user.line('echo new | cloud stor put -q - tree/a.txt --profile far; cloud stor rm -yq tree/b.html --profile far');
    const { stdout } = await run('diff', 'far/stor:tree', 'stor:tree', '-o', 'name');
    expect(stdout).toBe('a.txt\nb.html\n');
    expect(await run('sync', 'far/stor:tree', 'stor:tree', '--delete', '--yes')).toMatchObject({ code: 0 });
    expect(await describeTree('local', 'tree')).toEqual(await describeTree('far', 'tree'));
    expect((await run('cat', 'tree/a.txt')).stdout).toBe('new\n');
  });

  it('sync and diff take it beside a local directory, whatever profile is in use', async () => {
    expect(await run('sync', 'far/stor:tree', 'down', '--profile', 'local')).toMatchObject({ code: 0 });
    expect(readdirSync(join(user.home, 'down')).toSorted()).toEqual(['a.txt', 'sub', 'typed']);
    expect(
      (await user.here(['stor', 'diff', 'down', 'far/stor:tree', '--exit-code'], { env: { CLOUD_STOR_URL: user.local.storUrl } })).code,
    ).toBe(0);
  });

  it('cp -r copies a tree or an object to another service, into a directory that is there', async () => {
    await run('mkdir', 'into', '--profile', 'far');
    expect(await run('cp', '-r', 'local/stor:tree', 'far/stor:into')).toMatchObject({ code: 0 });
    expect(await describeTree('far', 'into/tree')).toEqual(await describeTree('local', 'tree'));
    expect(await run('cp', '-r', 'stor:tree', 'far/stor:whole')).toMatchObject({ code: 0 });
    expect(await describeTree('far', 'whole')).toEqual(await describeTree('local', 'tree'));
    expect(await run('cp', 'local/stor:tree/typed', 'far/stor:one')).toMatchObject({ code: 0 });
    expect(await user.json('stor', 'stat', 'one', '--profile', 'far', '--columns', 'contentType')).toEqual({ contentType: 'text/x-own' });
    expect((await run('cp', 'local/stor:tree', 'far/stor:x')).code).toBe(2);
  });

  it('cp takes it beside a local path, as sync does, and mv refuses it', async () => {
    expect(await run('cp', 'tree/a.txt', 'far/stor:from-here')).toMatchObject({ code: 0 });
    expect((await run('cp', 'far/stor:from-here', '-')).stdout).toBe('a.txt');
    expect(await run('cp', '-r', 'far/stor:tree/sub', 'copied-down')).toMatchObject({ code: 0 });
    expect(readdirSync(join(user.home, 'copied-down')).toSorted()).toEqual(['c.bin', 'empty', 'linked', 'other']);
    expect(await run('cp', 'far/stor:from-here', 'stor:tree/typed', 'copied-down')).toMatchObject({ code: 2 });
    const moved = await run('mv', 'far/stor:from-here', 'moved');
    expect(moved.code).toBe(2);
    expect(moved.stderr).toContain('far/stor:from-here is a path of the profile far, which only cp, sync and diff accept');
  });

  it.each([
    ['an object', 'several/0', 'copied', 'copied'],
    ['a tree', 'several', 'copies', 'copies/9'],
  ])('a resumed cp of %s replaces nothing that others wrote since it was interrupted', async (_, from, to, taken) => {
    mkdirSync(join(user.home, 'several'), { recursive: true });
    for (let name = 0; name < 10; name += 1) writeFileSync(join(user.home, `several/${name}`), randomBytes(name === 0 ? 20_000_000 : 1000));
    await run('put', '-rqT', 'several', 'several');
    const copy = `cloud stor cp -r stor:${from} far/stor:${to} --bwlimit 5M -P 1 & sleep 1`;
    await user.shell(`${copy}; until cloud resume -o name | grep -q .; do sleep 0.1; done; kill $!; wait`);
    expect((await user.here(['stor', 'put', '-', taken, '-q', '--profile', 'far'], { input: 'of others' })).code).toBe(0);
    const { code, stderr } = await user.here(['resume', '--all']);
    expect(code).not.toBe(0);
    expect(stderr).toContain(`/demo/stor/${taken} was created or changed after the interrupted run began: left alone`);
    expect((await run('cat', taken, '--profile', 'far')).stdout).toBe('of others');
    expect(await user.json('resume')).toEqual([]);
    if (from === 'several') expect(Object.keys(await describeTree('far', to))).toHaveLength(10);
  });

  it('a plan names its services: it is done once, whatever profile is in use, and not at all when its ground has changed', async () => {
    expect(await run('sync', 'local/stor:tree', 'far/stor:planned', '--plan', 'plan.jsonl')).toMatchObject({ code: 0 });
    const [head = ''] = readFileSync(join(user.home, 'plan.jsonl'), 'utf8').split('\n');
    expect(JSON.parse(head)).toMatchObject({ from: 'local/stor:/demo/stor/tree', to: 'far/stor:/demo/stor/planned' });
    expect((await run('ls', 'planned', '--profile', 'far')).code).toBe(3);
    expect(await run('run', '-q', 'plan.jsonl', '--profile', 'far')).toMatchObject({ code: 0, stderr: '' });
    expect(await describeTree('far', 'planned')).toEqual(await describeTree('local', 'tree'));
    expect(await run('run', 'plan.jsonl')).toMatchObject({ code: 0 });
    expect(await describeTree('far', 'planned')).toEqual(await describeTree('local', 'tree'));
    await user.line(
      'echo other | cloud stor put -q - planned/a.txt --profile far; echo own | cloud stor put -q - planned/typed --profile far',
    );
    await run('sync', 'local/stor:tree', 'far/stor:planned', '--plan', 'second.jsonl');
    await user.line('echo later | cloud stor put -q - planned/a.txt --profile far');
    const second = await run('run', 'second.jsonl');
    expect([second.code, second.stderr.includes('/demo/stor/planned/a.txt has changed meanwhile')]).toEqual([5, true]);
    expect((await run('cat', 'planned/a.txt', '--profile', 'far')).stdout).toBe('later\n');
    expect((await describeTree('far', 'planned'))['typed']).toMatchObject({ contentType: 'text/x-own', 'm-color': 'grün' });
  });

  it('a plan between a service and this machine names the profile; a step of another profile than its first line is refused', async () => {
    expect(await run('sync', 'far/stor:tree', 'planned-down', '--plan', 'down.jsonl')).toMatchObject({ code: 0 });
    expect(await run('run', 'down.jsonl', '--profile', 'local')).toMatchObject({ code: 0 });
    expect(readFileSync(join(user.home, 'planned-down/a.txt'), 'utf8')).toBe((await run('cat', 'tree/a.txt', '--profile', 'far')).stdout);
    const plan = readFileSync(join(user.home, 'down.jsonl'), 'utf8').split('\n');
    writeFileSync(join(user.home, 'mixed.jsonl'), [plan[0], plan[2]?.replace('far/stor:', 'local/stor:')].join('\n'));
    expect(await run('run', 'mixed.jsonl')).toMatchObject({ code: 2, stderr: expect.stringContaining('line 2') as string });
    writeFileSync(join(user.home, 'unknown.jsonl'), plan.join('\n').replaceAll('far/stor:', 'nobody/stor:'));
    expect(await run('run', 'unknown.jsonl')).toMatchObject({ code: 2, stderr: expect.stringContaining('"nobody"') as string });
  });

  it('says what is wrong in one line: no such profile, the same directory, nothing there', async () => {
    expect(await run('sync', 'nobody/stor:tree', 'stor:x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('"nobody"') as string,
    });
    expect(await run('sync', 'local/stor:tree', 'stor:tree/sub')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('overlap') as string,
    });
    expect(await run('sync', 'far/stor:missing', 'stor:x')).toMatchObject({ code: 3 });
  });
});

describe('through files', () => {
  it('with --size-only, a new link gets the content of the source, not that of another object of the same size', async () => {
    await user.line('cloud stor mkdir -q sized --profile far');
    writeFileSync(join(user.home, 'other'), 'OTHER');
    await user.line('cloud stor put -q other sized/typed --profile far');
    await user.line('cloud stor sync local/stor:tree far/stor:sized --size-only -q');
    const { stdout } = await run('cat', 'sized/typed', 'sized/sub/linked', '--profile', 'far');
    expect(stdout).toBe('OTHERa.txt');
  });

  it('get -r --with-headers keeps what files cannot hold, and put -r and sync give it back', async () => {
    const wanted = await describeTree('local', 'tree');
    expect(await run('get', '-rqT', 'tree', 'files', '--with-headers')).toMatchObject({ code: 0 });
    expect(await run('put', '-rqT', 'files', 'through', '--profile', 'far')).toMatchObject({ code: 0 });
    expect(await describeTree('far', 'through')).toEqual(wanted);
    expect(await run('sync', '-q', 'files', 'far/stor:synced')).toMatchObject({ code: 0 });
    expect(await describeTree('far', 'synced')).toEqual(wanted);
    // As an interrupted run leaves it: the same content, and no link.
    await user.line('cloud stor get -q synced/typed one --profile far; cloud stor put -q one synced/sub/linked --profile far');
    expect(await run('sync', '-q', 'files', 'far/stor:synced', '--reset-headers')).toMatchObject({ code: 0 });
    expect(await describeTree('far', 'synced')).toEqual(wanted);
    await run('put', '-rqT', 'files', 'plain', '--without-headers', '--profile', 'far');
    expect(Object.keys(await describeTree('far', 'plain'))).toEqual(Object.keys(wanted));
    expect((await describeTree('far', 'plain'))['typed']).toMatchObject({ contentType: 'application/octet-stream' });
  });

  it('a changed file keeps its headers and gets bytes and a time of its own; the command line wins', async () => {
    writeFileSync(join(user.home, 'files/sub/linked'), 'changed');
    await user.line('cloud stor put -rqT files changed -m color=red --profile far');
    const tree = await describeTree('far', 'changed');
    expect(tree['sub/linked']).toMatchObject({ size: 7, contentType: 'text/x-own', 'm-color': 'red' });
    expect(tree['typed']).toMatchObject({ contentType: 'text/x-own', 'm-color': 'red' });
  });

  it('sync --with-headers keeps the headers of files that are there already, as after a run that was killed', async () => {
    const wanted = await describeTree('local', 'tree');
    await run('sync', '-q', 'stor:tree', 'later');
    const file = join(user.home, 'later/.cloud-headers.jsonl');
    for (const manifest of [undefined, '{"path":"typed","size":5']) {
      if (manifest !== undefined) writeFileSync(file, manifest);
      expect(await run('sync', 'stor:tree', 'later', '--with-headers', '-j')).toMatchObject({ code: 0, stdout: '[]\n' });
      await run('rm', '-rfyq', 'later', '--profile', 'far');
      await run('put', '-rqT', 'later', 'later', '--profile', 'far');
      expect(await describeTree('far', 'later')).toEqual(wanted);
    }
    const kept = readFileSync(file, 'utf8');
    await run('sync', 'stor:tree', 'later', '--with-headers');
    expect(readFileSync(file, 'utf8')).toBe(kept);
  });

  it('sync to files says how many had more than files hold, and a manifest that is damaged is named', async () => {
    const { stderr } = await run('sync', 'stor:tree', 'bare');
    expect(stderr).toContain('3 objects have types or headers that files cannot store; to keep them: --with-headers\n');
    writeFileSync(join(user.home, 'bare/.cloud-headers.jsonl'), '{"path":1}\n{}\n\n{}\n');
    expect(await run('put', '-r', 'bare', 'never', '--profile', 'far')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('line 1') as string,
    });
    expect((await run('put', '-rqT', 'bare', 'bare', '--without-headers', '--profile', 'far')).code).toBe(0);
  });
});
