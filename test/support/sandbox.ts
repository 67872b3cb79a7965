import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { sharedCode } from './global-setup.ts';

const program = resolve(import.meta.dirname, '../../bin/cloud');

/** What a process printed and how it ended. */
export interface Outcome {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** stdout as it was. */
  bytes: Buffer;
}

interface RunOptions {
  /** Written to stdin, which is closed then. */
  input?: string | Uint8Array;
  env?: Record<string, string | undefined>;
  cwd?: string;
}

/** What `cloud local start -j` tells. */
export interface LocalInfo {
  computeUrl: string;
  storUrl: string;
  account: string;
  accountId: string;
  keyId: string;
  keyFile: string;
  caFile: string;
  dataDir: string;
  pid: number;
  profile: string;
}

/** A user of the program: an empty home of its own, the built program, and perhaps a local service. */
export interface Sandbox {
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  /** Runs `cloud` with these words. */
  cloud(words: readonly string[], options?: RunOptions): Promise<Outcome>;
  /** Runs `cloud`, expects exit code 0, and returns its output as JSON. */
  json<T = unknown>(...words: string[]): Promise<T>;
  /** Runs a line in bash, with `cloud` in the PATH. */
  shell(line: string, options?: RunOptions): Promise<Outcome>;
  /** Writes a file below the home and returns its path. */
  write(name: string, content: string | Uint8Array): string;
  /** The service that `useLocal` started. */
  readonly local: LocalInfo;
}

function runProcess(
  file: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  options: RunOptions & { cwd: string },
): Promise<Outcome> {
  return new Promise((done, failed) => {
    const child = spawn(file, words, { cwd: options.cwd, env: { ...env, ...options.env } });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (piece: Buffer) => out.push(piece));
    child.stderr.on('data', (piece: Buffer) => err.push(piece));
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
    child.on('error', failed);
    child.on('close', (code, signal) => {
      const bytes = Buffer.concat(out);
      done({ code, signal, stdout: bytes.toString(), stderr: Buffer.concat(err).toString(), bytes });
    });
  });
}

/** Lets a home have the compiled code of all. */
function shareCode(home: string): void {
  const folder = process.env[sharedCode];
  if (folder === undefined) return;
  mkdirSync(join(home, '.cache/cloud'), { recursive: true, mode: 0o700 });
  symlinkSync(folder, join(home, '.cache/cloud/code'));
}

/** A new sandbox and how to remove it. */
export function createSandbox(): { sandbox: Sandbox; remove: () => void } {
  const home = mkdtempSync(join(tmpdir(), 'cloud-e2e-'));
  shareCode(home);
  mkdirSync(join(home, 'bin'));
  const script = join(home, 'bin', 'cloud');
  writeFileSync(script, `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`);
  chmodSync(script, 0o755);
  const env = { HOME: home, PATH: `${join(home, 'bin')}:${process.env['PATH'] ?? ''}`, LANG: 'C.UTF-8', TMPDIR: home };
  const cloud = (words: readonly string[], options: RunOptions = {}): Promise<Outcome> =>
    runProcess(process.execPath, [program, ...words], env, { cwd: home, ...options });
  const sandbox: Sandbox = {
    home,
    env,
    cloud,
    json: async <T>(...words: string[]) => {
      const { code, stdout, stderr } = await cloud([...words, '-j']);
      if (code !== 0) throw new Error(`cloud ${words.join(' ')} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout) as T;
    },
    shell: (line, options = {}) => runProcess('bash', ['-c', line], env, { cwd: home, ...options }),
    write: (name, content) => {
      const file = join(home, name);
      mkdirSync(resolve(file, '..'), { recursive: true });
      writeFileSync(file, content);
      return file;
    },
    get local(): LocalInfo {
      throw new Error('this sandbox has no local service: useLocal()');
    },
  };
  return { sandbox, remove: () => rmSync(home, { recursive: true, force: true }) };
}

/** A sandbox for a test file. */
export function useSandbox(): Sandbox {
  const { sandbox, remove } = createSandbox();
  afterAll(remove);
  return sandbox;
}

/** Switches for the local service of every test: CLOUD_TEST_STALENESS lets reads lag so many milliseconds. */
function listSwitches(): string[] {
  const staleness = process.env['CLOUD_TEST_STALENESS'];
  return staleness === undefined ? [] : ['--staleness', staleness];
}

/** A sandbox with a local service of its own on free ports, whose profile is the current one. */
export function useLocal(...words: string[]): Sandbox {
  const { sandbox, remove } = createSandbox();
  let local: LocalInfo | undefined;
  beforeAll(async () => {
    local = await sandbox.json<LocalInfo>('local', 'start', '--compute-port', '0', '--stor-port', '0', ...words, ...listSwitches());
  });
  // Proofs leave hundreds of thousands of files.
  afterAll(async () => {
    if (local) await sandbox.cloud(['local', 'stop']);
    remove();
  }, 600_000);
  return Object.defineProperty(sandbox, 'local', {
    get: () => {
      if (!local) throw new Error('the local service has not started yet');
      return local;
    },
  });
}
