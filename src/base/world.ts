import type { Readable, Writable } from 'node:stream';
import type { Preparation } from './put-off.ts';

/** An input stream of the process. */
export interface InputStream {
  readonly stream: Readable;
  readonly isTerminal: boolean;
  /** Why reading would end immediately, which no user intends: `is closed`, `is a directory`. */
  readonly obstacle?: string | undefined;
}

export interface OutputStream {
  readonly stream: Writable;
  /** Writes as much as possible without the stream, which takes long to load, and returns the rest; absent if there is only the stream. */
  readonly writeEarly?: (text: string) => Uint8Array;
  readonly isTerminal: boolean;
  /** False while another job of the shell has the terminal: drawing there, or reading keys, may stop the process. Absent if unknown. */
  readonly isForeground?: () => boolean;
  /** Current width of the terminal in columns; 80 without a terminal. */
  readonly columns: () => number;
  /** Current height of the terminal in rows; absent if not needed. */
  readonly rows?: () => number;
}

/** Signals that end the program cleanly. */
export type EndSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** The program's only access to the process. `main.ts` creates the real one, tests create their own. */
export interface World {
  /** Arguments after `cloud`. */
  readonly argv: readonly string[];
  /** Raw arguments of the process, including those before `cloud`; undefined if the system does not provide them. */
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
  /** Sends a signal to another process; 0 only checks that it exists. Throws when it does not exist. */
  readonly kill: (pid: number, signal: 'SIGTERM' | 'SIGKILL' | 0) => void;
  /** The command to run this program again, for `local start` and `local try`: the Node.js executable and the file that it runs. */
  readonly executable: string;
  readonly program: string;
  /** Operating system and architecture, such as `linux x64`. */
  readonly system: string;
  /** Version of Node.js; files that one version cached may be useless to another. */
  readonly release: string;
  /** The reason why the cache folder is not used, found before the program was loaded. */
  readonly cacheProblem?: string | undefined;
  /**
   * Aborted by Ctrl-C (SIGINT), by SIGTERM, and by SIGHUP if the program uses a terminal. Code that reads this property stops its work
   * cleanly when it is aborted; until the first read, a signal ends the process.
   */
  readonly interrupted: AbortSignal;
  /**
   * Gives each signal that would interrupt the program to `receive` instead, until the returned function is called. Absent where there are
   * no signals.
   */
  readonly takeSignals?: (receive: (name: EndSignal) => void) => () => void;
  /** Calls `work` before SIGHUP or SIGQUIT ends the process, until the returned function is called. Absent where there are no signals. */
  readonly beforeHangup?: (work: () => void) => () => void;
  /** Calls the listener at each SIGHUP that does not end the program because it uses no terminal. Absent where there are no signals. */
  readonly onHangup?: (listener: () => void) => void;
  /** True if `interrupted` has been read. */
  readonly heedsSignals: () => boolean;
  /** Does work that blocks the event loop, during which a signal ends the process. Absent where there are no signals. */
  readonly runKillable?: <T>(work: () => T) => T;
  /** Puts off what V8 does for long work, when this run may be short. Absent if that gains nothing, or in shared processes. */
  readonly putOff?: (preparation: Preparation) => Promise<() => void>;
}

export function describeUnused(name: string, problem: string): string {
  return `not using the ${name}: ${problem}`;
}

/** Resolves when the program is interrupted. */
export function untilInterrupted({ interrupted }: Pick<World, 'interrupted'>): Promise<void> {
  return new Promise((resolve) => {
    if (interrupted.aborted) resolve();
    interrupted.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** True if a process exists, even one of another user. Code without a world passes Node.js's `process`. */
export function isAlive({ kill }: Pick<World, 'kill'>, pid: number): boolean {
  try {
    kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
