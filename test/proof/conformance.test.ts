import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { compute } from '../../src/api/compute.ts';
import { storage } from '../../src/api/storage.ts';
import { computeChecks } from '../../src/commands/conformance/compute/index.ts';
import { jobChecks } from '../../src/commands/conformance/jobs/index.ts';
import { storageChecks } from '../../src/commands/conformance/storage/index.ts';
import { useLocal } from '../support/sandbox.ts';

/** `cloud conformance` finds what a service does other than the specification says, and leaves nothing behind. */

interface Verdict {
  result: string;
  area: string;
  section: string;
  statement: string;
  detail: string;
  id: string;
  operations: string[];
}

const user = useLocal('--add-account', 'other');
const program = resolve(import.meta.dirname, '../../bin/cloud');
const table = resolve(import.meta.dirname, '../../.github/CONFORMANCE.md');
const images = ['--machine', '6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001', '--import-image', 'local-2=b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e0001'];

const clear = () => user.here(['local', 'faults', 'clear']);
const add = (...words: string[]) => user.here(['local', 'faults', 'add', ...words]);

async function check(...words: string[]): Promise<{ code: number | null; verdicts: Verdict[]; stderr: string }> {
  const { code, stdout, stderr } = await user.cloud(['conformance', '-o', 'jsonl', ...words]);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return { code, stderr, verdicts: lines.map((line) => JSON.parse(line) as Verdict) };
}

/** Everything in the account that a run could leave. */
async function listAll(): Promise<string> {
  const lines = [
    'users list',
    'roles list',
    'policies list',
    'keys list',
    'images list --state all',
    'stor find ~~',
    'jobs list',
    'mpu list',
  ];
  const lists = await Promise.all(lines.map(async (line) => (await user.here([...line.split(' '), '-o', 'name'])).stdout));
  return lists.join('--\n');
}

beforeAll(async () => {
  await user.here(['account', 'config', 'set', '--default-network', '8a3ee67a-1a45-43ea-b686-4d3dc9b78a06']);
});
afterEach(clear);

function print(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(
    ({ id, section, statement, result, detail }) =>
      `| \`${id}\` | ${section} | ${statement} | ${result}${detail === '' ? '' : `: ${detail}`} |`,
  );
  return `# Conformance of \`cloud local\` to the specification

\`cloud conformance\` checks a cloud against both documents of the specification, statement by statement. This table shows the results for \`cloud local\`. \`test/proof/conformance.test.ts\` compares it with a run, and \`npx vitest run -c .config/vitest.config.ts --project proof test/proof/conformance.test.ts --update\` rewrites it.

| check | section | statement | result |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}

describe('cloud conformance', () => {
  it(
    'finds every statement kept by cloud local or decided otherwise, as its table says, and leaves nothing',
    { timeout: 300_000 },
    async () => {
      const before = await listAll();
      const { code, verdicts, stderr } = await check(...images);
      expect(verdicts.filter(({ result }) => result === 'neither' || result === 'skipped')).toEqual([]);
      expect([code, stderr]).toEqual([0, '']);
      expect(await listAll()).toBe(before);
      await expect(print(verdicts)).toMatchFileSnapshot(table);
      const checked = new Set(verdicts.flatMap(({ operations }) => operations));
      expect([...Object.keys(compute), ...Object.keys(storage)].filter((name) => !checked.has(name))).toEqual([]);
      expect(new Set(verdicts.map(({ id }) => id)).size).toBe(verdicts.length);
    },
  );

  it('sends nothing but GET with --read-only, and says what it skips', async () => {
    const [latest] = (await user.json<{ id: number }[]>('local', 'requests')).slice(-1);
    const { code, verdicts } = await check('--read-only');
    expect(code).toBe(0);
    expect(verdicts.filter(({ result }) => result === 'as specified').length).toBeGreaterThan(30);
    expect(new Set(verdicts.filter(({ result }) => result === 'skipped').map(({ detail }) => detail))).toEqual(
      new Set(['it makes changes (--read-only)']),
    );
    const sent = (await user.json<{ id: number; method: string }[]>('local', 'requests')).filter(({ id }) => id > (latest?.id ?? 0));
    expect(new Set(sent.map(({ method }) => method))).toEqual(new Set(['GET']));
  });

  it('needs no more than an ordinary account, and skips what a sub-user may not do', async () => {
    const [{ key } = { key: '' }] = await user.json<{ key: string }[]>('keys', 'list');
    const other = await user.here(['conformance', '--profile', 'local-other', '--area', 'storage', '-o', 'name']);
    expect([other.code, other.stderr]).toEqual([0, '']);
    await user.here(['users', 'create', 'jill', '--email', 'jill@example.com', '--password-file', user.write('password', 'l0ng enough')]);
    expect(await user.here(['users', 'keys', 'create', 'jill', user.write('jill.pub', key)])).toMatchObject({ code: 0 });
    const { verdicts } = await check('--area', 'compute', '--user', 'jill', '--read-only');
    expect(verdicts.filter(({ detail }) => detail.startsWith('the sub-user is not allowed to do this')).length).toBeGreaterThan(5);
  });
});

/** Operations by rounds. Those of a round are made to fail together: no check of one of them depends on another. */
const rounds: readonly (readonly string[])[] = [
  'updateAccount getAccountLimits updateConfig getKey getUserKey changeUserPassword updateUser getRole updateRole setRoleTags getPolicy updatePolicy listDatacenters listServices listPackages getPackage updateImage exportImage cloneImage ping deleteUserKey listUserKeys importImageFromDatacenter listImages',
  'createImageFromMachine createUser createRole createPolicy getAccount getConfig getDatacenter getUser createKey',
  'putMetadata putSnapLink getObject getMultipartUpload uploadPart redirectUpload redirectPart getJobInput getJobFailures getJobErrors getJobOutput',
  'createMultipartUpload putObject createJob listJobs',
  'commitMultipartUpload cancelJob endJobInput',
  'addJobInputs abortMultipartUpload getJob',
  'putDirectory',
  'listKeys createUserKey listUsers listRoles listPolicies getImage listDirectory',
  'deleteKey deleteUser deleteRole deletePolicy deleteImage deleteDirectory deleteObject',
].map((names) => names.split(' '));

const checks = [...storageChecks, ...jobChecks, ...computeChecks];

/** What a run finds of the checks of some operations. */
async function checkOperations(names: readonly string[]): Promise<Verdict[]> {
  const meant = checks.filter(({ operations }) => operations.some((name) => names.includes(name)));
  return (await check('--retries', '0', ...images, ...meant.flatMap(({ area, id }) => ['--check', `${area}/${id}`]))).verdicts;
}

describe('a service that has failures', { timeout: 300_000 }, () => {
  it.each(rounds.map((names) => [names.join(' '), names] as const))('is found out: %s', { timeout: 60_000 }, async (_, names) => {
    await Promise.all(names.map((name) => add(name.toLowerCase(), 'InternalError')));
    const found = new Set(
      (await checkOperations(names)).filter(({ result }) => result === 'neither').flatMap(({ operations }) => operations),
    );
    expect(names.filter((name) => !found.has(name))).toEqual([]);
    // What could not be listed or deleted is left to the next run.
    await clear();
    await check('--check', 'compute/ping-pong');
    expect(await listAll()).not.toContain('conformance-');
  });

  it('has a round for every operation', () => {
    expect([...Object.keys(compute), ...Object.keys(storage)].filter((name) => !rounds.flat().includes(name))).toEqual([]);
  });

  it.each([
    ['getobject', 'cut:3', 'storage/get-object'],
    ['getobject', 'close', 'storage/get-object'],
    ['listdirectory', 'throttle', 'storage/list-directory'],
    ['putobject', 'cut-upload:1', 'storage/put-object'],
    ['listkeys', 'wrong-md5', 'compute/content-md5'],
    ['getobject', '403:Forbidden', 'storage/get-object'],
  ])('is found out: %s %s', async (operation, failure, id) => {
    await add(operation, failure);
    const ids = id === 'compute/content-md5' ? ['compute/list-keys', id] : [id];
    const { code, verdicts } = await check('--retries', '0', ...ids.flatMap((each) => ['--check', each]));
    expect([code, verdicts.find((each) => each.id === id)?.result]).toEqual([1, 'neither']);
  });
});

/** A run of the whole program that has begun to make things. */
async function begin() {
  const child = spawn(process.execPath, [program, 'conformance', '-o', 'jsonl'], {
    env: user.env,
    cwd: user.home,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let told = '';
  let noted = '';
  child.stdout.on('data', (piece: Buffer) => (told += piece.toString()));
  child.stderr.on('data', (piece: Buffer) => (noted += piece.toString()));
  const end = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  while (!told.includes('storage/put-object')) await sleep(5);
  return { child, end, note: () => noted };
}

describe('a run that is ended', { timeout: 300_000 }, () => {
  it('leaves what it cannot remove to the next one', async () => {
    await add('deletedirectory', 'InternalError');
    expect((await check('--check', 'storage/get-object', '--retries', '0')).stderr).toContain('some resources could not be removed');
    await clear();
    await check('--check', 'compute/ping-pong');
    expect(await listAll()).not.toContain('conformance-');
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('removes what it has made: %s', async (signal) => {
    const before = await listAll();
    const { child, end, note } = await begin();
    child.kill(signal);
    expect([await end, note()]).toEqual([[null, signal], expect.stringContaining('Interrupted: removing the created resources')]);
    expect(await listAll()).toBe(before);
  });

  it('is tidied up after by the next one when it was killed', async () => {
    const before = await listAll();
    const { child, end } = await begin();
    child.kill('SIGKILL');
    expect((await end)[1]).toBe('SIGKILL');
    expect(await listAll()).not.toBe(before);
    await check('--check', 'compute/ping-pong');
    expect(await listAll()).toBe(before);
  });
});
