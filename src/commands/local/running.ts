import { readJsonFile } from '../../config/files.ts';
import type { World } from '../../world.ts';

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

/** Whether what answers at this address is this run of the service. */
async function answers({ computeUrl, instance, caFile }: Running): Promise<boolean> {
  const [{ createHttpsSender }, { readFileSync }] = await Promise.all([import('../../client/send-https.ts'), import('node:fs')]);
  try {
    const ca = caFile === undefined ? undefined : readFileSync(caFile, 'utf8');
    const sender = createHttpsSender({ connectTimeout: 2000, idleTimeout: 5000, ca, insecure: false, connections: 1 });
    const reply = await sender.send({ method: 'GET', url: new URL('/--ping', computeUrl), headers: {} });
    sender.close();
    return reply.headers[instanceHeader] === instance;
  } catch {
    return false;
  }
}

/** The service that uses a data directory, if one answers. */
export async function findRunning(dataDir: string): Promise<Running | undefined> {
  const running = readRunFile(dataDir);
  return running !== undefined && (await answers(running)) ? running : undefined;
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
