import { expect, test } from 'vitest';
import { useLocal } from '../support/sandbox.ts';

interface Image {
  id: string;
  name: string;
  version: string;
  state: string;
  acl: string[];
  tags: Record<string, unknown>;
}

const user = useLocal();
/** Sample instances of the local service: one that images can be made of, and those whose name is the error that it ends in. */
const machine = (last: number): string => `6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c000${last}`;

test('an image is created and waited for, found by name@version, changed, shared, tagged, exported and deleted', async () => {
  const created = await user.cloud(['images', 'create', machine(1), 'web', '1.0.0', '--tag', 'role=web', '--tag', 'n:=3', '--wait', '-j']);
  const image = JSON.parse(created.stdout) as Image;
  expect(image).toMatchObject({ state: 'active', tags: { role: 'web', n: 3 } });
  expect(created.stderr).toBe(`Creating image web@1.0.0 (${image.id})\nCreated image web@1.0.0 (${image.id})\n`);
  expect(await user.json('images', 'update', 'web', '--description', 'The web server')).toMatchObject({ description: 'The web server' });
  const other = 'b3f3c9b2-6c36-4b3c-8d5c-0d6f1f0a2f37';
  expect(await user.json('images', 'share', 'web@1.0.0', other)).toMatchObject({ acl: [other] });
  const listed = await user.cloud(['images', 'list', '--name', 'web', '-H']);
  expect(listed.stdout).toMatch(/^\S+ +web +1\.0\.0 +S +/);
  expect(await user.json('images', 'unshare', 'web@1.0.0', other)).toMatchObject({ acl: [] });
  expect(await user.json('images', 'tags', 'set', 'web', 'tested:=true')).toEqual({ role: 'web', n: 3, tested: true });
  expect(await user.json('images', 'tags', 'unset', 'web', 'n', 'role')).toEqual({ tested: true });
  const location = await user.json<{ manifest_path: string }>('images', 'export', 'web', 'documents');
  const manifest = await user.cloud(['stor', 'cat', location.manifest_path]);
  expect(JSON.parse(manifest.stdout)).toMatchObject({ name: 'web', version: '1.0.0' });
  expect((await user.cloud(['images', 'rm', 'web@1.0.0', '-y'])).stderr).toBe(`Deleted image web@1.0.0 (${image.id})\n`);
});

test('wait by a bare name waits for the image that is being made, not for one of the name that is there', async () => {
  await user.cloud(['images', 'create', machine(1), 'twice', '1.0.0', '--wait']);
  await user.cloud(['images', 'create', machine(1), 'twice', '1.0.1']);
  expect(await user.json('images', 'wait', 'twice')).toMatchObject([{ version: '1.0.1', state: 'active' }]);
});

test('a creation that fails is explained in words, with what to do', async () => {
  const failures = [
    [3, 'PrepareImageDidNotRun', 'hint: update the guest tools'],
    [4, 'VmHasNoOrigin', 'hint: make a new instance from a current image'],
    [5, 'NotSupported', 'hint: make the instance from an image of the operator'],
    [6, 'InternalError', 'hint: try again'],
  ] as const;
  await Promise.all(
    failures.map(async ([last, code, words]) => {
      const { code: exit, stderr } = await user.cloud(['images', 'create', machine(last), 'broken', `1.0.${last}`, '--wait', '-q']);
      expect([exit, stderr]).toEqual([1, expect.stringContaining(`(${code})`)]);
      expect(stderr).toContain(words);
    }),
  );
  const waited = await user.cloud(['images', 'wait', 'broken@1.0.3', 'debian-12', '-o', 'name']);
  expect([waited.code, waited.stdout.split('\n')]).toEqual([5, [expect.any(String), '']]);
});

test('images are imported with their origins, and refusals are the service’s own', async () => {
  const imported = await user.json<Image>('images', 'import', 'local-2', 'b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e0003');
  expect(imported).toMatchObject({ name: 'inventory', version: '2.0.0' });
  expect((await user.cloud(['images', 'list', '--name', 'inventory', '-o', 'csv', '--columns', 'flags', '-H'])).stdout).toMatch(/I/);
  const again = await user.cloud(['images', 'import', 'local-2', imported.id]);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('(ImageUuidAlreadyExistsError, request')]);
  const clone = await user.cloud(['images', 'clone', 'debian-12']);
  expect([clone.code, clone.stderr]).toEqual([1, expect.stringMatching(/\((ImageNotShared|NotImageOwnerError), request/)]);
  const acl = await user.cloud(['images', 'share', 'inventory', 'somebody']);
  expect([acl.code, acl.stderr]).toEqual([2, expect.stringContaining('"somebody" is not the UUID of an account')]);
  const none = await user.cloud(['images', 'create', 'web-1', 'web', '1']);
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('"web-1" is not the UUID of an instance')]);
});

test('pre-signed URLs work without a key, for their methods only', async () => {
  const signed = await user.json<{ url: string }>('api', 'sign', '/my/images?os=bsd', '--expires', '5m');
  const get = await user.shell(`curl -sS --cacert ${user.local.caFile} '${signed.url}'`);
  expect((JSON.parse(get.stdout) as Image[]).map(({ name }) => name)).toEqual(['freebsd-14']);
  const post = await user.shell(`curl -sS -X POST -o /dev/null -w '%{http_code}' --cacert ${user.local.caFile} '${signed.url}'`);
  expect(post.stdout).toBe('401');
  const several = await user.cloud(['api', 'sign', '/demo/stor/documents', '--service', 'stor', '--method', 'GET,HEAD', '-o', 'name']);
  const head = await user.shell(`curl -sS -I -o /dev/null -w '%{http_code}' --cacert ${user.local.caFile} '${several.stdout.trim()}'`);
  expect(head.stdout).toBe('200');
});
