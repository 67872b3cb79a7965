import type { Readable, Writable } from 'node:stream';

/** An input or output stream of the process, and what is at its other end. */
export interface InputStream {
  readonly stream: Readable;
  readonly isTerminal: boolean;
  /** Whether the program was started without it: what is read then is the end at once, which nobody meant. */
  readonly isClosed?: boolean;
}

export interface OutputStream {
  readonly stream: Writable;
  /** Writes what can be written without the stream, which takes long to load, and returns the rest; absent where there is only the stream. */
  readonly writeEarly?: (text: string) => Uint8Array;
  readonly isTerminal: boolean;
  /** False while another job of the shell has the terminal: what draws there, or asks it for keys, may be stopped. Absent where nobody can tell. */
  readonly isForeground?: () => boolean;
  /** Columns of the terminal now; 80 where there is none. */
  readonly columns: () => number;
  /** Rows of the terminal now; absent where nobody asks. */
  readonly rows?: () => number;
}

/** The process as the program sees it: the only door to it. `main.ts` makes the real one, tests make theirs. */
export interface World {
  /** Arguments after `cloud`. */
  readonly argv: readonly string[];
  /** Arguments of the process as the system has them, also those before `cloud`; undefined where it does not say. */
  readonly argumentBytes?: () => readonly Uint8Array[] | undefined;
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
  readonly kill: (pid: number, signal: 'SIGTERM' | 'SIGKILL' | 0) => void;
  /** How to run this program again, for `local start` and `local try`: the Node.js executable and the file it runs. */
  readonly executable: string;
  readonly program: string;
  /** System and architecture, as `linux x64`. */
  readonly system: string;
  /** Release of Node.js: what it made for itself may mean nothing to another. */
  readonly release: string;
  /** Why the cache folder is not used, found out before the program was loaded. */
  readonly cacheProblem?: string | undefined;
  /** Aborted by Ctrl-C (SIGINT), by SIGTERM, and by SIGHUP where the program uses a terminal. Whoever asks for it brings its work to an orderly end; until somebody does, a signal ends the process. */
  readonly interrupted: AbortSignal;
  /** The signal that interrupted, once one has. Absent where there are no signals. */
  readonly interruptedBy?: () => 'SIGINT' | 'SIGTERM' | 'SIGHUP';
  /** Lets work be done when SIGHUP or SIGQUIT end the process, until the returned function is called. Absent where there are no signals. */
  readonly beforeHangup?: (work: () => void) => () => void;
  /** Calls the listener at each SIGHUP, where that does not end the program because it uses no terminal. Absent where there are no signals. */
  readonly onHangup?: (listener: () => void) => void;
  /** Whether somebody has asked for it. */
  readonly heedsSignals: () => boolean;
  /** Does work that leaves no turn to whoever would notice an interruption: meanwhile a signal ends the process. Absent where there are no signals. */
  readonly runKillable?: <T>(work: () => T) => T;
}

/** Says that a folder is not used, and why. */
export function describeUnused(name: string, problem: string): string {
  return `not using the ${name}: ${problem}`;
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
