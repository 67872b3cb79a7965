import { readJsonFile } from '../../config/files.ts';
import { NetworkError, WaitError } from '../../errors.ts';
import { isAlive, type World } from '../../world.ts';

/** The file in the data directory that says how to reach the service that uses it. */
export const runFile = 'run.json';

/** A local service that runs, as it says itself. */
export interface Running {
  computeUrl: string;
  storUrl: string;
  account: string;
  accountId: string;
  keyId: string;
  keyFile?: string | undefined;
  caFile?: string | undefined;
  dataDir: string;
  pid: number;
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
  const [{ createSocketSender }, { readFileSync }] = await Promise.all([import('../../client/send-socket.ts'), import('node:fs')]);
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
  return state === 'silent' && isAlive(world, running.pid) ? { running, answers: false } : undefined;
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

/** What the latest service on a data directory wrote about itself; it may be gone. */
export function readRunFile(dataDir: string): Running | undefined {
  return readJsonFile(`${dataDir}/${runFile}`) as Running | undefined;
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
