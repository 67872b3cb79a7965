import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';

/** A line that runs at a terminal of its own. */
export interface TerminalSession {
  /** Types keys; `\u0003` is Ctrl-C. */
  type(keys: string): void;
  /** Waits until a pattern is shown, and returns all that was shown so far. */
  until(pattern: RegExp): Promise<string>;
  /** Closes the terminal, as closing its window does. */
  hangUp(): void;
  /** Waits for the end. */
  end(): Promise<{ code: number | null; text: string; raw: string }>;
}

/** How large the terminal is, and what it is called. */
interface TerminalOptions {
  env: NodeJS.ProcessEnv;
  cwd: string;
  columns?: number;
  rows?: number;
  term?: string;
  /** Most that is waited for something to be shown, milliseconds. */
  limit?: number;
}

/** Runs a line of the shell at a terminal, which comes from `script` (util-linux). */
export function openTerminal(
  line: string,
  { env, cwd, columns = 80, rows = 24, term = 'xterm', limit = 120_000 }: TerminalOptions,
): TerminalSession {
  const start = `stty cols ${columns} rows ${rows}; ${line}`;
  const child = spawn('script', ['-qefc', start, '/dev/null'], { cwd, env: { ...env, TERM: term, SHELL: '/bin/sh' } });
  let raw = '';
  let code: number | null | undefined;
  let wake = (): void => undefined;
  child.stdout.on('data', (piece: Buffer) => {
    raw += piece.toString();
    wake();
  });
  child.on('close', (ended) => {
    code = ended;
    wake();
  });
  async function wait(isEnough: () => boolean, what: string): Promise<void> {
    const deadline = Date.now() + limit;
    while (!isEnough()) {
      if (Date.now() > deadline) {
        child.kill('SIGKILL');
        throw new Error(`${line}: no ${what}: ${JSON.stringify(raw)}`);
      }
      await new Promise<void>((resume) => {
        const timer = setTimeout(resume, 1000);
        wake = () => {
          clearTimeout(timer);
          resume();
        };
      });
    }
  }
  const read = (): string => stripVTControlCharacters(raw).replaceAll('\r\n', '\n');
  return {
    type: (keys) => void child.stdin.write(keys),
    hangUp: () => void child.kill('SIGKILL'),
    until: async (pattern) => {
      await wait(() => pattern.test(read()) || code !== undefined, `"${pattern.source}"`);
      if (!pattern.test(read())) throw new Error(`${line} ended without "${pattern.source}": ${JSON.stringify(raw)}`);
      return read();
    },
    end: async () => {
      await wait(() => code !== undefined, 'end');
      return { code: code ?? null, text: read(), raw };
    },
  };
}
