import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { compute } from '../../src/api/compute.ts';
import type { Operation } from '../../src/api/operation.ts';
import { storage } from '../../src/api/storage.ts';
import { createMatcher } from '../../src/server/http/match.ts';
import { parseTarget } from '../../src/server/http/target.ts';
import { followRequests } from '../support/measured-run.ts';
import { useLocal } from '../support/sandbox.ts';

/** Every operation of both services is reached by a command. The service's own log says which one it was and how it was answered. */

const user = useLocal('--add-account', 'other');
const machine = '6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001';
/** An image of the second datacenter: the first is the origin of the second, which is that of the third. */
const imageOf = (number: number): string => `b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e000${number}`;
const network = '8a3ee67a-1a45-43ea-b686-4d3dc9b78a06';
const password = '--password-file password';

/** Commands in order. `{COMMAND FIELD}` is replaced by that field of the JSON output of the command. */
const computeCommands: Readonly<Record<keyof typeof compute, string>> = {
  ping: 'ping',
  getAccount: 'account get',
  updateAccount: 'account update --city Ghent',
  getAccountLimits: 'account limits',
  updateConfig: `account config set --default-network ${network}`,
  getConfig: 'account config get',
  createKey: 'keys create one.pub --name one',
  listKeys: 'keys list',
  getKey: 'keys get {keys get one fingerprint}',
  createUser: `users create jill --email jill@example.com ${password}`,
  listUsers: 'users list',
  getUser: 'users get jill --membership',
  updateUser: 'users update jill --city Ghent',
  changeUserPassword: `users password jill ${password}`,
  createUserKey: 'users keys create jill two.pub --name two',
  listUserKeys: 'users keys list jill',
  getUserKey: 'users keys get jill {users keys get jill two fingerprint}',
  createPolicy: "policies create reads --rule 'CAN listkeys'",
  listPolicies: 'policies list',
  getPolicy: 'policies get {policies get reads id}',
  updatePolicy: "policies update reads --add-rule 'CAN getkey'",
  createRole: 'roles create dev --member jill --policy reads',
  listRoles: 'roles list',
  getRole: 'roles get dev',
  updateRole: 'roles update dev --add-default-member jill',
  setRoleTags: 'roles tags set keys/one dev',
  listDatacenters: 'datacenters list',
  getDatacenter: 'datacenters get local-2',
  listServices: 'services list',
  listPackages: "packages list --name 'g1*'",
  getPackage: 'packages get g1-nano',
  listImages: 'images list --os linux',
  createImageFromMachine: `images create ${machine} web 1.0.0 --wait`,
  getImage: 'images get {images get web id}',
  updateImage: 'images update web --description new',
  exportImage: 'images export web documents',
  importImageFromDatacenter: `images import local-2 ${imageOf(2)}`,
  cloneImage: `images clone ${imageOf(1)}`,
  deleteImage: 'images delete web -y',
  deleteRole: 'roles delete dev -y',
  deletePolicy: 'policies delete reads -y',
  deleteUserKey: 'users keys delete jill two -y',
  deleteUser: 'users delete jill -y',
  deleteKey: 'keys delete one -y',
};

/** The same of the object storage. */
const storageCommands: Readonly<Record<keyof typeof storage, string>> = {
  putDirectory: 'stor mkdir shelf/empty -p',
  putObject: 'stor put one.pub shelf/object',
  listDirectory: 'stor ls shelf',
  getObject: 'stor cat shelf/object',
  putMetadata: 'stor meta set shelf/object a=b',
  putSnapLink: 'stor ln shelf/object shelf/link',
  deleteObject: 'stor rm -y shelf/link',
  deleteDirectory: 'stor rm -ry shelf/empty',
  createJob: 'jobs create --name counts --map wc',
  addJobInputs: 'jobs add counts shelf/object',
  listJobs: 'jobs list',
  getJob: 'jobs get counts',
  endJobInput: 'jobs end counts',
  getJobInput: 'jobs inputs counts',
  getJobOutput: 'jobs outputs counts',
  getJobFailures: 'jobs failures counts',
  getJobErrors: 'jobs errors counts',
  cancelJob: 'jobs cancel endless',
  createMultipartUpload: 'mpu create shelf/parts',
  uploadPart: 'mpu put-part UPLOAD 0 one.pub',
  getMultipartUpload: 'mpu get UPLOAD',
  commitMultipartUpload: 'mpu commit UPLOAD',
  abortMultipartUpload: 'mpu abort -y ABORTED',
  redirectUpload: 'api call GET /demo/uploads/UPLOAD --service stor',
  redirectPart: 'api call GET /demo/uploads/UPLOAD/0 --service stor',
};

const matchers = { compute: createMatcher(compute), storage: createMatcher(storage) };

async function expectReached(service: 'compute' | 'storage', operation: Operation, command: string): Promise<void> {
  let line = command;
  for (const [braces, words = '', field = ''] of line.matchAll(/\{(.*) (\w+)\}/g)) {
    const shown = await user.json<Record<string, string>>(...words.split(' '));
    line = line.replace(braces, shown[field] ?? '');
  }
  const follow = followRequests(user, service);
  const words = (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ''));
  const { code, stderr } = await user.here(words);
  expect([line, code, stderr]).toEqual([line, 0, expect.not.stringContaining('warning')]);
  // The log does not have the content type, which tells a directory or a link from an object.
  const { contentType } = operation.when;
  const headers = contentType === undefined ? {} : { 'content-type': `application/json; type=${contentType}` };
  const reached = follow().flatMap(({ method, target, status }) =>
    matchers[service](method, parseTarget(service, target), headers).candidates.map(({ operation: { name } }) => `${name} ${status}`),
  );
  expect(reached, line).toContain(`${operation.name} ${operation.status}`);
}

beforeAll(async () => {
  user.write('password', 'open sesame 1\n');
  for (const name of ['one', 'two']) execFileSync('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', '', '-f', join(user.home, name)]);
  // An image is cloned by those whom its owner lets use it.
  const { accountId, accounts } = user.local;
  const profile = accounts?.find(({ account }) => account === 'other')?.profile ?? '';
  await user.json('--profile', profile, 'images', 'import', 'local-2', imageOf(1));
  await user.json('--profile', profile, 'images', 'share', imageOf(1), accountId);
});

test('every operation of the compute service by a command', async () => {
  for (const [name, line] of Object.entries(computeCommands)) await expectReached('compute', compute[name as keyof typeof compute], line);
});

test('every operation of the object storage by a command', async () => {
  await user.json('jobs', 'create', '--name', 'endless', '--map', 'wc');
  await user.here(['stor', 'mkdir', 'shelf']);
  const { id } = await user.json<{ id: string }>('mpu', 'create', 'shelf/other');
  const { id: aborted } = await user.json<{ id: string }>('mpu', 'create', 'shelf/other');
  for (const [name, line] of Object.entries(storageCommands)) {
    const whole = line.replace('UPLOAD', id).replace('ABORTED', aborted);
    await expectReached('storage', storage[name as keyof typeof storage], whole);
  }
});
