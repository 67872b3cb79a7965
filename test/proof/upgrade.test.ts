import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asRoot, buildPackages, clone, createDebianRoot, createEnvironment, findFile, root, version } from '../support/release.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';

/** A later release takes the place of an older one while commands of that and its local service run. */

const folder = mkdtempSync(join(tmpdir(), 'cloud-upgrade-'));
const laterVersion = version.replace(/^\d+/, '99');
const [older, later] = [join(folder, 'older'), join(folder, 'later')];

beforeAll(() => {
  buildPackages(clone(older));
  buildPackages(clone(later, laterVersion));
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Milliseconds that the service lets each response wait: all commands run when the upgrade comes. */
const latencyMs = 3000;

/** Commands that have to load further code when the response is there: formats, errors, transfers. */
const commands = [
  'images list',
  'images list -o yaml',
  'images list -o csv',
  'images list --jq length',
  'images get debian-12',
  'images get nothing-of-this-name',
  'packages list --sort memory -l',
  'packages get nothing-of-this-name -j',
  'keys list',
  'keys get nothing -o jsonl',
  'account get',
  'users list -j',
  'roles get nobody',
  'policies list -o tsv',
  'datacenters list',
  'stor ls documents',
  'stor ls nowhere',
  'stor put -q file.txt kept.txt',
  'stor cat other.txt',
  'jobs list',
] as const;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A way to install and to upgrade. */
interface Way {
  /** The program, below the home of the user. */
  readonly program: string;
  /** Installs what was built in a clone, over an earlier release where there is one. */
  readonly install: (home: string, built: string) => void;
  /** Removes the program and all that belongs to it; undefined where the way to install replaces files. */
  readonly remove?: (home: string) => void;
}

function runTool(home: string, line: string, by: readonly string[] = []): void {
  const [file, ...words] = [...by, 'bash', '-euc', line];
  execFileSync(file, words, { cwd: home, env: createEnvironment(home, { npm_config_cache: join(folder, 'cache') }), stdio: 'pipe' });
}

const ways: Readonly<Record<string, Way>> = {
  npm: {
    program: 'prefix/bin/cloud',
    install: (home, built) => runTool(home, `npm install --silent --global --prefix prefix "${findFile(built, '.tgz')}"`),
  },
  dpkg: {
    program: 'system/usr/bin/cloud',
    install: (home, built) => {
      runTool(home, `${createDebianRoot(join(home, 'system'))} --install "${findFile(built, '.deb')}"`, asRoot);
    },
  },
  // Commands end while there is no program at all.
  'a folder that is removed and unpacked again': {
    program: 'package/dist/start.js',
    install: (home, built) => {
      runTool(home, `tar -xf "${findFile(built, '.tgz')}"`);
      symlinkSync(join(root, 'node_modules'), join(home, 'package/node_modules'));
    },
    remove: (home) => rmSync(join(home, 'package'), { recursive: true }),
  },
};

/** Whether a process waits for an answer of the service, or has ended. */
function isAsking({ pid = 0, exitCode }: ChildProcess): boolean {
  if (exitCode !== null) return true;
  const open = `/proc/${pid}/fd`;
  try {
    return readdirSync(open).some((fd) => Number(fd) > 2 && readlinkSync(join(open, fd)).startsWith('socket:'));
  } catch {
    return false;
  }
}

function begin(sandbox: Sandbox, program: string, line: string): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [join(sandbox.home, program), ...line.split(' ')], {
    env: sandbox.env,
    cwd: sandbox.home,
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (piece: Buffer) => out.push(piece));
  child.stderr.on('data', (piece: Buffer) => err.push(piece));
  const ended = new Promise<Ended>((done) => {
    child.on('close', (code) => {
      done({ code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() });
    });
  });
  return { child, ended };
}

/** Hides what is different each time: ids of requests, ports. */
function generalize({ code, stdout, stderr }: Ended): Ended {
  const hide = (text: string): string =>
    text.replaceAll(/(?<=localhost:)\d+/g, 'PORT').replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, 'ID');
  return { code, stdout: hide(stdout), stderr: hide(stderr) };
}

test.each(Object.entries(ways))(
  'an upgrade by %s under 20 running commands and a running service: each ends as it would have, and the service is told to be older',
  async (_, { program, install, remove: removeProgram }) => {
    const { sandbox, remove } = createSandbox();
    const { home } = sandbox;
    const run = async (line: string): Promise<Ended> => await begin(sandbox, program, line).ended;
    const start = 'local start --compute-port 0 --stor-port 0';
    try {
      sandbox.write('file.txt', 'kept');
      install(home, older);
      expect((await run(start)).code).toBe(0);
      await run('stor put -q file.txt other.txt');
      const expected = await Promise.all(commands.map(run));
      expect(expected.map(({ code }) => code)).toEqual(commands.map((line) => (/noth|nowhere|nobody/.test(line) ? 3 : 0)));
      await run('local stop');
      const started = await run(`${start} --latency ${latencyMs} -j`);
      expect(started.code, started.stderr).toBe(0);
      const { pid } = JSON.parse(started.stdout) as { pid: number };

      const running = commands.map((line) => begin(sandbox, program, line));
      while (!running.every(({ child }) => isAsking(child))) await sleep(10);
      const countRunning = (): number => running.filter(({ child }) => child.exitCode === null).length;
      // Nobody gets an answer before the upgrade is done, however long it takes.
      process.kill(pid, 'SIGSTOP');
      try {
        if (removeProgram) removeProgram(home);
        else install(home, later);
        expect(countRunning()).toBeGreaterThan(commands.length / 2);
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      for (const [at, { ended }] of running.entries()) {
        expect([commands[at], generalize(await ended)]).toEqual([commands[at], generalize(expected[at] as Ended)]);
      }

      if (removeProgram) install(home, later);
      expect((await run('--version')).stdout).toContain(`cloud ${laterVersion} `);
      const again = await run('local start');
      expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('the running service is older than this program')]);
      // The service goes on with the code that it began with, also where it had not been needed yet.
      const job = await run('jobs run --map wc /demo/stor/other.txt');
      expect([job.code, job.stdout], job.stderr).toEqual([0, expect.stringContaining('4')]);
      expect(await run('local stop')).toMatchObject({ code: 0, stderr: 'Stopped\n' });
    } finally {
      await run('local stop');
      remove();
    }
  },
);
