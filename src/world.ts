import type { Readable, Writable } from 'node:stream';

/** An input or output stream of the process, and what is at its other end. */
export interface InputStream {
  readonly stream: Readable;
  readonly isTerminal: boolean;
}

export interface OutputStream {
  readonly stream: Writable;
  /** Writes what can be written without the stream, which takes long to load, and returns the rest; absent where there is only the stream. */
  readonly writeEarly?: (text: string) => Uint8Array;
  readonly isTerminal: boolean;
  /** Columns of the terminal now; 80 where there is none. */
  readonly columns: () => number;
  /** Rows of the terminal now; absent where nobody asks. */
  readonly rows?: () => number;
}

/** The process as the program sees it: the only door to it. `main.ts` makes the real one, tests make theirs. */
export interface World {
  /** Arguments after `cloud`. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly cwd: string;
  readonly home: string;
  /** Process id. */
  readonly pid: number;
  /** Sends a signal to another process; 0 only asks whether there is one. Throws when there is none. */
  readonly kill: (pid: number, signal: 'SIGTERM' | 0) => void;
  /** How to run this program again, for `local start` and `local try`: the Node.js executable and the file it runs. */
  readonly executable: string;
  readonly program: string;
  /** Release of Node.js: what it made for itself may mean nothing to another. */
  readonly release: string;
  /** Aborted by Ctrl-C (SIGINT) and SIGTERM. Whoever asks for it brings its work to an orderly end; until somebody does, a signal ends the process. */
  readonly interrupted: AbortSignal;
  /** Whether somebody has asked for it. */
  readonly heedsSignals: () => boolean;
  /** Does work that leaves no turn to whoever would notice an interruption: meanwhile a signal ends the process. Absent where there are no signals. */
  readonly runKillable?: <T>(work: () => T) => T;
}

/** Whether a process exists. */
export function isAlive({ kill }: Pick<World, 'kill'>, pid: number): boolean {
  try {
    kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
