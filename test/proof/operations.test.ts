import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { compute } from '../../src/api/compute.ts';
import { createMatcher } from '../../src/server/http/match.ts';
import { parseTarget } from '../../src/server/http/target.ts';
import { report } from '../support/figures.ts';
import { followRequests, type LoggedRequest } from '../support/measured-run.ts';
import { useLocal } from '../support/sandbox.ts';

/**
 * Every operation of the compute document against the running service, by a plain request that openssl signs and curl sends. The
 * service's own log says which operation it was and how it was answered.
 */

type Name = keyof typeof compute;

const user = useLocal('--add-account', 'other');
const machine = '6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001';
/** An image of the second datacenter: the first is the origin of the second, which is that of the third. */
const imageOf = (number: number): string => `b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e000${number}`;
const network = '8a3ee67a-1a45-43ea-b686-4d3dc9b78a06';
/** Requests in order. `{operation}` in a path is replaced by the `id` or the fingerprint in the response to that operation. */
const requests: Readonly<Record<Name, readonly [line: string, body?: object]>> = {
  ping: ['GET /--ping'],
  getAccount: ['GET /my'],
  updateAccount: ['POST /my', { city: 'Lier' }],
  getAccountLimits: ['GET /demo/limits'],
  updateConfig: ['PUT /my/config', { default_network: network }],
  getConfig: ['GET /my/config'],
  createKey: ['POST /my/keys', { name: 'one', key: '@three.pub' }],
  listKeys: ['GET /my/keys'],
  getKey: ['GET /my/keys/one'],
  createUser: ['POST /my/users', { login: 'jill', email: 'jill@example.com', password: 'open sesame 1' }],
  listUsers: ['GET /my/users'],
  getUser: ['GET /my/users/jill?membership=true'],
  updateUser: ['POST /my/users/{createUser}', { city: 'Lier' }],
  changeUserPassword: ['POST /my/users/jill/change_password', { password: 'open sesame 2', password_confirmation: 'open sesame 2' }],
  createUserKey: ['POST /my/users/jill/keys', { name: 'two', key: '@four.pub' }],
  listUserKeys: ['GET /my/users/jill/keys'],
  getUserKey: ['GET /my/users/jill/keys/two'],
  createPolicy: ['POST /my/policies', { name: 'reads', rules: ['CAN listkeys'] }],
  listPolicies: ['GET /my/policies'],
  getPolicy: ['GET /my/policies/{createPolicy}'],
  updatePolicy: ['POST /my/policies/{createPolicy}', { description: 'new' }],
  createRole: ['POST /my/roles', { name: 'dev', members: [{ type: 'subuser', login: 'jill' }], policies: [{ name: 'reads' }] }],
  listRoles: ['GET /my/roles'],
  getRole: ['GET /my/roles/dev'],
  updateRole: ['POST /my/roles/{createRole}', { members: [] }],
  setRoleTags: ['PUT /my/keys/one', { 'role-tag': ['dev'] }],
  listDatacenters: ['GET /my/datacenters'],
  getDatacenter: ['GET /my/datacenters/local-2'],
  listServices: ['GET /my/services'],
  listPackages: ['GET /my/packages?memory=1024'],
  getPackage: ['GET /my/packages/g1-nano'],
  listImages: ['GET /my/images?state=all'],
  createImageFromMachine: ['POST /my/images', { machine, name: 'web', version: '2.0.0' }],
  getImage: ['GET /my/images/{createImageFromMachine}'],
  updateImage: ['POST /my/images/{createImageFromMachine}?action=update', { description: 'new' }],
  exportImage: [`POST /my/images/${imageOf(2)}?action=export`, { storage_path: '/demo/stor/documents' }],
  importImageFromDatacenter: [`POST /my/images?action=import-from-datacenter&datacenter=local-2&id=${imageOf(3)}`],
  cloneImage: [`POST /my/images/${imageOf(1)}?action=clone`],
  deleteImage: ['DELETE /my/images/{createImageFromMachine}'],
  deleteRole: ['DELETE /my/roles/{createRole}'],
  deletePolicy: ['DELETE /my/policies/{createPolicy}'],
  deleteUserKey: ['DELETE /my/users/jill/keys/{createUserKey}'],
  deleteUser: ['DELETE /my/users/{createUser}'],
  deleteKey: ['DELETE /my/keys/{createKey}'],
};

const match = createMatcher(compute);

/** Operations of requests that were answered as the document says, as `name status`. */
function nameRequests(logged: readonly LoggedRequest[]): string[] {
  return logged.map(({ method, target, status }) => {
    const { operation } = match(method, parseTarget('compute', target), {}).candidates[0];
    return `${operation.name} ${status}`;
  });
}

const expected = (name: Name): string => `${name} ${compute[name].status}`;

beforeAll(async () => {
  for (const name of ['three', 'four']) execFileSync('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', '', '-f', join(user.home, name)]);
  // An image is cloned by those whom its owner lets use it.
  const { accountId, accounts } = user.local;
  const profile = accounts?.find(({ account }) => account === 'other')?.profile ?? '';
  await user.json('--profile', profile, 'images', 'import', 'local-2', imageOf(1));
  await user.json('images', 'import', 'local-2', imageOf(2));
  await user.json('--profile', profile, 'images', 'share', imageOf(1), accountId);
});

/** The headers of a request as arguments of curl, signed by openssl. */
async function sign(): Promise<string> {
  const { keyFile, keyId, caFile } = user.local;
  const { stdout, code } = await user.shell(
    `date=$(LC_ALL=C date -u '+%a, %d %b %Y %H:%M:%S GMT')
    signature=$(printf %s "$date" | openssl dgst -sha256 -sign '${keyFile}' | base64 -w0)
    printf '%s\n' "date: $date" "authorization: Signature keyId=\\"/demo/keys/${keyId}\\",algorithm=\\"rsa-sha256\\" $signature"`,
  );
  expect(code).toBe(0);
  user.write('headers', `${stdout}accept-version: ~9\ncontent-type: application/json\n`);
  return `curl -sS --cacert '${caFile}' -H @headers`;
}

test('every operation by openssl and curl', async () => {
  const { computeUrl } = await user.json<{ computeUrl: string }>('local', 'status');
  const curl = await sign();
  const follow = followRequests(user, 'compute');
  const answers = new Map<string, string>();
  for (const name of Object.keys(requests) as Name[]) {
    const [line, body] = requests[name];
    const [method = '', path = ''] = line.replace(/\{(\w+)\}/, (_, earlier: string) => answers.get(earlier) ?? '').split(' ');
    const json = JSON.stringify(body)?.replaceAll(/"@(.*?)"/g, (_, file: string) =>
      JSON.stringify(readFileSync(join(user.home, file), 'utf8')),
    );
    const data = json === undefined ? [] : ['-d', json];
    const { stdout, status } = spawnSync('bash', ['-c', `${curl} -X "$@"`, 'curl', method, ...data, `${computeUrl}${path}`], {
      cwd: user.home,
      encoding: 'utf8',
    });
    const told = `${line}: ${stdout}`;
    expect([status, nameRequests(follow())], told).toEqual([0, [expected(name)]]);
    if (stdout === '') continue;
    const { id, fingerprint } = JSON.parse(stdout) as { id?: string; fingerprint?: string };
    answers.set(name, id ?? fingerprint ?? '');
  }
  report('proof', {
    name: 'operations of the compute document by openssl and curl',
    ours: String(Object.keys(requests).length),
    promise: 'all',
  });
});
