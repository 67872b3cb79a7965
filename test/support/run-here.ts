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
}

/** Where and how a command runs. */
export interface Place {
  readonly env?: Readonly<Record<string, string>>;
  readonly isTerminal?: boolean;
  readonly input?: string;
}

/** The program in this process: quick enough to run every command many times. */
export interface Here {
  readonly home: string;
  run(argv: readonly string[], place?: Place): Promise<Shown>;
}

/** A home with a key of its own, and the program run there in this process. */
export function useHere(): Here {
  const home = mkdtempSync(join(tmpdir(), 'cloud-here-'));
  const keyFile = join(home, 'key.pem');
  writeFileSync(keyFile, createRsaKey().privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  afterAll(() => rmSync(home, { recursive: true, force: true }));
  return {
    home,
    run: async (argv, { env = {}, isTerminal = false, input = '' } = {}) => {
      const shown = { out: '', err: '' };
      const output = (name: 'out' | 'err') => {
        const stream = new Writable({ write: (piece: Buffer, _encoding, done) => ((shown[name] += piece.toString()), done()) });
        return { stream, isTerminal, columns: () => 80 };
      };
      const stop = new AbortController();
      setMaxListeners(0, stop.signal);
      const limit = setTimeout(() => stop.abort(), 15_000);
      const code = await run({
        argv,
        env: { HOME: home, CLOUD_ACCOUNT: 'demo', CLOUD_KEY_FILE: keyFile, NO_COLOR: '1', ...env },
        stdin: { stream: Readable.from(input === '' ? [] : [Buffer.from(input)]), isTerminal: false },
        stdout: output('out'),
        stderr: output('err'),
        now: Date.now,
        cwd: home,
        home,
        pid: process.pid,
        kill: () => undefined,
        executable: process.execPath,
        program: '',
        release: process.version,
        interrupted: stop.signal,
        heedsSignals: () => true,
      });
      clearTimeout(limit);
      return { code, ...shown };
    },
  };
}
