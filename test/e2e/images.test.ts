import { expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

interface Image {
  id: string;
  name: string;
  version: string;
  state: string;
  acl: string[];
  tags: Record<string, unknown>;
}

const user = useShared();
/** Sample instances of the local service: one that images can be made of, and those whose name is the error that it ends in. */
const machine = (last: number): string => `6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c000${last}`;

test('an image is created and waited for, found by name@version, changed, shared, tagged, exported and deleted', async () => {
  const created = await user.here(['images', 'create', machine(1), 'web', '1.0.0', '--tag', 'role=web', '--tag', 'n:=3', '--wait', '-j']);
  const image = JSON.parse(created.stdout) as Image;
  expect(image).toMatchObject({ state: 'active', tags: { role: 'web', n: 3 } });
  const name = `web@1.0.0 (${image.id})`;
  expect(created.stderr).toBe(`{"note":"Creating image ${name}"}\n{"note":"Created image ${name}"}\n`);
  expect(await user.json('images', 'update', 'web', '--description', 'The web server')).toMatchObject({ description: 'The web server' });
  const other = 'b3f3c9b2-6c36-4b3c-8d5c-0d6f1f0a2f37';
  expect(await user.json('images', 'share', 'web@1.0.0', other)).toMatchObject({ acl: [other] });
  const listed = await user.here(['images', 'list', '--name', 'web', '-H']);
  expect(listed.stdout).toMatch(/^\S+ +web +1\.0\.0 +S +/);
  expect(await user.json('images', 'unshare', 'web@1.0.0', other)).not.toHaveProperty('acl');
  expect(await user.json('images', 'tags', 'set', 'web', 'tested:=true')).toEqual({ role: 'web', n: 3, tested: true });
  expect(await user.json('images', 'tags', 'unset', 'web', 'n', 'role')).toEqual({ tested: true });
  const location = await user.json<{ manifest_path: string }>('images', 'export', 'web', 'documents');
  const manifest = await user.here(['stor', 'cat', location.manifest_path]);
  expect(JSON.parse(manifest.stdout)).toMatchObject({ name: 'web', version: '1.0.0' });
  expect((await user.here(['images', 'rm', 'web@1.0.0', '-y'])).stderr).toBe(`Deleted image web@1.0.0 (${image.id})\n`);
});

test('what is waited for in vain is not to be done again: the hint says how to go on', async () => {
  const late = await user.here(['images', 'create', machine(1), 'late', '1.0.0', '--wait', '--wait-timeout', '0s']);
  expect([late.code, late.stderr]).toEqual([
    6,
    expect.stringMatching(/\(([-0-9a-f]{36})\)\n.* timed out .*\nhint: .*cloud images wait \1\n$/s),
  ]);
  const words = ['policies', 'create', 'late', '--rule', 'CAN getkey', '--wait', '--wait-timeout', '0s'];
  const unread = await user.here(words);
  expect([unread.code, unread.stderr]).toEqual([6, expect.stringContaining('hint: the change was made and need not be repeated')]);
});

test('get takes several, one of which may be missing: the others are shown', async () => {
  const { code, stdout, stderr } = await user.here(['images', 'get', 'alpine-3', 'ubuntu-24.4', 'ubuntu-24.04', '--columns', 'name']);
  expect([code, stdout]).toEqual([5, 'NAME\nalpine-3\nubuntu-24.04\n']);
  expect(stderr).toContain('hint: did you mean ubuntu-24.04?\n');
  expect(await user.json('images', 'get', 'alpine-3')).toMatchObject({ name: 'alpine-3' });
});

test('wait by a bare name waits for the image that is being made, not for one of the name that is there', async () => {
  await user.here(['images', 'create', machine(1), 'twice', '1.0.0', '--wait']);
  await user.here(['images', 'create', machine(1), 'twice', '1.0.1']);
  expect(await user.json('images', 'wait', 'twice')).toMatchObject([{ version: '1.0.1', state: 'active' }]);
  const before = await user.json('images', 'list', '--name', 'twice');
  for (const words of [
    ['delete', 'twice', '-y'],
    ['update', 'twice', '--description', 'x'],
    ['tags', 'set', 'twice', 'a=b'],
  ]) {
    const { code, stderr } = await user.cloud(['images', ...words]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(
        /image "twice" is ambiguous: \S+ \(twice@1\.0\.[01]\), .*\nhint: give the full id: cloud images list --name twice\n$/,
      ),
    ]);
  }
  expect(await user.json('images', 'list', '--name', 'twice')).toEqual(before);
});

test('a creation that fails is explained in words, with what to do', async () => {
  const failures = [
    [3, 'PrepareImageDidNotRun', 'hint: update the guest tools'],
    [4, 'VmHasNoOrigin', 'hint: create a new instance from a current image'],
    [5, 'NotSupported', 'hint: create the instance from an image of the operator'],
    [6, 'InternalError', 'hint: try again'],
  ] as const;
  await Promise.all(
    failures.map(async ([last, code, words]) => {
      const { code: exit, stderr } = await user.here(['images', 'create', machine(last), 'broken', `1.0.${last}`, '--wait', '-q']);
      expect([exit, stderr]).toEqual([1, expect.stringContaining(`(${code})`)]);
      expect(stderr).toContain(words);
    }),
  );
  const waited = await user.here(['images', 'wait', 'broken@1.0.3', 'debian-12', '-o', 'name']);
  expect([waited.code, waited.stdout.split('\n')]).toEqual([5, [expect.any(String), '']]);
  for (const state of ['creating', 'unactivated', 'failed']) {
    const { code, stderr } = await user.here(['images', 'wait', 'debian-12', '--state', state]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`is active and can no longer be ${state}\nhint: cloud images get `)]);
  }
});

test('images are imported with their origins, and refusals are the service’s own', async () => {
  // The second datacenter has an address of its own, which shows what there is to import.
  const { stdout } = await user.shell('cloud --url "$(cloud datacenters get local-2 --jq .url)" images list --state all -j');
  expect((JSON.parse(stdout) as Image[]).map(({ id }) => id)).toContain('b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e0003');
  expect((await user.json<Image[]>('images', 'list', '--state', 'all')).map(({ name }) => name)).not.toContain('inventory');
  const imported = await user.json<Image>('images', 'import', 'local-2', 'b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e0003');
  expect(imported).toMatchObject({ name: 'inventory', version: '2.0.0' });
  expect((await user.here(['images', 'list', '--name', 'inventory', '-o', 'csv', '--columns', 'flags', '-H'])).stdout).toMatch(/I/);
  const again = await user.here(['images', 'import', 'local-2', imported.id]);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('(ImageUuidAlreadyExistsError, request')]);
  const clone = await user.here(['images', 'clone', 'debian-12']);
  expect([clone.code, clone.stderr]).toEqual([1, expect.stringMatching(/\((ImageNotShared|NotImageOwnerError), request/)]);
  const acl = await user.here(['images', 'share', 'inventory', 'somebody']);
  expect([acl.code, acl.stderr]).toEqual([2, expect.stringContaining('"somebody" is not the UUID of an account')]);
  const owned = await user.here(['images', 'list', '--owner', 'other']);
  expect([owned.code, owned.stderr]).toEqual([
    2,
    expect.stringMatching(/"other" is not the UUID of an account\nhint: the owner of the account finds its UUID with: cloud account get/),
  ]);
  const [own] = await user.json<{ owner: string }[]>('images', 'list');
  expect(await user.json<object[]>('images', 'list', '--owner', own?.owner.toUpperCase() ?? '')).not.toEqual([]);
  const none = await user.here(['images', 'create', 'web-1', 'web', '1']);
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('"web-1" is not the UUID of an instance')]);
});

test('pre-signed URLs work without a key, for their methods only', async () => {
  const signed = await user.json<{ url: string }>('api', 'sign', '/my/images?os=bsd', '--expires', '5m');
  const get = await user.shell(`curl -sS --cacert ${user.local.caFile} '${signed.url}'`);
  expect((JSON.parse(get.stdout) as Image[]).map(({ name }) => name)).toEqual(['freebsd-14']);
  const post = await user.shell(`curl -sS -X POST -o /dev/null -w '%{http_code}' --cacert ${user.local.caFile} '${signed.url}'`);
  expect(post.stdout).toBe('401');
  const several = await user.here(['api', 'sign', '/demo/stor/documents', '--service', 'stor', '--method', 'GET,HEAD', '-o', 'name']);
  const head = await user.shell(`curl -sS -I -o /dev/null -w '%{http_code}' --cacert ${user.local.caFile} '${several.stdout.trim()}'`);
  expect(head.stdout).toBe('200');
});

test('update --acl replaces the accounts that may use an image', async () => {
  const [first, second] = [machine(1), machine(2)];
  // Another test may have imported it.
  await user.here(['images', 'import', 'local-2', 'b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e0001']);
  expect(await user.json('images', 'update', 'inventory-base', '--acl', first)).toMatchObject({ acl: [first] });
  expect(await user.json('images', 'update', 'inventory-base', '--acl', second)).toMatchObject({ acl: [second] });
  expect((await user.here(['images', 'update', 'inventory-base', '--acl', 'nobody'])).code).toBe(2);
});
