import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { compute } from '../../src/api/compute.ts';
import { readAll } from '../../src/api/message.ts';
import type { ServiceName } from '../../src/api/operation.ts';
import { storage } from '../../src/api/storage.ts';
import { createAuthorizer } from '../../src/auth/authorization.ts';
import { writeKeyId } from '../../src/auth/key-id.ts';
import { loadPrivateKey } from './private-key.ts';
import { ApiError } from '../../src/base/errors.ts';
import { createClient, type ComputeClient, type StorageClient } from '../../src/client/client.ts';
import { pause } from '../../src/client/retry.ts';
import { createSocketSender } from '../../src/http/sockets.ts';
import type { LocalInfo } from './sandbox.ts';

/**
 * What clients do while gateways come and go: the client of the program, with the retries that commands have. A request that may be
 * repeated must succeed; one that may not (creating with POST) may fail where a connection breaks, and its effect is not looked at.
 */

type Reached = Pick<LocalInfo, 'computeUrl' | 'storUrl' | 'account' | 'keyFile' | 'caFile'>;

/** Clients of both services. */
export interface Clients {
  readonly compute: ComputeClient;
  readonly storage: StorageClient;
  /** Requests that were tried again. */
  readonly retried: () => number;
  close(): void;
}

const usualTimeout = 60_000;

/** Opens clients with at most so many connections to each service, which try again as commands do. */
export async function openClients(reached: Reached, connections: number): Promise<Clients> {
  const signer = await loadPrivateKey(reached.keyFile);
  const ca = readFileSync(reached.caFile, 'utf8');
  const sender = createSocketSender({ connectTimeout: 10_000, idleTimeout: usualTimeout, insecure: false, connections, ca });
  let retried = 0;
  const optionsOf = (service: ServiceName, url: string): Parameters<typeof createClient>[1] => {
    const keyId = writeKeyId(service, { account: reached.account, key: signer.publicKey.fingerprints.md5 });
    const authorizer = createAuthorizer({ signer, service, keyId, now: Date.now });
    return {
      endpoint: { service, url: new URL(url), authorize: () => authorizer.headers(), roles: [], apiVersion: '~9' },
      send: sender.send,
      retry: { retries: 9, base: 200, most: 6400, sleep: pause, random: Math.random },
      now: Date.now,
      onRetry: () => (retried += 1),
    };
  };
  return {
    compute: createClient(compute, optionsOf('compute', reached.computeUrl)),
    storage: createClient(storage, optionsOf('storage', reached.storUrl)),
    retried: () => retried,
    close: sender.close,
  };
}

/** The work as it goes on. */
export interface ClientWork {
  readonly steps: () => number;
  /** Waits until so many further steps are done by each of the workers. */
  proceed(count: number, timeoutMs: number): Promise<void>;
  /** Ends it and reads everything back: what failed or is not as it was acknowledged, in words. */
  check(): Promise<string[]>;
}

const md5Of = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('base64');

function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** Somebody who works in a directory of their own, one request at a time; all of theirs may be repeated. */
function createWorker({ storage: client, compute: account }: Clients, name: string, random: () => number, wrong: string[]) {
  const at = (path: string): { account: string; path: string } => ({ account: 'demo', path: `stor/${name}/${path}` });
  /** MD5 of each object. */
  const known = new Map<string, string>();
  let made = 0;
  const pick = (count: number): number => Math.floor(random() * count);

  async function expectDone(what: string, work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => wrong.push(`${name}: ${what}: ${String(error)}`));
  }

  async function put(path: string): Promise<void> {
    // Of a row, of one file, and long enough to be on its way for a while.
    const body = randomBytes([300, 40_000, 400_000][pick(3)] ?? 0);
    const contentMd5 = md5Of(body);
    known.delete(path);
    await expectDone(`put ${path}`, async () => {
      await client.putObject({ ...at(path), body, length: body.length, contentMd5 });
      known.set(path, contentMd5);
    });
  }

  async function read(path: string, md5: string): Promise<void> {
    await expectDone(`get ${path}`, async () => {
      const { body } = await client.getObject(at(path));
      const found = md5Of(await readAll(body));
      if (found !== md5) wrong.push(`${name}: ${path} is ${found}, and ${md5} was acknowledged`);
    });
  }

  async function remove(path: string): Promise<void> {
    known.delete(path);
    // What is deleted again is gone: the answer of the first request was lost.
    await expectDone(`delete ${path}`, async () => {
      await client.deleteObject(at(path)).catch((error: unknown) => {
        if (!isGone(error)) throw error;
      });
    });
  }

  async function link(source: string, md5: string): Promise<void> {
    const path = `l${pick(4)}`;
    known.delete(path);
    await expectDone(`link ${path}`, async () => {
      await client.putSnapLink({ ...at(path), location: `/demo/stor/${name}/${source}` });
      known.set(path, md5);
    });
  }

  async function assemble(path: string): Promise<void> {
    const body = randomBytes(1000 + pick(50_000));
    // A creation that was not answered may not be repeated: its upload stays without parts.
    const created = await client
      .createMultipartUpload({ account: 'demo', objectPath: `/demo/stor/${name}/${path}` })
      .catch(() => undefined);
    if (created === undefined) return;
    const [, , , prefix = '', id = ''] = created.partsDirectory.split('/');
    const upload = { account: 'demo', prefix, id };
    known.delete(path);
    await expectDone(`upload ${path}`, async () => {
      const { etag = '' } = await client.uploadPart({ ...upload, part: '0', body, length: body.length });
      await client.commitMultipartUpload({ ...upload, parts: [etag] });
      known.set(path, md5Of(body));
    });
  }

  async function list(): Promise<void> {
    await expectDone('list', async () => {
      const names = new Set<string>();
      const { records } = await client.listDirectory({ ...at(''), path: `stor/${name}`, limit: 1000 });
      for await (const record of records) names.add(record.name);
      for (const path of known.keys()) if (!names.has(path)) wrong.push(`${name}: the listing lacks ${path}`);
    });
  }

  async function administer(): Promise<void> {
    const login = `${name}-${made}`;
    const created = await account
      .createUser({ account: 'my', login, email: 'a@example.com', password: 'secret-4711x' })
      .catch(() => undefined);
    await expectDone('list keys', async () => void (await account.listKeys({ account: 'my' })));
    if (created === undefined) return;
    await expectDone('delete a user', async () => {
      await account.deleteUser({ account: 'my', user: created.id }).catch((error: unknown) => {
        if (!isGone(error)) throw error;
      });
    });
  }

  return {
    begin: () => client.putDirectory({ account: 'demo', path: `stor/${name}` }),
    async step(): Promise<void> {
      const [path, md5] = [...known][pick(known.size)] ?? [];
      const dice = random();
      made += 1;
      if (path === undefined || md5 === undefined || dice < 0.35) return put(`o${made % 12}`);
      if (dice < 0.6) return read(path, md5);
      if (dice < 0.7) return remove(path);
      if (dice < 0.8) return link(path, md5);
      if (dice < 0.87) return assemble(`m${pick(4)}`);
      return dice < 0.95 ? list() : administer();
    },
    async check(): Promise<void> {
      for (const [path, md5] of known) await read(path, md5);
      await list();
    },
  };
}

/** Begins work of so many workers in directories that begin with a name. */
export async function beginClientWork(clients: Clients, name: string, count: number, random: () => number): Promise<ClientWork> {
  const wrong: string[] = [];
  const over = new AbortController();
  const workers = Array.from({ length: count }, (_, number) => createWorker(clients, `${name}-${number}`, random, wrong));
  for (const worker of workers) await worker.begin();
  const steps = workers.map(() => 0);
  const all = Promise.all(
    workers.map(async (worker, number) => {
      while (!over.signal.aborted) {
        await worker.step();
        steps[number] = (steps[number] ?? 0) + 1;
      }
    }),
  );
  return {
    steps: () => steps.reduce((sum, each) => sum + each, 0),
    async proceed(more, timeoutMs) {
      const wanted = steps.map((each) => each + more);
      for (const end = performance.now() + timeoutMs; steps.some((each, at) => each < (wanted[at] ?? 0)); await sleep(20))
        if (performance.now() > end) throw new Error(`some worker did nothing for ${timeoutMs} ms; ${wrong.join('\n')}`);
    },
    async check() {
      over.abort();
      await all;
      for (const worker of workers) await worker.check();
      return wrong;
    },
  };
}
