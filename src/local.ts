import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ClockState, FaultState, RecordedRequest, SnapshotInfo } from './api/control-values.ts';
import { sendControl } from './base/control-request.ts';
import { isSystemError } from './base/errors.ts';

/** The module `cloud/local`: services for the test suites of programs in JavaScript and TypeScript. */

export type { ClockState, FaultState, RecordedRequest, SnapshotInfo } from './api/control-values.ts';

/** An account of services. */
export interface LocalAccount {
  readonly account: string;
  readonly accountId: string;
  /** MD5 fingerprint of its key. */
  readonly keyId: string;
  /** File of the private key, PEM; absent if the services have not generated it. */
  readonly keyFile?: string;
}

/** Initial state of services. */
export interface StartOptions {
  /** Login of the account; `demo` when absent. */
  readonly account?: string;
  /** Omit the sample images, packages, instances and directories. */
  readonly empty?: boolean;
  /** Objects, users and roles to add, as for `cloud local seed`: a directory, or an access document. */
  readonly fixtures?: string;
  /** A recording of `cloud local record`, which responds in place of the services. */
  readonly replay?: string;
  /** Further options of `cloud local run`, such as `['--throttle', '10/s']`. */
  readonly options?: readonly string[];
  /** File that gets a line for each request. */
  readonly log?: string;
}

/** Restricts a fault to certain requests. */
export interface FaultOptions {
  /** Only requests whose path matches; `*` matches any characters. */
  readonly path?: string;
  /** Only requests of this account and its users. */
  readonly account?: string;
  /** Number of times that the failure is injected; unlimited when absent. */
  readonly count?: number;
  /** Share of requests that fail, 1 being all. */
  readonly rate?: number;
  /** With the same seed, `rate` selects the same requests again. */
  readonly seed?: number;
}

/** The clock of the services. Times are ISO 8601 or a `Date`, durations milliseconds. */
export interface LocalClock {
  get(): Promise<ClockState>;
  set(time: string | Date): Promise<ClockState>;
  advance(milliseconds: number): Promise<ClockState>;
  /** Moves only the clock that checks request dates. */
  skew(milliseconds: number): Promise<ClockState>;
  reset(): Promise<ClockState>;
}

/** Fault injection. */
export interface LocalFaults {
  list(): Promise<readonly FaultState[]>;
  /**
   * @param operation as in policies, such as `getobject`; `*` for all
   * @param failure a status (`503`), a code, or a word of `cloud local faults add`, such as `close` or `latency:2s`
   */
  add(operation: string, failure: string, options?: FaultOptions): Promise<FaultState>;
  /** Removes a fault, or all of them; requests that it delays continue. */
  clear(id?: number): Promise<void>;
}

/** Services that run until `stop` is called or the process that started them ends. All their data is deleted then. */
export interface LocalServices {
  readonly computeUrl: string;
  readonly storUrl: string;
  readonly account: string;
  /** MD5 fingerprint of the key. */
  readonly keyId: string;
  /** File of the private key, PEM. */
  readonly keyFile: string;
  /** File of the certificate authority to trust, PEM; undefined with `--http`. */
  readonly caFile: string | undefined;
  readonly dataDir: string;
  /** The accounts of the option `--add-account`. */
  readonly accounts: readonly LocalAccount[];
  /**
   * Environment variables that configure clients: `CLOUD_*`, `TRITON_*`, `SDC_*`, `MANTA_*`, and those for trusted certificates. Settings of
   * this process that do not apply to the services, such as `CLOUD_PROFILE`, are empty.
   */
  readonly env: Readonly<Record<string, string>>;
  readonly clock: LocalClock;
  readonly faults: LocalFaults;
  /** The latest requests, at most 1000. */
  requests(filter?: { readonly failed?: boolean; readonly after?: number }): Promise<readonly RecordedRequest[]>;
  /** Saves the state of the services under a name. */
  snapshot(name: string): Promise<SnapshotInfo>;
  /** Restores the state of a snapshot. */
  restore(name: string): Promise<void>;
  /** Resets the services, keeping accounts and keys. */
  reset(): Promise<void>;
  /** Starts further services with the same state, or that of a snapshot, on other ports. Contents are hard links, not copies. */
  fork(options?: { readonly snapshot?: string }): Promise<LocalServices>;
  stop(): Promise<void>;
}

/** An error of the services, or of the program that starts them. */
export class LocalServiceError extends Error {
  override readonly name: string = 'LocalServiceError';
  /** `UsageError`, `NotFound`, `LocalError` ... */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Environment variables for clients of the services. */
const given = /^(?:CLOUD|TRITON|SDC|MANTA)_|^(?:NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE)$/;

/** The line with the environment; modules that NODE_OPTIONS preloads may print other lines. */
const environmentLine = /^cloud\/local (\{.*\})\n/mu;

/** The program that `cloud local run` runs: prints its environment, and exits when its stdin is closed. */
const holder = `process.stdout.write('\\ncloud/local ' + JSON.stringify(process.env) + '\\n'); process.stdin.resume().on('end', () => process.exit(0))`;

function listWords({ account, empty, fixtures, replay, log, options = [] }: StartOptions): string[] {
  const named = Object.entries({ account, fixtures, replay, log }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  return [...named, ...(empty === true ? ['--empty'] : []), ...options];
}

/** Parses the error of a program that ended before the services were ready. */
function readFailure(said: string): LocalServiceError {
  const line = said.trim().split('\n').at(-1) ?? '';
  try {
    const { code, message, hint } = JSON.parse(line) as { code: string; message: string; hint?: string };
    return new LocalServiceError(code, hint === undefined ? message : `${message} (${hint})`);
  } catch {
    return new LocalServiceError('StartFailed', said.trim() || 'the services did not start');
  }
}

/** Reads the line that `holder` prints. @throws {LocalServiceError} with its error output when it ends before */
async function readEnvironment(child: ChildProcess): Promise<Record<string, string>> {
  let [told, said] = ['', ''];
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
  child.stdout?.setEncoding('utf8');
  const ended = once(child, 'close').then(() => {
    throw readFailure(said);
  });
  // Avoids an unhandled rejection; the loop below still gets the error.
  ended.catch(() => undefined);
  while (!environmentLine.test(told)) {
    const [text] = (await Promise.race([once(child.stdout ?? child, 'data'), ended])) as [string];
    told += text;
  }
  const all = JSON.parse(environmentLine.exec(told)?.[1] ?? '{}') as Record<string, string>;
  // Variables of this process that `cloud local run` has removed, such as CLOUD_PROFILE: programs would get them with those of the process.
  const removed = Object.keys(process.env).flatMap((name) => (name in all ? [] : [[name, ''] as const]));
  return Object.fromEntries([...Object.entries(all), ...removed].filter(([name]) => given.test(name)));
}

/** Error codes of the socket of services that have stopped. */
const gone = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'ENOTDIR']);

/** Does an operation of the control interface. @throws {LocalServiceError} */
async function control<T>(dataDir: string, name: string, input: object): Promise<T> {
  try {
    const { status, text } = await sendControl(dataDir, name, input);
    const value = JSON.parse(text) as T & { code: string; message: string };
    if (status !== 200) throw new LocalServiceError(value.code, value.message);
    return value;
  } catch (error) {
    if (error instanceof LocalServiceError) throw error;
    const isGone = isSystemError(error) && gone.has(error.code ?? '');
    const message = isGone ? `the services on ${dataDir} have stopped` : `the services on ${dataDir} did not respond: ${String(error)}`;
    throw new LocalServiceError('LocalError', message, { cause: error });
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
  // A test suite that never calls `stop` can still end, and the services end with it.
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
    accounts: JSON.parse(env['CLOUD_LOCAL_ACCOUNTS'] ?? '[]') as LocalAccount[],
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
 * Starts both services on free ports with data of their own, which is deleted when they stop. Any number can run side by side; profiles are
 * not changed.
 * @throws {LocalServiceError} with the error of `cloud local run`
 */
export async function startLocal(options: StartOptions = {}): Promise<LocalServices> {
  return await launch(listWords(options));
}
