import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listSteps, makeSamples } from '../../src/commands/local/tour.ts';
import {
  backup,
  balancerConfiguration,
  catalogue,
  gatewayUnit,
  restore,
  trialBalancer,
  trialCommands,
  trialEnd,
  trialLook,
  trialUse,
  trialVariables,
  workerUnit,
} from '../../src/cli/guides/cluster-files.ts';
import { findPorts } from '../support/free-ports.ts';
import { haproxy, lacksHaproxy } from '../support/haproxy.ts';
import { usualIsolation } from '../support/job-sandboxes.ts';
import { lacksPostgresTools } from '../support/postgres-programs.ts';
import { giveAway, requireProgram, unprivileged } from '../support/unprivileged.ts';
import { areRequired } from '../support/witnesses.ts';

/** `cloud help cluster`: its files as the programs see them that read them, and its commands as they stand there. */

let home = '';
let env: NodeJS.ProcessEnv = {};

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'cloud-guide-'));
  const port = await findPorts(32);
  env = { HOME: home, PATH: `${home}/bin:/usr/bin:/bin`, TMPDIR: home, LANG: 'C.UTF-8', PORT: String(port) };
  mkdirSync(join(home, 'bin'));
  // Others than who runs the tests may not read their folder.
  cpSync('dist', join(home, 'dist'), { recursive: true });
  writeFileSync(join(home, 'bin/cloud'), `#!/bin/sh\nexec ${process.execPath} ${home}/dist/start.js "$@"\n`, { mode: 0o755 });
  mkdirSync(join(home, '.ssh'), { mode: 0o700 });
  execFileSync('ssh-keygen', ['-q', '-t', 'rsa', '-b', '2048', '-N', '', '-f', join(home, '.ssh/id_rsa')]);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Types lines into a shell, as a user who is not root. */
function type(lines: readonly string[], cwd = home): { code: number | null; stdout: string; stderr: string } {
  const [program, ...words] = [...unprivileged.filter((word) => !['--pdeathsig', 'KILL'].includes(word)), 'bash', '-s'];
  const [out, err] = [join(home, 'stdout'), join(home, 'stderr')];
  // Files, since what goes on in the background would keep a pipe open.
  const script = `exec >${out} 2>${err}\n${lines.join('\n')}\n`;
  const { status } = spawnSync(program, words, { cwd, env, input: script, timeout: 180_000 });
  return { code: status, stdout: readFileSync(out, 'utf8'), stderr: readFileSync(err, 'utf8') };
}

const systemdAnalyze = '/usr/bin/systemd-analyze';

describe('files', () => {
  test.skipIf(lacksHaproxy())('haproxy.cfg is read by haproxy', () => {
    const file = join(home, 'haproxy.cfg');
    writeFileSync(file, `${balancerConfiguration.join('\n')}\n`);
    const { status, stderr } = spawnSync(requireProgram(haproxy, 'haproxy'), ['-c', '-f', file], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });

  test.skipIf(!areRequired && !existsSync(systemdAnalyze)).each([
    ['cloud-gateway.service', gatewayUnit],
    ['cloud-worker.service', workerUnit],
  ])('%s is read by systemd', (name, lines) => {
    const file = join(home, name);
    const verify = (text: string): unknown[] => {
      writeFileSync(file, text);
      const { status, stderr } = spawnSync(requireProgram(systemdAnalyze, 'systemd'), ['verify', file], { encoding: 'utf8' });
      return [status, stderr];
    };
    // The program need not be installed.
    const unit = `${lines.join('\n')}\n`.replaceAll('/usr/bin/cloud', join(home, 'bin/cloud'));
    expect(verify(unit)).toEqual([0, '']);
    expect(verify(unit.replace('Restart=always', 'Restart=often'))).toEqual([expect.any(Number), expect.stringContaining('often')]);
  });
});

// Its commands are those for Debian's programs.
describe.skipIf(lacksHaproxy() || lacksPostgresTools())('the trial on one machine', () => {
  const typed = (lines: readonly string[]): string[] => [...trialVariables, ...lines];

  // Where a test fails the last one, which ends everything, does not.
  afterAll(() => void type(typed(trialEnd)));

  test('the commands of the guide bring it up', { timeout: 240_000 }, async () => {
    if (usualIsolation() === 'none') env = { ...env, CLOUD_LOCAL_ISOLATION: 'none' };
    giveAway(home);
    const { code, stderr } = type(['set -e', ...typed(trialCommands)]);
    expect([code, stderr]).toEqual([0, expect.stringContaining('Created account demo')]);
    await expect.poll(() => type(typed(trialLook)).stdout).toMatch(/compute https:.*compute https:/su);
    const used = type(['set -e', ...typed([...trialBalancer, ...trialUse])]);
    expect([used.code, used.stderr, used.stdout]).toEqual([0, expect.any(String), expect.stringMatching(/^storage +https:/mu)]);
  });

  test('both gateways, which started at once, have certificates of one authority', async () => {
    const ca = readFileSync(join(home, 'cloud-try/tls/ca.pem'));
    const check = (port: number): Promise<boolean> =>
      new Promise((resolve, reject) => {
        const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca }, () => socket.end() && resolve(socket.authorized));
        socket.once('error', reject);
      });
    const first = Number(env['PORT']);
    for (const offset of [10, 11, 20, 21]) expect([offset, await check(first + offset)]).toEqual([offset, true]);
  });

  test('the guided tour passes against the balancer', { timeout: 240_000 }, () => {
    writeFileSync(join(home, 'cloud.yaml'), `${catalogue.join('\n')}\n`);
    expect(type(typed(['cloud server apply cloud.yaml']))).toMatchObject({ code: 0 });
    const folder = join(home, 'tour');
    mkdirSync(folder);
    const steps = listSteps(makeSamples(folder)).slice(1, -1);
    giveAway(folder);
    for (const { line, check } of steps) {
      const { code, stdout, stderr } = type([line], folder);
      expect([line, code, stderr, stdout, check?.(stdout) ?? true]).toEqual([line, 0, stderr, stdout, true]);
    }
    expect(steps.length).toBeGreaterThan(10);
  });

  test('a backup that was made while it served restores what was deleted afterwards', { timeout: 240_000 }, async () => {
    const at = (lines: readonly string[], contents: string): string[] =>
      lines.map((line) =>
        line
          .replaceAll('/srv/cloud', contents)
          .replaceAll('/backup', '$DIR/backup')
          .replace('-d cloud', '-d restored')
          .replace('--database-file /etc/cloud/database', '--database "postgresql:///restored?host=$DIR&user=cloud"'),
      );
    const done = type([
      'set -e',
      ...typed(['export PGHOST=$DIR PGUSER=cloud', 'mkdir $DIR/backup $DIR/restored']),
      'head -c 300000 /dev/urandom >large; cloud stor put -q large large',
      ...at(backup, '$DIR/bytes'),
      'cloud stor rm -q --yes large; cloud stor put -q /dev/null large',
      'createdb restored',
      ...at(restore, '$DIR/restored'),
      'export CLOUD_SERVER_DATABASE="postgresql:///restored?host=$DIR&user=cloud" CLOUD_SERVER_BYTES=file://$DIR/restored',
      'cloud server gateway --compute-port $((PORT + 30)) --stor-port $((PORT + 31)) --tls-dir $DIR/tls >restored.log 2>&1 &',
      'echo $! >$DIR/restored.pid',
    ]);
    expect(done).toMatchObject({ code: 0 });
    await expect.poll(() => readFileSync(join(home, 'restored.log'), 'utf8')).toContain('compute https:');
    const read = 'cloud stor cat large --url https://localhost:$((PORT + 30)) --stor-url https://localhost:$((PORT + 31)) | cmp - large';
    expect(type([read])).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('those at its end leave nothing', () => {
    expect(type(typed(trialEnd))).toEqual(
      expect.objectContaining({ code: 0, stdout: expect.stringContaining('server stopped') as string }),
    );
    expect(existsSync(join(home, 'cloud-try'))).toBe(false);
  });
});
