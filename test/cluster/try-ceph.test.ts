import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalogue } from '../../src/cli/guides/cluster-files.ts';
import { listSteps, makeSamples } from '../../src/commands/local/tour.ts';
import { usualIsolation } from '../support/job-sandboxes.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';
import { createRsaKey } from '../support/service.ts';

/** `npm run try:ceph`, in the run that has Ceph (`CLOUD_TEST_BYTES=ceph`): what it starts passes the guided tour. */

interface Told {
  readonly computeUrl: string;
  readonly storUrl: string;
  readonly caFile: string;
}

let sandbox: Sandbox;
let remove: () => void;
let trial: ChildProcess | undefined;
const gateways: Told[] = [];
let database = '';

describe.skipIf(process.env['CLOUD_TEST_BYTES'] !== 'ceph')('two gateways on PostgreSQL and Ceph', () => {
  beforeAll(async () => {
    ({ sandbox, remove } = createSandbox());
    // The line of the script, with what it builds in the folder of the test.
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
    const [build = '', start = ''] = (scripts['try:ceph'] ?? '')
      .replaceAll('node_modules/.cache/try', join(sandbox.home, 'try'))
      .split(' && ');
    const built = spawnSync('bash', ['-c', build], {
      env: { ...process.env, PATH: `node_modules/.bin:${process.env['PATH'] ?? ''}` },
      encoding: 'utf8',
    });
    if (built.status !== 0) throw new Error(built.stderr);
    // PostgreSQL and Ceph run as another user than root, who may not enter the home of the test.
    const env = { ...sandbox.env, TMPDIR: tmpdir(), ...(usualIsolation() === 'none' && { CLOUD_LOCAL_ISOLATION: 'none' }) };
    const child = spawn('bash', ['-c', `exec ${start}`], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    trial = child;
    for await (const line of createInterface(child.stdout)) {
      if (line.startsWith('{"computeUrl"')) gateways.push(JSON.parse(line) as Told);
      database = /CLOUD_SERVER_DATABASE='([^']+)'/u.exec(line)?.[1] ?? database;
      if (gateways.length === 2 && database !== '') break;
    }
  }, 240_000);
  afterAll(async () => {
    // Where the test failed before that.
    if (trial?.exitCode === null) {
      trial.kill('SIGINT');
      await once(trial, 'exit');
    }
    remove();
  });

  test('pass the guided tour, each line by another one of them, and nothing stays', { timeout: 240_000 }, async () => {
    expect([gateways.length, database]).toEqual([2, expect.stringContaining('postgresql:')]);
    const key = createRsaKey();
    const keyFile = sandbox.write('key', key.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    chmodSync(keyFile, 0o600);
    const at = ['--database', database];
    const operate = async (...words: string[]): Promise<void> => {
      const { code, stderr } = await sandbox.here(['server', ...words, ...at]);
      expect([words, code, stderr]).toEqual([words, 0, stderr]);
    };
    await operate('accounts', 'create', 'demo', '--email', 'demo@example.com', '--public-key', sandbox.write('key.pub', key.line));
    await operate('apply', sandbox.write('cloud.yaml', catalogue.join('\n')));
    const folder = join(sandbox.home, 'tour');
    mkdirSync(folder);
    const steps = listSteps(makeSamples(folder)).slice(1, -1);
    for (const [index, { line, check }] of steps.entries()) {
      const { computeUrl, storUrl, caFile } = gateways[index % 2] ?? { computeUrl: '', storUrl: '', caFile: '' };
      const variables = {
        CLOUD_URL: computeUrl,
        CLOUD_STOR_URL: storUrl,
        CLOUD_CA: caFile,
        CLOUD_ACCOUNT: 'demo',
        CLOUD_KEY_FILE: keyFile,
      };
      const { code, stdout, stderr } = await sandbox.shell(line, { cwd: folder, env: variables });
      expect([line, code, stderr, stdout, check?.(stdout) ?? true]).toEqual([line, 0, stderr, stdout, true]);
    }
    expect(steps.length).toBeGreaterThan(10);
    if (trial === undefined) throw new Error('nothing was started');
    const ended = once(trial, 'exit');
    trial.kill('SIGINT');
    expect(await ended).toEqual([0, null]);
    expect(existsSync(dirname(gateways[0]?.caFile ?? '/'))).toBe(false);
  });
});
