import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import type { OutputStream, World } from '../base/world.ts';

/**
 * The pager for long tables: `CLOUD_PAGER`, else `PAGER`. None if empty, if `cat`, on a terminal that cannot move its cursor, and in the
 * background, where a pager would be stopped.
 */
export function findPager({ env, stdout }: Pick<World, 'env' | 'stdout'>): string | undefined {
  const command = (env['CLOUD_PAGER'] ?? env['PAGER'] ?? '').trim();
  if (!stdout.isTerminal || command === '' || command === 'cat' || env['TERM'] === 'dumb') return undefined;
  return stdout.isForeground?.() === false ? undefined : command;
}

/** An output that may be shown in a pager. */
export interface Paged {
  readonly out: OutputStream;
  /** Waits until the user leaves the pager, or writes the output that was too short for it. */
  readonly finish: () => Promise<void>;
}

/** Sets options of less and lv that are needed to show colours, unless the user has set their own. */
function pagerEnvironment(env: World['env']): NodeJS.ProcessEnv {
  return { ...env, LESS: env['LESS'] ?? 'FRX', LV: env['LV'] ?? '-c' };
}

function countLines(chunks: readonly Buffer[]): number {
  let lines = 0;
  for (const chunk of chunks) for (const byte of chunk) if (byte === 0x0a) lines += 1;
  return lines;
}

/** Writes output directly to the terminal if it fits on the screen, else to the pager. */
export function openPager(command: string, { env, stdout }: Pick<World, 'env' | 'stdout'>): Paged {
  const rows = stdout.rows?.() ?? 24;
  let early: Buffer[] | undefined = [];
  let pager: { stdin: Writable; left: Promise<unknown> } | undefined;

  function start(): Writable {
    const child = spawn(command, { shell: true, stdio: ['pipe', 'inherit', 'inherit'], env: pagerEnvironment(env) });
    // If the user leaves the pager early, the write fails as with any closed pipe.
    child.stdin.on('error', () => undefined);
    pager = { stdin: child.stdin, left: once(child, 'close') };
    return child.stdin;
  }

  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (early === undefined) {
        pager?.stdin.write(chunk, done);
        return;
      }
      early.push(chunk);
      // One row is for the shell prompt.
      if (countLines(early) < rows) {
        done();
        return;
      }
      const all = Buffer.concat(early);
      early = undefined;
      start().write(all, done);
    },
  });
  stream.on('error', () => undefined);

  return {
    out: { stream, isTerminal: stdout.isTerminal, columns: stdout.columns },
    finish: async () => {
      if (pager) {
        pager.stdin.end();
        await pager.left;
      } else if (early !== undefined && early.length > 0) {
        const all = Buffer.concat(early);
        await new Promise<void>((resolve) => void stdout.stream.write(all, () => resolve()));
      }
    },
  };
}
