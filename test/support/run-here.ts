import { setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { afterAll } from 'vitest';
import { run } from '../../src/run.ts';
import { createRsaKey } from './service.ts';

/** What a command wrote, and how it ended. */
export interface Shown {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** stdout as it was. */
  readonly bytes: Buffer;
}

/** Where and how a command runs. */
export interface Place {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly isTerminal?: boolean;
  readonly input?: string | Uint8Array;
  readonly cwd?: string;
  /** The built program, for commands that start or end processes of it. */
  readonly program?: string;
  /** The system does not say the bytes of arguments. */
  readonly hidesBytes?: boolean;
}

/** The program in this process: quick enough to run every command many times. */
export interface Here {
  readonly home: string;
  run(argv: readonly string[], place?: Place): Promise<Shown>;
}

/** Milliseconds after which a command that runs here is interrupted. */
const longest = 120_000;

/** Runs the program in this process, in a home. */
export async function runIn(home: string, argv: readonly string[], place: Place = {}): Promise<Shown> {
  const { env = {}, isTerminal = false, input = '', hidesBytes = false, cwd = home, program = '' } = place;
  const pieces = { out: [] as Buffer[], err: [] as Buffer[] };
  const output = (name: 'out' | 'err') => {
    const stream = new Writable({ write: (piece: Buffer, _encoding, done) => (pieces[name].push(piece), done()) });
    return { stream, isTerminal, columns: () => 80 };
  };
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const limit = setTimeout(() => stop.abort(), longest);
  const code = await run({
    argv,
    argumentBytes: () => (hidesBytes ? undefined : argv.map((word) => Buffer.from(word))),
    env: { HOME: home, NO_COLOR: '1', ...env },
    stdin: { stream: Readable.from(input.length === 0 ? [] : [Buffer.from(input)]), isTerminal: false },
    stdout: output('out'),
    stderr: output('err'),
    now: Date.now,
    cwd,
    home,
    pid: process.pid,
    kill: (pid, signal) => void (program !== '' && process.kill(pid, signal)),
    executable: process.execPath,
    program,
    release: process.version,
    system: `${process.platform} ${process.arch}`,
    interrupted: stop.signal,
    heedsSignals: () => true,
  });
  clearTimeout(limit);
  const bytes = Buffer.concat(pieces.out);
  return { code, bytes, out: bytes.toString(), err: Buffer.concat(pieces.err).toString() };
}

/** A home with a key of its own, and the program run there in this process. */
export function useHere(): Here {
  const home = mkdtempSync(join(tmpdir(), 'cloud-here-'));
  const keyFile = join(home, 'key.pem');
  writeFileSync(keyFile, createRsaKey().privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  afterAll(() => rmSync(home, { recursive: true, force: true }));
  return {
    home,
    run: (argv, place = {}) => {
      const env = { CLOUD_ACCOUNT: 'demo', CLOUD_KEY_FILE: keyFile, ...place.env };
      return runIn(home, argv, { ...place, env });
    },
  };
}
