import { build } from '../../base/build.ts';
import { readJsonFile } from '../../config/files.ts';
import { NetworkError, WaitError } from '../../base/errors.ts';
import { isAlive, type World } from '../../base/world.ts';
import { findHolder } from './holder.ts';

/** File in the data directory with the addresses and keys of its service, as {@link Running}. */
export const runFile = 'run.json';

/** An account of a local service. */
export interface RunningAccount {
  account: string;
  accountId: string;
  keyId: string;
  keyFile?: string | undefined;
}

/** A running local service, as it describes itself in `runFile`. */
export interface Running extends RunningAccount {
  computeUrl: string;
  storUrl: string;
  /** Accounts other than the first; absent from older releases. */
  accounts?: readonly RunningAccount[];
  caFile?: string | undefined;
  dataDir: string;
  pid: number;
  /** How tasks of jobs are isolated from the rest of the machine; `off` if jobs are off. */
  isolation: string;
  jobsOff?: string | undefined;
  memoryLimit?: string | undefined;
  /** Version of the running program; absent before 0.2.0. */
  version?: string | undefined;
  commit?: string | undefined;
  /** The service of `cloud local run`, which ends with its program. */
  temporary?: true;
  /** ISO 8601. */
  startedAt: string;
  /** Chosen at start and sent in the header `local-instance`, which distinguishes this service from another program on the same port. */
  instance: string;
}

/** Header of responses of a local service with its `instance`, and of requests that only ask whether it runs. */
export const instanceHeader = 'local-instance';

/** Errors of a process that exists but does not respond in time: the system accepts connections, not the process. */
const silences = new Set(['ETIMEDOUT', 'IDLE']);

/** Sends a ping: `silent` is no response in time; `gone` is no process at the address, or another one. */
async function ask({ computeUrl, instance, caFile }: Running): Promise<'answers' | 'silent' | 'gone'> {
  const [{ createSocketSender }, { readFileSync }] = await Promise.all([import('../../http/sockets.ts'), import('node:fs')]);
  try {
    const ca = caFile === undefined ? undefined : readFileSync(caFile, 'utf8');
    const sender = createSocketSender({ connectTimeout: 5000, idleTimeout: 5000, ca, insecure: false, connections: 1 });
    const response = await sender.send({ method: 'GET', url: new URL('/--ping', computeUrl), headers: { [instanceHeader]: instance } });
    sender.close();
    return response.headers[instanceHeader] === instance ? 'answers' : 'gone';
  } catch (error) {
    return error instanceof NetworkError && silences.has(error.code) ? 'silent' : 'gone';
  }
}

interface Found {
  readonly running: Running;
  /** False if it is too busy to respond in time, or hangs. */
  readonly answers: boolean;
}

/** Finds the running service of a data directory. */
export async function findService(world: Pick<World, 'kill'>, dataDir: string): Promise<Found | undefined> {
  const running = readRunFile(dataDir);
  if (running === undefined) return undefined;
  const state = await ask(running);
  if (state === 'answers') return { running, answers: true };
  const isThere = (state === 'silent' && isAlive(world, running.pid)) || findHolder(dataDir, running.pid) === running.pid;
  return isThere ? { running, answers: false } : undefined;
}

/** Finds the running service of a data directory. @throws {WaitError} if it does not respond, because its state is unknown */
export async function findRunning(world: Pick<World, 'kill'>, dataDir: string): Promise<Running | undefined> {
  const found = await findService(world, dataDir);
  if (found?.answers !== false) return found?.running;
  const { pid } = found.running;
  throw new WaitError(`the service runs (process ${pid}) but does not respond in time`, {
    hint: `it is busy or hangs: try again, or stop it: kill ${pid}`,
  });
}

function readNumbers(version: string): number[] {
  return version.split('.').map(Number);
}

/** Negative if the first version is older. */
function compareVersions(first: string, second: string): number {
  const [numbers, others] = [readNumbers(first), readNumbers(second)];
  const at = numbers.findIndex((number, index) => number !== others[index]);
  return at === -1 ? 0 : (numbers[at] ?? 0) - (others[at] ?? 0);
}

/** Describes how the program of a running service differs from this one, and what to do; undefined when both are the same. */
export function describeDifference({ version = '0.1.0', commit }: Running): string | undefined {
  if (version === build.version && commit === build.commit) return undefined;
  const order = compareVersions(version, build.version);
  const words = order === 0 ? 'is another build than' : order < 0 ? 'is older than' : 'is newer than';
  const [theirs, ours] = order === 0 ? [commit ?? 'unknown', build.commit] : [version, build.version];
  return `the running service ${words} this program (${theirs}, this is ${ours}); to replace it: cloud local stop && cloud local start`;
}

/** Reads what the latest service on a data directory wrote about itself; that service may have ended. */
export function readRunFile(dataDir: string): Running | undefined {
  return readJsonFile(`${dataDir}/${runFile}`, 'private') as Running | undefined;
}

/** Waits until a condition holds, checking every 20 ms. Returns false after `limit` milliseconds or an interrupt. */
export async function waitUntil(world: Pick<World, 'now' | 'interrupted'>, limit: number, holds: () => boolean): Promise<boolean> {
  const end = world.now() + limit;
  while (!holds()) {
    if (world.now() > end || world.interrupted.aborted) return false;
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
  return true;
}
