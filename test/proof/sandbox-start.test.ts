import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { listSandboxes } from '../support/job-sandboxes.ts';
import { createSandbox, type LocalInfo, type Sandbox } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

/** Services always have the sandbox that the machine allows, or run no jobs and say so. */

const program = resolve(import.meta.dirname, '../../bin/cloud');
const rounds = scale(5, 100);
const services = 10;

/** Outcomes of the trials of the sandbox that a service has written to its log: what a start shows may be what an earlier one found. */
function readOutcomes(home: string): string[] {
  const lines = readFileSync(join(home, '.local/share/cloud/local/service.log'), 'utf8').split('\n');
  return lines.filter((line) => /jobs: tasks run in a sandbox|jobs are off/u.test(line));
}

function requireSandboxes(): void {
  if (listSandboxes().length < 2)
    throw new Error('no sandbox can be made here: apt-get install bubblewrap util-linux, and allow user namespaces');
}

test(`${services} services that start at the same moment are all isolated, ${rounds} times`, { timeout: rounds * 60_000 }, async () => {
  requireSandboxes();
  const homes = Array.from({ length: services }, () => createSandbox());
  try {
    for (let round = 0; round < rounds; round += 1) {
      const start = ['local', 'start', '--compute-port', '0', '--stor-port', '0', '--empty'];
      const started = await Promise.all(homes.map(({ sandbox }) => sandbox.json<LocalInfo & { isolation: string }>(...start)));
      // A stop ends a trial that is still running.
      for (const { sandbox } of homes) await expect.poll(() => readOutcomes(sandbox.home), { timeout: 60_000 }).toHaveLength(round + 1);
      await Promise.all(homes.map(({ sandbox }) => sandbox.cloud(['local', 'stop'])));
      expect(started.map(({ isolation }) => isolation)).toEqual(Array(services).fill('bubblewrap'));
    }
    for (const { sandbox } of homes) {
      const others = readOutcomes(sandbox.home).filter((line) => !line.includes(' jobs: tasks run in a sandbox (bubblewrap)'));
      expect(others).toEqual([]);
    }
    report('proof', {
      name: `${services} services that start at the same moment, ${rounds} times`,
      ours: `${services * rounds} of ${services * rounds} isolated`,
      promise: 'all',
    });
  } finally {
    await Promise.all(homes.map(({ sandbox }) => sandbox.cloud(['local', 'stop'])));
    for (const { remove } of homes) remove();
  }
});

/** Runs a shell line on a machine that lets nobody make namespaces: in a sandbox that forbids them, over the same files. */
function runWithoutNamespaces(
  home: string,
  line: string,
  env: Record<string, string> = {},
): { stdout: string; stderr: string; status: number | null } {
  const words = [
    '--unshare-user',
    '--disable-userns',
    '--bind',
    '/',
    '/',
    '--dev-bind',
    '/dev',
    '/dev',
    '--die-with-parent',
    '--',
    'bash',
    '-c',
    line,
  ];
  const cloud = `cloud() { "${process.execPath}" "${program}" "$@"; }; `;
  words[words.length - 1] = cloud + line;
  return spawnSync('bwrap', words, {
    cwd: home,
    encoding: 'utf8',
    env: { HOME: home, TMPDIR: home, PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8', ...env },
  });
}

test('where no sandbox can be made, jobs are refused with the reason and the way, and run with --isolation none', () => {
  requireSandboxes();
  const home = mkdtempSync(join('/tmp', 'cloud-no-sandbox-'));
  try {
    const use =
      'echo hello > f; cloud stor put -q f /demo/stor/f; cloud jobs run --map cat /demo/stor/f; echo "exit $?"; cloud local status -j; cloud doctor; cloud local stop -q';
    const start = 'cloud local start --compute-port 0 --stor-port 0 -q -o name';
    const refused = runWithoutNamespaces(home, `${start}; ${use}`);
    const reason = /jobs are off: no sandbox works on this machine \(bubblewrap: .+; namespaces: .+\); .*--isolation none/u;
    const [warning, refusal] = refused.stderr.split('\n');
    expect([warning, refusal]).toEqual([
      expect.stringMatching(reason),
      expect.stringMatching(/^cloud jobs run .*: jobs are off: .*JobsDisabled/u),
    ]);
    expect(refused.stdout).toContain('exit 4\n');
    expect(refused.stdout).toContain('"isolation":"off"');
    expect(refused.stdout).toMatch(/^warning {2}jobs .*jobs are off/mu);
    const allowed = runWithoutNamespaces(home, `${start} --isolation none; ${use}`);
    expect(allowed.stdout).toMatch(/hello\nexit 0\n/u);
    expect(allowed.stdout).toContain('"isolation":"none"');
    expect(allowed.stdout).toMatch(/^warning {2}jobs .*without a sandbox/mu);
    const named = runWithoutNamespaces(home, `${start}; ${use}`, { CLOUD_LOCAL_ISOLATION: 'none' });
    expect(named.stdout).toMatch(/hello\nexit 0\n/u);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

test('a sandbox that an earlier start found is shown before the trial is over, and never believed when the machine lost it', () => {
  requireSandboxes();
  const home = mkdtempSync(join('/tmp', 'cloud-no-sandbox-'));
  try {
    const memory = '.local/share/cloud/local/isolation.json';
    const task = 'id >~/escaped; cat';
    const steps = [
      'cloud local start --compute-port 0 --stor-port 0 -q -o name',
      'echo hello > f; cloud stor put -q f /demo/stor/f',
      // The outcome of the trial is written when it is over, unless the service ends before.
      `timeout 60 bash -c 'until [ -s ${memory} ]; do sleep 0.1; done'`,
      'cloud local stop -q',
      // As if the last trial on this very machine had found one.
      `sed -i 's/"isolation":"off"/"isolation":"bubblewrap","memoryLimit":"cgroup v2"/' ${memory}; grep -c bubblewrap ${memory}`,
      'cloud local start --compute-port 0 --stor-port 0 -q -j',
      `cloud jobs run --map '${task}' /demo/stor/f; echo "exit $?"`,
      'cloud local status -j; cloud doctor; cloud local stop -q',
      `grep -c bubblewrap ${memory}`,
    ];
    const { stdout, stderr } = runWithoutNamespaces(home, steps.join('\n'));
    const [forged, started, exit, status] = stdout.split('\n').slice(1);
    expect([forged, started]).toEqual(['1', expect.stringContaining('"isolation":"bubblewrap"')]);
    expect(stderr).toMatch(/^cloud jobs run .*: jobs are off: no sandbox works on this machine .*JobsDisabled/mu);
    expect([exit, status]).toEqual(['exit 4', expect.stringContaining('"isolation":"off"')]);
    expect(stdout).toMatch(/^warning {2}jobs .*jobs are off/mu);
    expect(stdout.trim().split('\n').at(-1)).toBe('0');
    expect(existsSync(join(home, 'escaped'))).toBe(false);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

test('the guided tour says that jobs are off, and goes on', () => {
  requireSandboxes();
  const home = mkdtempSync(join('/tmp', 'cloud-no-sandbox-'));
  try {
    const { status, stdout } = runWithoutNamespaces(home, 'cloud local try');
    expect([status, stdout]).toEqual([0, expect.stringMatching(/# Jobs are skipped: jobs are off: .*\n[^]*Everything works/u)]);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

test.each(['bubblewrap', 'namespaces', 'none'])(
  'with %s, tasks find the Node.js of the service where it is installed outside of /usr',
  { timeout: 60_000 },
  async (isolation) => {
    requireSandboxes();
    const { sandbox, remove } = createSandbox();
    try {
      const node = join(sandbox.home, 'versions/node/bin/node');
      sandbox.write('versions/node/bin/node', '');
      copyFileSync(process.execPath, node);
      chmodSync(node, 0o755);
      const cloud = `cloud() { "${node}" "${program}" "$@"; }`;
      const start = `cloud local start --compute-port 0 --stor-port 0 --isolation ${isolation} >start.out 2>&1`;
      const run = `cloud jobs run -q --map 'command -v node; node -p 1+1; ls -d ${sandbox.home}/private || true' /demo/stor/f`;
      const line = `${cloud}; touch private f; ${start} && cloud stor put -q f /demo/stor/f && ${run} 2>&1`;
      const { stdout } = await sandbox.shell(line);
      // What tasks run in is shown where the user looks.
      expect(await sandbox.json('local', 'status')).toMatchObject({ isolation });
      const doctor = (await sandbox.cloud(['doctor'])).stdout;
      expect(doctor).toMatch(
        isolation === 'none' ? /^warning +jobs +tasks run without a sandbox/mu : new RegExp(`^ok +jobs .*${isolation}`, 'mu'),
      );
      const [found, sum, ...seen] = stdout.split('\n');
      expect([found, sum]).toEqual([isolation === 'none' ? node : '/opt/node/bin/node', '2']);
      expect(seen.includes(`${sandbox.home}/private`)).toBe(isolation === 'none');
    } finally {
      await sandbox.cloud(['local', 'stop', '-q']);
      remove();
    }
  },
);

/** Runs a shell line where `bwrap` is one that knows no --disable-userns, as before release 0.8. */
async function runWithOldBubblewrap({ shell, write }: Sandbox, line: string): Promise<string> {
  const real = ['/usr/bin/bwrap', '/bin/bwrap'].find((path) => existsSync(path));
  if (real === undefined) throw new Error('bubblewrap is not installed: apt-get install bubblewrap');
  // The users of zones start it too, and cannot enter a home.
  const folder = mkdtempSync('/tmp/cloud-old-bubblewrap-');
  try {
    const script = [
      '#!/bin/sh',
      `[ "$1" != --help ] || { ${folder}/real --help 2>&1 | grep -v disable-userns; exit; }`,
      'for word; do [ "$word" != --disable-userns ] || { echo "bwrap: Unknown option --disable-userns" >&2; exit 1; }; done',
      `exec ${folder}/real "$@"`,
    ];
    copyFileSync(real, join(folder, 'real'));
    writeFileSync(join(folder, 'old'), `${script.join('\n')}\n`);
    for (const path of [folder, join(folder, 'real'), join(folder, 'old')]) chmodSync(path, 0o755);
    write('line', line);
    const user = userInfo().uid === 0 ? [] : ['--map-root-user'];
    const words = ['unshare', ...user, '--mount', '--propagation', 'private', 'bash', '-c'].join(' ');
    const { stdout, stderr } = await shell(`${words} 'mount --bind ${folder}/old ${real} && . ./line'`);
    return stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('where bubblewrap is older than 0.8 the filter alone keeps tasks from making user namespaces', { timeout: 60_000 }, async () => {
  requireSandboxes();
  const home = createSandbox();
  try {
    const start = 'cloud local start --compute-port 0 --stor-port 0 --isolation bubblewrap >start.out 2>&1';
    const task = 'grep -c "^Seccomp:.2" /proc/self/status; unshare --user true 2>&1; unshare --user --map-root-user true 2>&1';
    const run = `cloud jobs run -q --map '${task.replaceAll("'", "'\\''")}; true' /demo/stor/f`;
    const written = await runWithOldBubblewrap(
      home.sandbox,
      `bwrap --disable-userns true; ${start} && touch f && cloud stor put -q f /demo/stor/f && ${run}; cloud local stop -q`,
    );
    expect(written.split('\n')).toEqual([
      '1',
      'unshare: unshare failed: Operation not permitted',
      'unshare: unshare failed: Operation not permitted',
      'bwrap: Unknown option --disable-userns',
      '',
    ]);
  } finally {
    home.remove();
  }
});
