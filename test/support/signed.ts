import { readFileSync } from 'node:fs';
import { Pool } from 'undici';
import type { ServiceName } from '../../src/api/operation.ts';
import { createAuthorizer } from '../../src/auth/authorization.ts';
import { writeKeyId } from '../../src/auth/key-id.ts';
import { loadPrivateKey } from './private-key.ts';
import type { LocalInfo } from './sandbox.ts';

/** A response read to its end. */
export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
}

/** What is sent beside method and target. */
export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Body as JSON, with its content type. */
  readonly json?: unknown;
}

/** Plain signed HTTP to both services of a local service: each request is sent once, and tells exactly what was answered. */
export interface SignedServices {
  send(service: ServiceName, method: string, path: string, sent?: Sent): Promise<Answered>;
  close(): Promise<void>;
}

/**
 * Opens connections that stay open, at most `connections` to each service.
 * @param timeoutMs milliseconds after which a request without an answer fails
 */
export async function openServices(
  local: Pick<LocalInfo, 'keyFile' | 'account' | 'computeUrl' | 'storUrl' | 'caFile'>,
  connections: number,
  timeoutMs = 60_000,
): Promise<SignedServices> {
  const signer = await loadPrivateKey(local.keyFile);
  const connect = local.computeUrl.startsWith('https') ? { connect: { ca: readFileSync(local.caFile, 'utf8') } } : {};
  const open = (service: ServiceName, url: string) => ({
    authorizer: createAuthorizer({
      signer,
      service,
      keyId: writeKeyId(service, { account: local.account, key: signer.publicKey.fingerprints.md5 }),
      now: Date.now,
    }),
    pool: new Pool(url, { connections, pipelining: 1, headersTimeout: timeoutMs, bodyTimeout: timeoutMs, ...connect }),
  });
  const services = { compute: open('compute', local.computeUrl), storage: open('storage', local.storUrl) };
  return {
    async send(service, method, path, { headers = {}, body, json } = {}) {
      const { authorizer, pool } = services[service];
      const content = json === undefined ? body : Buffer.from(JSON.stringify(json));
      const own = {
        ...(service === 'compute' && { 'accept-version': '~9' }),
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...(content === undefined ? method !== 'GET' && { 'content-length': '0' } : { 'content-length': String(content.length) }),
      };
      const response = await pool.request({
        method,
        path,
        headers: { ...(await authorizer.headers()), ...own, ...headers },
        body: content ?? null,
      });
      return { status: response.statusCode, headers: response.headers, bytes: Buffer.from(await response.body.arrayBuffer()) };
    },
    close: async () => {
      await Promise.all(Object.values(services).map(({ pool }) => pool.destroy()));
    },
  };
}

/** The records of a stream, one JSON a line. */
export function readRecords<T>({ bytes }: Answered): T[] {
  return bytes
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}
