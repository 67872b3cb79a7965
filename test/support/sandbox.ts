import { spawn } from 'node:child_process';
import { chmodSync, existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { runLine } from './command-lines.ts';
import { endLocal, removeHome } from './end-service.ts';
import { codeFolder, sharedCode } from './global-setup.ts';
import { copyTemplate, describeEnvironment } from './local-template.ts';
import { runIn } from './run-here.ts';

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
  /** Those of `--add-account`. */
  accounts?: { account: string; accountId: string; keyId: string; keyFile: string; profile: string }[];
}

/** Commands that are a process of the program for as long as something runs, or tell of that process. */
const builtOnly = new Set(['doctor', 'local record', 'local run', 'local serve', 'local try', 'version']);

function needsBuilt([noun = '', verb = '']: readonly string[]): boolean {
  return builtOnly.has(noun) || builtOnly.has(`${noun} ${verb}`);
}

/** A user of the program: an empty home of its own, the built program, and perhaps a local service. */
export interface Sandbox {
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  /** Runs `cloud` with these words. */
  cloud(words: readonly string[], options?: RunOptions): Promise<Outcome>;
  /**
   * Runs `cloud`, expects exit code 0, and returns its output as JSON. In this process, which takes a tenth of the time of one
   * of its own; but commands that serve, or tell of the process, run as the built program.
   */
  json<T = unknown>(...words: string[]): Promise<T>;
  /**
   * Runs `cloud` in this process, which takes a tenth of the time: for what is said and done, not for how a process starts, ends,
   * or treats a terminal. One scenario of each noun runs as the built program.
   */
  here(words: readonly string[], options?: RunOptions): Promise<Outcome>;
  /**
   * Runs a line whose commands of `cloud` need nothing of a shell but quotation marks, `;`, `&&`, and input from `echo`: the commands as
   * `here` does, the helper programs in bash. For what a test needs before its subject.
   */
  line(line: string, options?: RunOptions): Promise<Pick<Outcome, 'code' | 'stdout' | 'stderr'>>;
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
      try {
        const bytes = Buffer.concat(out);
        done({ code, signal, stdout: bytes.toString(), stderr: Buffer.concat(err).toString(), bytes });
      } catch (error) {
        // More than a text can hold.
        failed(error);
      }
    });
  });
}

function readJson(words: readonly string[], { code, stdout, stderr }: Outcome): unknown {
  if (code !== 0) throw new Error(`cloud ${words.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Gives the files of a folder to another one, which has its own when it has written any. */
function linkFiles(from: string, to: string): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(from)) {
    const isWhole = !name.endsWith('.starting') && !existsSync(join(to, name));
    try {
      if (isWhole) linkSync(join(from, name), join(to, name));
    } catch {
      // Another process was quicker, or has removed what it was writing.
    }
  }
}

/** Gives a home the compiled code of all; `returnCode` gives what it has compiled to all. */
function shareCode(home: string): void {
  const shared = process.env[sharedCode];
  if (shared !== undefined) linkFiles(shared, join(home, codeFolder));
}

export function returnCode(home: string): void {
  const shared = process.env[sharedCode];
  if (shared !== undefined && existsSync(join(home, codeFolder))) linkFiles(join(home, codeFolder), shared);
}

/** A new sandbox and how to remove it. */
export function createSandbox(): { sandbox: Sandbox; remove: () => void } {
  const home = mkdtempSync(join(tmpdir(), 'cloud-e2e-'));
  shareCode(home);
  mkdirSync(join(home, 'bin'));
  const script = join(home, 'bin', 'cloud');
  writeFileSync(script, `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`);
  chmodSync(script, 0o755);
  const env = describeEnvironment(home);
  const cloud = (words: readonly string[], options: RunOptions = {}): Promise<Outcome> =>
    runProcess(process.execPath, [program, ...words], env, { cwd: home, ...options });
  const here = async (words: readonly string[], options: RunOptions = {}): Promise<Outcome> => {
    const { code, out, err, bytes } = await runIn(home, words, { ...options, program, env: { ...env, ...options.env } });
    return { code, signal: null, stdout: out, stderr: err, bytes };
  };
  const sandbox: Sandbox = {
    home,
    env,
    cloud,
    here,
    json: async <T>(...words: string[]) => {
      const argv = [...words, '-j'];
      if (needsBuilt(words)) return readJson(argv, await cloud(argv)) as T;
      return readJson(argv, await here(argv)) as T;
    },
    line: (line, options = {}) =>
      runLine(line, {
        bash: (text) => sandbox.shell(text, options),
        cloud: (words, input) => here(words, { ...options, input }),
      }),
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
  const remove = (): void => {
    returnCode(home);
    removeHome(home);
  };
  return { sandbox, remove };
}

/** A sandbox for a test file. */
export function useSandbox(): Sandbox {
  const { sandbox, remove } = createSandbox();
  afterAll(remove);
  return sandbox;
}

/** Switches for the local service of every test: CLOUD_TEST_STALENESS lets reads lag so many milliseconds, unless the test says how many. */
export function listSwitches(words: readonly string[]): string[] {
  const staleness = process.env['CLOUD_TEST_STALENESS'];
  return staleness === undefined || words.includes('--staleness') ? [] : ['--staleness', staleness];
}

/** A sandbox with a local service of its own on free ports, whose profile is the current one. */
export function useLocal(...words: string[]): Sandbox {
  const { sandbox, remove } = createSandbox();
  let local: LocalInfo | undefined;
  beforeAll(async () => {
    copyTemplate(sandbox.home, words);
    local = await sandbox.json<LocalInfo>('local', 'start', '--compute-port', '0', '--stor-port', '0', ...words, ...listSwitches(words));
  });
  // Proofs leave hundreds of thousands of files.
  afterAll(async () => {
    if (local) await endLocal(sandbox.home, local.dataDir);
    remove();
  }, 600_000);
  return Object.defineProperty(sandbox, 'local', {
    get: () => {
      if (!local) throw new Error('the local service has not started yet');
      return local;
    },
  });
}
