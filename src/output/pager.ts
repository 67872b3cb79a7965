import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import type { OutputStream, World } from '../base/world.ts';

/**
 * The command that shows long tables: `CLOUD_PAGER`, else `PAGER`. None when empty, `cat`, for a terminal that cannot move its cursor, and
 * in the background, where a pager would be stopped.
 */
export function findPager({ env, stdout }: Pick<World, 'env' | 'stdout'>): string | undefined {
  const command = (env['CLOUD_PAGER'] ?? env['PAGER'] ?? '').trim();
  if (!stdout.isTerminal || command === '' || command === 'cat' || env['TERM'] === 'dumb') return undefined;
  return stdout.isForeground?.() === false ? undefined : command;
}

/** An output that a pager may show. */
export interface Paged {
  readonly out: OutputStream;
  /** Waits until the pager is left, or writes what was too short for it. */
  readonly finish: () => Promise<void>;
}

/** Options of less without which colours would not show, unless the user has their own. */
function pagerEnvironment(env: World['env']): NodeJS.ProcessEnv {
  return { ...env, LESS: env['LESS'] ?? 'FRX', LV: env['LV'] ?? '-c' };
}

function countLines(pieces: readonly Buffer[]): number {
  let lines = 0;
  for (const piece of pieces) for (const byte of piece) if (byte === 0x0a) lines += 1;
  return lines;
}

/** Shows what is written on a terminal as it is while it fits the screen, else in the pager. */
export function openPager(command: string, { env, stdout }: Pick<World, 'env' | 'stdout'>): Paged {
  const rows = stdout.rows?.() ?? 24;
  let early: Buffer[] | undefined = [];
  let pager: { stdin: Writable; left: Promise<unknown> } | undefined;

  function start(): Writable {
    const child = spawn(command, { shell: true, stdio: ['pipe', 'inherit', 'inherit'], env: pagerEnvironment(env) });
    // A pager that is left early wants no more: the write fails as with any closed pipe.
    child.stdin.on('error', () => undefined);
    pager = { stdin: child.stdin, left: once(child, 'close') };
    return child.stdin;
  }

  const stream = new Writable({
    write(piece: Buffer, _encoding, done) {
      if (early === undefined) {
        pager?.stdin.write(piece, done);
        return;
      }
      early.push(piece);
      // The prompt needs a line too.
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
