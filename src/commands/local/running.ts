import { build } from '../../base/build.ts';
import { readJsonFile } from '../../config/files.ts';
import { NetworkError, WaitError } from '../../base/errors.ts';
import { isAlive, type World } from '../../base/world.ts';
import { findHolder } from './holder.ts';

/** The file in the data directory that says how to reach the service that uses it. */
export const runFile = 'run.json';

/** An account of a local service. */
export interface RunningAccount {
  account: string;
  accountId: string;
  keyId: string;
  keyFile?: string | undefined;
}

/** A local service that runs, as it says itself. */
export interface Running extends RunningAccount {
  computeUrl: string;
  storUrl: string;
  /** Accounts beside the first one; a service of an older release has none. */
  accounts?: readonly RunningAccount[];
  caFile?: string | undefined;
  dataDir: string;
  pid: number;
  /** How tasks of jobs are kept from the rest of the machine; `off` where none run. */
  isolation: string;
  /** Why jobs are off. */
  jobsOff?: string | undefined;
  /** How the memory of tasks is limited. */
  memoryLimit?: string | undefined;
  /** Of the program that runs; absent in what releases before 0.2.0 wrote. */
  version?: string | undefined;
  commit?: string | undefined;
  /** ISO 8601. */
  startedAt: string;
  /** Chosen at start; the service's replies carry it, so that another program on the same port is not taken for it. */
  instance: string;
}

/** Header of the local service's replies that tells one run from another. */
export const instanceHeader = 'local-instance';

/** Failures of one that is there and has no time: connections are accepted by the system, not by the process. */
const silences = new Set(['ETIMEDOUT', 'IDLE']);

/** Whether this run of the service answers at its address, or nothing does in time; gone: nobody is there, or somebody else. */
async function ask({ computeUrl, instance, caFile }: Running): Promise<'answers' | 'silent' | 'gone'> {
  const [{ createSocketSender }, { readFileSync }] = await Promise.all([import('../../http/sockets.ts'), import('node:fs')]);
  try {
    const ca = caFile === undefined ? undefined : readFileSync(caFile, 'utf8');
    const sender = createSocketSender({ connectTimeout: 2000, idleTimeout: 5000, ca, insecure: false, connections: 1 });
    const reply = await sender.send({ method: 'GET', url: new URL('/--ping', computeUrl), headers: {} });
    sender.close();
    return reply.headers[instanceHeader] === instance ? 'answers' : 'gone';
  } catch (error) {
    return error instanceof NetworkError && silences.has(error.code) ? 'silent' : 'gone';
  }
}

/** A service that runs. */
interface Found {
  readonly running: Running;
  /** False when it is too busy to answer in time, or hangs. */
  readonly answers: boolean;
}

/** The service that uses a data directory, if one runs. */
export async function findService(world: Pick<World, 'kill'>, dataDir: string): Promise<Found | undefined> {
  const running = readRunFile(dataDir);
  if (running === undefined) return undefined;
  const state = await ask(running);
  if (state === 'answers') return { running, answers: true };
  const isThere = (state === 'silent' && isAlive(world, running.pid)) || findHolder(dataDir, running.pid) === running.pid;
  return isThere ? { running, answers: false } : undefined;
}

/** The service that uses a data directory, if one runs. @throws {WaitError} when it does not answer: nobody knows what it does */
export async function findRunning(world: Pick<World, 'kill'>, dataDir: string): Promise<Running | undefined> {
  const found = await findService(world, dataDir);
  if (found?.answers !== false) return found?.running;
  const { pid } = found.running;
  throw new WaitError(`the service runs (process ${pid}) but does not answer in time`, {
    hint: `it is busy or hangs: try again, or end it: kill ${pid}`,
  });
}

/** Numbers of a version. */
function readNumbers(version: string): number[] {
  return version.split('.').map(Number);
}

/** Below 0 when the first version is the older one. */
function compareVersions(first: string, second: string): number {
  const [numbers, others] = [readNumbers(first), readNumbers(second)];
  const at = numbers.findIndex((number, index) => number !== others[index]);
  return at === -1 ? 0 : (numbers[at] ?? 0) - (others[at] ?? 0);
}

/** How the program of a running service differs from this one, and what to do; undefined when it is the same. */
export function describeDifference({ version = '0.1.0', commit }: Running): string | undefined {
  if (version === build.version && commit === build.commit) return undefined;
  const order = compareVersions(version, build.version);
  const words = order === 0 ? 'is another build than' : order < 0 ? 'is older than' : 'is newer than';
  const [theirs, ours] = order === 0 ? [commit ?? 'unknown', build.commit] : [version, build.version];
  return `the running service ${words} this program (${theirs}, this is ${ours}); to replace it: cloud local stop && cloud local start`;
}

/** What the latest service on a data directory wrote about itself; it may be gone. */
export function readRunFile(dataDir: string): Running | undefined {
  return readJsonFile(`${dataDir}/${runFile}`, 'private') as Running | undefined;
}

/** Waits until a condition holds, asking every 20 ms. False when `limit` milliseconds passed or the user interrupted. */
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
