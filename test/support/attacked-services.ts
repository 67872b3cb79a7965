import { spawn } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { removeHome } from './end-service.ts';
import { listSandboxes } from './job-sandboxes.ts';

/**
 * Services whose tasks attack the machine: as the user of the tests, and as `nobody` where the tests run as root; in each sandbox, and
 * once without any, where an attack must succeed, as otherwise it would prove nothing.
 */

const repository = resolve(import.meta.dirname, '../..');

/** What a job wrote. */
export interface Attack {
  /** Contents of its outputs. */
  readonly stdout: string;
  /** What the command says of failures, with the standard error of tasks. */
  readonly stderr: string;
}

/** A service that is attacked. */
export interface Attacked {
  readonly name: string;
  readonly isolation: 'bubblewrap' | 'namespaces' | 'none';
  /** Home of the service's user, which holds its data. */
  readonly home: string;
  readonly dataDir: string;
  readonly pid: number;
  /** Runs a command on an input, in a job of one phase with these options of `cloud jobs run`. */
  run(command: string, options?: readonly string[], inputs?: readonly string[]): Promise<Attack>;
  cloud(...words: string[]): Promise<Attack & { code: number | null }>;
  /** Writes a file below the home, as the service's user. */
  write(name: string, content: string): string;
}

/** Where services run under another user's eyes: in /tmp, whatever TMPDIR says. */
const base = '/tmp';

interface Kind {
  readonly isolation: Attacked['isolation'];
  readonly isNobody: boolean;
}

const nobody = { uid: 65534, gid: 65534 };

function listKinds(): Kind[] {
  const isRoot = userInfo().uid === 0;
  const users = isRoot ? [false, true] : [false];
  return [
    { isolation: 'none', isNobody: false },
    ...(['bubblewrap', 'namespaces'] as const).flatMap((isolation) => users.map((isNobody) => ({ isolation, isNobody }))),
  ];
}

function create({ isolation, isNobody }: Kind): Attacked & { start(): Promise<void>; remove(): Promise<void> } {
  const home = mkdtempSync(join(base, 'cloud-attack-'));
  if (isNobody) chownSync(home, nobody.uid, nobody.gid);
  const env = {
    HOME: home,
    PATH: process.env['PATH'] ?? '',
    LANG: 'C.UTF-8',
    TMPDIR: home,
    SECRET_OF_THE_SERVICE: 'seen in the environment',
  };
  const prefix = isNobody ? ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups', '--'] : [];
  const cloud: Attacked['cloud'] = (...words) =>
    new Promise((done, failed) => {
      const [program = '', ...rest] = [...prefix, process.execPath, join(repository, 'bin/cloud'), ...words];
      const child = spawn(program, rest, { env, cwd: home, stdio: ['ignore', 'pipe', 'pipe'] });
      const [out, err]: [Buffer[], Buffer[]] = [[], []];
      child.stdout.on('data', (piece: Buffer) => out.push(piece));
      child.stderr.on('data', (piece: Buffer) => err.push(piece));
      child.on('error', failed);
      child.on('close', (code) => done({ code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() }));
    });
  let pid = 0;
  const dataDir = join(home, 'data');
  return {
    name: `${isolation}${isNobody ? ' as nobody' : ''}`,
    isolation,
    home,
    dataDir,
    get pid() {
      return pid;
    },
    cloud,
    run: async (command, options = [], inputs = ['/demo/stor/input']) => cloud('jobs', 'run', '--map', command, ...options, ...inputs),
    write: (name, content) => {
      const file = join(home, name);
      mkdirSync(resolve(file, '..'), { recursive: true });
      writeFileSync(file, content);
      if (isNobody) for (const path of [file, resolve(file, '..')]) if (path !== home) chownSync(path, nobody.uid, nobody.gid);
      return file;
    },
    start: async () => {
      const words = ['--data', dataDir, '--compute-port', '0', '--stor-port', '0', '--isolation', isolation, '--empty', '-j'];
      const { code, stdout, stderr } = await cloud('local', 'start', ...words);
      if (code !== 0) throw new Error(`the service did not start: ${stderr}`);
      const told = JSON.parse(stdout) as { isolation: string; pid: number };
      ({ pid } = told);
      if (told.isolation !== isolation) throw new Error(`there is no ${isolation} here: ${stderr}`);
      // Too long for a row of the database: tasks get a link of the stored file.
      writeFileSync(join(home, 'input'), `${'input '.repeat(2000)}\n`, { mode: 0o644 });
      const put = await cloud('stor', 'put', 'input', '/demo/stor/input', '-q');
      if (put.code !== 0) throw new Error(put.stderr);
    },
    remove: async () => {
      if (pid !== 0) await cloud('local', 'stop', '--data', dataDir, '-q');
      removeHome(home);
    },
  };
}

/** Attacked services for a test file: the one without a sandbox, where attacks succeed, and all others. */
export function useAttackedServices(): { readonly open: Attacked; readonly sandboxed: readonly Attacked[] } {
  const missing = (['bubblewrap', 'namespaces'] as const).filter((kind) => !listSandboxes().includes(kind));
  const services = missing.length === 0 ? listKinds().map(create) : [];
  beforeAll(async () => {
    if (missing.length > 0) {
      throw new Error(
        `no sandbox of ${missing.join(' and ')} can be made here, so that nothing can be proved: apt-get install bubblewrap util-linux, and allow user namespaces`,
      );
    }
    await Promise.all(services.map((service) => service.start()));
  }, 120_000);
  afterAll(async () => {
    await Promise.all(services.map((service) => service.remove()));
  }, 120_000);
  const [open, ...sandboxed] = services;
  return {
    get open() {
      if (!open) throw new Error('there is no sandbox here');
      return open;
    },
    sandboxed,
  };
}

/** Services of a test file, as `useAttackedServices` gives them. */
export type AttackedServices = ReturnType<typeof useAttackedServices>;

/** Runs an attack in every sandbox, where it must fail, and without one, where it must succeed. */
export async function prove({ open, sandboxed }: AttackedServices, attack: (service: Attacked) => Promise<boolean>): Promise<void> {
  const results = await Promise.all([open, ...sandboxed].map(async (service) => [service.name, await attack(service)]));
  expect(results).toEqual(results.map(([name], index) => [name, index === 0]));
}

/** Whether a text is in a file below a directory. */
export function holds(directory: string, text: string): boolean {
  const names = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return names.some(({ parentPath, name }) => {
    try {
      return readFileSync(join(parentPath, name)).includes(text);
    } catch {
      return false;
    }
  });
}
