import { randomUUID, sign } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compute } from '../../src/api/compute.ts';
import { readAll, type Body, type Headers, type HttpResponse, type Request } from '../../src/api/message.ts';
import type { ServiceName } from '../../src/api/operation.ts';
import { lazily } from '../../src/base/lazily.ts';
import { createComputeHandlers } from '../../src/server/compute/index.ts';
import { describeSecond } from '../../src/server/compute/second-images.ts';
import type { Connection } from '../../src/server/http/handler.ts';
import type { JobEngine } from '../../src/server/jobs/engine.ts';
import { seedAccount } from '../../src/server/seed/account.ts';
import { seedCloud } from '../../src/server/seed/cloud.ts';
import { seedMachines } from '../../src/server/seed/machines.ts';
import type { ServiceOptions } from '../../src/server/http/answer.ts';
import { createService, type Service } from '../../src/server/http/serve.ts';
import type { ServiceSettings } from '../../src/server/settings.ts';
import { describeStorage, placeAt } from '../../src/server/storage/index.ts';
import type { Store } from '../../src/server/store/store.ts';
import type { AccountRow } from '../../src/server/store/schema.ts';
import { openTestStore } from './cluster-database.ts';
import { carryOverHttp } from './over-http.ts';
import { shareRsaKey, type TestKey } from './rsa-keys.ts';

export { createEcdsaKey, createRsaKey, type TestKey } from './rsa-keys.ts';

/** A response read to its end. */
export interface TestReply {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly text: string;
  /** The body as JSON; undefined when it is not. */
  readonly json: unknown;
  /** `code` of an error. */
  readonly code: string | undefined;
}

/** Who signs a request, and how. */
export interface Signing {
  readonly key?: TestKey;
  /** Full path; the key of the account `demo` when left out. */
  readonly keyId?: string;
  readonly date?: string;
}

/** What a test sends beside method and target. */
export interface Sending {
  readonly headers?: Headers;
  readonly body?: Body;
  /** Body as JSON, with its content type. */
  readonly json?: unknown;
  /** False: without a signature. */
  readonly signing?: Signing | false;
  /** Whether the request seems to come in by TLS; true when left out. */
  readonly secure?: boolean;
}

export type Send = (method: string, target: string, sending?: Sending) => Promise<TestReply>;

/** Both services over a store of their own, called without a socket. */
export interface TestService {
  readonly compute: Send;
  readonly storage: Send;
  /** The compute service of the second datacenter. */
  readonly second: Send;
  /** The services as functions, for `listen`. */
  readonly handlers: Readonly<Record<ServiceName, Service>>;
  /** Account `demo`, whose key signs. */
  readonly account: AccountRow;
  readonly key: TestKey;
  /** Another account, `other`, with a key of its own. */
  readonly other: AccountRow;
  readonly otherKey: TestKey;
  readonly store: Store;
  readonly dir: string;
  /** Lines that the services logged. */
  readonly log: readonly string[];
  close(): Promise<void>;
}

/** Signature in Base64, by SHA-256 unless told. */
export function signText(key: TestKey, text: string, hash = 'sha256'): string {
  return sign(hash, Buffer.from(text), key.privateKey).toString('base64');
}

/** `Date` and `Authorization` as each specification's section 5 has them. */
export function signHeaders(
  service: ServiceName,
  { key, keyId, date = new Date().toUTCString() }: Signing & { key: TestKey; keyId: string },
): Headers {
  const parameters = `Signature keyId="${keyId}",algorithm="rsa-sha256"`;
  const authorization =
    service === 'compute' ? `${parameters} ${signText(key, date)}` : `${parameters},signature="${signText(key, `date: ${date}`)}"`;
  return { date, authorization };
}

/** Signs as an account with a key of its own, or as a sub-user of it, whose keyId differs by service. */
export function signAs(service: ServiceName, key: TestKey, account: string, user?: string): Required<Pick<Signing, 'key' | 'keyId'>> {
  const owner = user === undefined ? account : service === 'compute' ? `${account}/users/${user}` : `${account}/${user}`;
  return { key, keyId: `/${owner}/keys/${key.fingerprint}` };
}

/** Path and query of a URL signed for one method, as section 5 of both specifications has it; the host is that of `createSend`. */
export function signUrl(
  service: ServiceName,
  {
    key,
    keyId,
    method = 'GET',
    expires = Date.now() / 1000 + 60,
  }: Required<Pick<Signing, 'key' | 'keyId'>> & { method?: string; expires?: number },
  path: string,
  parameters: Readonly<Record<string, string>> = {},
): string {
  const encode = (text: string): string =>
    encodeURIComponent(text).replaceAll(/[!'()*]/gu, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);
  const all = { ...parameters, algorithm: 'rsa-sha256', expires: String(Math.floor(expires)), keyId };
  const query = Object.entries(all)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .join('&');
  const signature = signText(key, [method, `${service}.test`, path, query].join('\n'));
  return `${path}?${query}&signature=${encode(signature)}`;
}

async function readResponse(service: Service, request: Request, connection: Connection): Promise<TestReply> {
  const response = await service(request, connection);
  const bytes = await readAll(response.body);
  // Not every body is text: many are megabytes of random bytes.
  const decode = lazily(() => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString());
  const isJson = response.headers['content-type'] === 'application/json' && bytes.length > 0;
  const json: unknown = isJson ? JSON.parse(decode()) : undefined;
  const code = typeof json === 'object' && json !== null && 'code' in json ? String(json.code) : undefined;
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    get text() {
      return decode();
    },
    json,
    code,
  };
}

function createSend(service: ServiceName, handle: Service, key: TestKey): Send {
  const defaults: Headers = service === 'compute' ? { 'accept-version': '~9' } : {};
  return (method, target, { headers = {}, body, json, signing = {}, secure = true } = {}) => {
    const keyId = `/demo/keys/${key.fingerprint}`;
    const signed = signing === false ? {} : signHeaders(service, { key, keyId, ...signing });
    const typed: Headers = json === undefined ? {} : { 'content-type': 'application/json' };
    const content = json === undefined ? body : Buffer.from(JSON.stringify(json));
    const all = { host: `${service}.test`, ...defaults, ...signed, ...typed, ...headers };
    const connection = { remoteAddress: '127.0.0.1', secure };
    return readResponse(handle, { method, target, headers: all, ...(content !== undefined && { body: content }) }, connection);
  };
}

type Shared = Pick<ServiceOptions<typeof compute>, 'store' | 'datacenter' | 'now' | 'requestTime' | 'settings' | 'log'>;

/** Both services over a store. */
function createHandlers(shared: Shared, storage: ReturnType<typeof describeStorage>): Readonly<Record<ServiceName, Service>> {
  return {
    compute: createService({ ...shared, service: 'compute', operations: compute, handlers: createComputeHandlers() }),
    storage: createService({ ...shared, ...storage, placeAt }),
  };
}

function createSecond(shared: Shared): Service {
  return createService({ ...shared, service: 'compute', operations: compute, ...describeSecond() });
}

/** Services that others have the data of, too. */
export interface JoinedServices extends Pick<TestService, ServiceName> {
  /** GET of an object, whose body is read by whoever asks. */
  readonly read: (target: string) => Promise<HttpResponse>;
}

/** Both services over the same data as others, as a second process has them: asked as `demo`. @param options `wrap`: what surrounds each of them */
export function joinServices(
  store: Store,
  key: TestKey,
  { settings = {}, wrap = (service) => service }: { settings?: ServiceSettings; wrap?: (service: Service) => Service } = {},
): JoinedServices {
  const handlers = createHandlers({ store, datacenter: 'east-1', settings }, describeStorage());
  const [first, second] = [wrap(handlers.compute), wrap(handlers.storage)];
  const read = (target: string): Promise<HttpResponse> => {
    const headers = signHeaders('storage', { key, keyId: `/demo/keys/${key.fingerprint}` });
    return second({ method: 'GET', target, headers }, { remoteAddress: '127.0.0.1', secure: true });
  };
  return { compute: createSend('compute', first, key), storage: createSend('storage', second, key), read };
}

/** How a test service differs from the plain one. */
export interface TestOptions {
  readonly now?: () => number;
  readonly requestTime?: () => number;
  readonly settings?: ServiceSettings;
  /** Whether requests to the compute service go through a socket. */
  readonly overHttp?: boolean;
  /** Opens the store in the temporary directory of the services. */
  readonly open?: (dir: string) => Promise<Store>;
  /** Starts what runs jobs; without it no job can be created. */
  readonly startJobs?: (store: Store, dir: string) => JobEngine;
}

/** Makes a store in a temporary directory with the accounts `demo` and `other` and the sample cloud, and both services over it. */
export async function createTestService({
  now = Date.now,
  requestTime = now,
  settings = {},
  overHttp = false,
  open = openTestStore,
  startJobs,
}: TestOptions = {}): Promise<TestService> {
  const dir = await mkdtemp(join(tmpdir(), 'cloud-service-'));
  const store = await open(dir);
  const [key, otherKey] = [shareRsaKey('demo'), shareRsaKey('other')];
  const seed = (login: string, publicKey: string): Promise<AccountRow> => seedAccount(store, { login, publicKey, keyFile: '', now: now() });
  const account = await seed('demo', key.line);
  const other = await seed('other', otherKey.line);
  await store.write(async (transaction) => {
    await seedCloud(transaction);
    await seedMachines(transaction, account, now());
    await transaction.insertInto('datacenters').values({ name: 'east-1', url: 'https://east-1.test' }).execute();
    await transaction.insertInto('services').values({ name: 'storage', url: 'https://storage.test' }).execute();
  });
  const log: string[] = [];
  const jobs = startJobs?.(store, dir);
  const shared = { store, now, requestTime, settings, log: (line: string) => void log.push(line) };
  const handlers = createHandlers({ ...shared, datacenter: 'east-1' }, describeStorage(jobs));
  const second = createSecond({ ...shared, datacenter: 'east-1-2' });
  const carried = overHttp ? await carryOverHttp(handlers.compute) : undefined;
  return {
    compute: createSend('compute', carried?.handle ?? handlers.compute, key),
    storage: createSend('storage', handlers.storage, key),
    second: createSend('compute', second, key),
    handlers,
    account,
    key,
    other,
    otherKey,
    store,
    dir,
    log,
    close: async () => {
      await carried?.close();
      await jobs?.close();
      await store.close();
      await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Adds a sub-user with a key to an account. */
export async function addUser(store: Store, account: AccountRow, login: string, key: TestKey): Promise<void> {
  const { cns_enabled: _cns, default_network: _network, status: _status, ...contact } = account;
  const id = randomUUID();
  const user = { ...contact, id, account: account.id, login, login_key: login.toLowerCase(), password: '' };
  await store.write(async (transaction) => {
    await transaction.insertInto('users').values(user).execute();
    const { line, fingerprint } = key;
    const row = { account: account.id, user: id, name: 'first', fingerprint, key: line, attestation: null, multifactor: null, created: 0 };
    await transaction.insertInto('keys').values(row).execute();
  });
}
