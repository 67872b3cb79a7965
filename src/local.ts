import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ClockState, FaultState, RecordedRequest, SnapshotInfo } from './api/control-values.ts';
import { sendControl } from './base/control-request.ts';
import { shortenSocketPath } from './base/control-socket.ts';

/** The module `cloud/local`: services for the test suites of programs in JavaScript and TypeScript. */

export type { ClockState, FaultState, RecordedRequest, SnapshotInfo } from './api/control-values.ts';

/** What services begin with. */
export interface StartOptions {
  /** Login of the account; `demo` when absent. */
  readonly account?: string;
  /** No sample images, packages, instances and directories. */
  readonly empty?: boolean;
  /** Objects, users and roles to begin with, as `cloud local seed` takes them: a directory, or an access document. */
  readonly fixtures?: string;
  /** A recording of `cloud local record`, which answers in place of the services. */
  readonly replay?: string;
  /** Further options of `cloud local run`, such as `['--throttle', '10/s']`. */
  readonly options?: readonly string[];
  /** File for a line about each request. */
  readonly log?: string;
}

/** What a fault is limited to. */
export interface FaultOptions {
  /** Only requests whose path fits; `*` stands for any characters. */
  readonly path?: string;
  /** Only requests of this account and its users. */
  readonly account?: string;
  /** So many times; always when absent. */
  readonly count?: number;
  /** Of how many requests, 1 being all. */
  readonly rate?: number;
  /** With the same one `rate` chooses the same requests again. */
  readonly seed?: number;
}

/** The clock of services. Times are ISO 8601 or a `Date`, durations milliseconds. */
export interface LocalClock {
  get(): Promise<ClockState>;
  set(time: string | Date): Promise<ClockState>;
  advance(milliseconds: number): Promise<ClockState>;
  /** Moves the check of the dates of requests alone. */
  skew(milliseconds: number): Promise<ClockState>;
  reset(): Promise<ClockState>;
}

/** Failures on command. */
export interface LocalFaults {
  list(): Promise<readonly FaultState[]>;
  /**
   * @param operation as in policies, such as `getobject`; `*` for all
   * @param failure a status (`503`), a code, or a word of `cloud local faults add`, such as `close` or `latency:2s`
   */
  add(operation: string, failure: string, options?: FaultOptions): Promise<FaultState>;
  /** Ends a fault, or all of them; requests that they hold go on. */
  clear(id?: number): Promise<void>;
}

/** Services that run until `stop`, or until the process that started them ends. Nothing of them is left then. */
export interface LocalServices {
  readonly computeUrl: string;
  readonly storUrl: string;
  readonly account: string;
  /** MD5 fingerprint of the key. */
  readonly keyId: string;
  /** File of the private key, PEM. */
  readonly keyFile: string;
  /** File of the authority to trust, PEM; undefined with `--http`. */
  readonly caFile: string | undefined;
  readonly dataDir: string;
  /** Variables by which programs find the services: `CLOUD_*`, `TRITON_*`, `SDC_*`, `MANTA_*`, and what they trust. */
  readonly env: Readonly<Record<string, string>>;
  readonly clock: LocalClock;
  readonly faults: LocalFaults;
  /** What programs sent, the latest 1000 requests. */
  requests(filter?: { readonly failed?: boolean; readonly after?: number }): Promise<readonly RecordedRequest[]>;
  /** Keeps what the services hold under a name. */
  snapshot(name: string): Promise<SnapshotInfo>;
  /** Gives back what a snapshot holds. */
  restore(name: string): Promise<void>;
  /** Begins anew with the same accounts and keys. */
  reset(): Promise<void>;
  /** Other services with the same state, or that of a snapshot, on other ports. Contents are linked, not copied. */
  fork(options?: { readonly snapshot?: string }): Promise<LocalServices>;
  stop(): Promise<void>;
}

/** A refusal of the services, or of the program that starts them. */
export class LocalServiceError extends Error {
  override readonly name: string = 'LocalServiceError';
  /** `UsageError`, `NotFound`, `LocalError` ... */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Variables that a program of the services gets. */
const given = /^(?:CLOUD|TRITON|SDC|MANTA)_|^(?:NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE)$/;

/** The program that `cloud local run` runs: it tells its environment, and ends when nobody holds its input any more. */
const holder = `process.stdout.write(JSON.stringify(process.env) + '\\n'); process.stdin.resume().on('end', () => process.exit(0))`;

function listWords({ account, empty, fixtures, replay, log, options = [] }: StartOptions): string[] {
  const named = Object.entries({ account, fixtures, replay, log }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  return [...named, ...(empty === true ? ['--empty'] : []), ...options];
}

/** What the program said last, which ended before the services were there. */
function readFailure(said: string): LocalServiceError {
  const line = said.trim().split('\n').at(-1) ?? '';
  try {
    const { code, message, hint } = JSON.parse(line) as { code: string; message: string; hint?: string };
    return new LocalServiceError(code, hint === undefined ? message : `${message} (${hint})`);
  } catch {
    return new LocalServiceError('StartFailed', said.trim() || 'the services did not start');
  }
}

/** Reads the first line that a program prints. @throws {LocalServiceError} with what it said when it ends before */
async function readEnvironment(child: ChildProcess): Promise<Record<string, string>> {
  let [told, said] = ['', ''];
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
  child.stdout?.setEncoding('utf8');
  const ended = once(child, 'close').then(() => {
    throw readFailure(said);
  });
  // Whoever waits for the line hears of it; nobody else does.
  ended.catch(() => undefined);
  while (!told.includes('\n')) {
    const [text] = (await Promise.race([once(child.stdout ?? child, 'data'), ended])) as [string];
    told += text;
  }
  const all = JSON.parse(told) as Record<string, string>;
  return Object.fromEntries(Object.entries(all).filter(([name]) => given.test(name)));
}

/** Does an operation of the control interface. */
async function control<T>(dataDir: string, name: string, input: object): Promise<T> {
  const short = shortenSocketPath(dataDir);
  try {
    const { status, text } = await sendControl(short, name, JSON.stringify(input));
    const value = JSON.parse(text) as T & { code: string; message: string };
    if (status !== 200) throw new LocalServiceError(value.code, value.message);
    return value;
  } finally {
    short.close();
  }
}

function createClock(dataDir: string): LocalClock {
  const change = (input: object): Promise<ClockState> => control(dataDir, 'clock', input);
  return {
    get: () => change({}),
    set: (time) => change({ set: typeof time === 'string' ? time : time.toISOString() }),
    advance: (milliseconds) => change({ advance: milliseconds }),
    skew: (milliseconds) => change({ skew: milliseconds }),
    reset: () => change({ reset: true }),
  };
}

function createFaults(dataDir: string): LocalFaults {
  return {
    list: async () => (await control<{ faults: FaultState[] }>(dataDir, 'faults', {})).faults,
    add: (operation, failure, options = {}) => control(dataDir, 'addFault', { ...options, operation, failure }),
    clear: async (id) => void (await control(dataDir, 'clearFaults', id === undefined ? {} : { id })),
  };
}

async function launch(words: readonly string[]): Promise<LocalServices> {
  const program = join(import.meta.dirname, 'start.js');
  const line = [program, 'local', 'run', '--json', ...words, '--', process.execPath, '-e', holder];
  const child = spawn(process.execPath, line, { stdio: ['pipe', 'pipe', 'pipe'] });
  const closed = once(child, 'close');
  const env = await readEnvironment(child);
  child.stdout.resume();
  // A suite that forgets to stop them ends all the same, and they with it.
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as unknown as { unref(): void }).unref();
  const read = (name: string): string => env[name] ?? '';
  const dataDir = read('CLOUD_LOCAL_DATA');
  const stop = async (): Promise<void> => {
    child.ref();
    child.stdin.end();
    await closed;
  };
  return {
    computeUrl: read('CLOUD_URL'),
    storUrl: read('CLOUD_STOR_URL'),
    account: read('CLOUD_ACCOUNT'),
    keyId: read('CLOUD_KEY_ID'),
    keyFile: read('CLOUD_KEY_FILE'),
    caFile: env['CLOUD_CA'],
    dataDir,
    env,
    clock: createClock(dataDir),
    faults: createFaults(dataDir),
    requests: async (filter = {}) => (await control<{ requests: RecordedRequest[] }>(dataDir, 'requests', filter)).requests,
    snapshot: (name) => control(dataDir, 'snapshot', { name }),
    restore: async (name) => void (await control(dataDir, 'restore', { name })),
    reset: async () => void (await control(dataDir, 'reset', {})),
    fork: ({ snapshot } = {}) => launch(['--data', dataDir, ...(snapshot === undefined ? [] : ['--snapshot', snapshot])]),
    stop,
  };
}

/**
 * Starts both services on free ports with data of their own, which are removed when they stop. Any number may run side by side; profiles are
 * not touched.
 * @throws {LocalServiceError} with what `cloud local run` said
 */
export async function startLocal(options: StartOptions = {}): Promise<LocalServices> {
  return await launch(listWords(options));
}
