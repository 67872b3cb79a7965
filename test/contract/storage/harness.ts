import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { Body, ByteStream, Headers } from '../../../src/api/message.ts';
import { countContents } from '../../support/byte-stores.ts';
import { collectContents } from '../../support/cluster-database.ts';
import { createTestService, signHeaders, type TestOptions, type TestReply, type TestService } from '../../support/service.ts';

export interface Asked {
  headers?: Headers;
  body?: Body | string | undefined;
  json?: unknown;
  /** False for an anonymous request. */
  signed?: boolean;
}

export type Refusal = [status: number, code: string | undefined];

/** The object storage of a test service, asked as `demo`; targets are as they stand in a request line. */
export interface TestStorage extends TestService {
  /** Headers that sign a request as `demo`. */
  signature: Headers;
  ask(method: string, target: string, asked?: Asked): Promise<TestReply>;
  /** Status and error code. */
  answerOf(method: string, target: string, asked?: Asked): Promise<Refusal>;
  /** The refusal of a PUT, which must come before the body is read and must leave nothing behind. */
  refusalOf(target: string, headers: Headers): Promise<Refusal>;
  /** Puts an object and gives its etag. */
  put(target: string, body?: Body | string, headers?: Headers): Promise<string>;
  mkdir(target: string): Promise<void>;
  /** Records of a listing. */
  list(target: string): Promise<Record<string, unknown>[]>;
  /** Number of contents, in files and in rows. */
  countContents(): Promise<number>;
}

export const directory: Headers = { 'content-type': 'application/json; type=directory' };
export const link = (location: string): Headers => ({ 'content-type': 'application/json; type=link', location });

/** Base64 MD5, made here and not by the service. */
export function md5Of(bytes: Uint8Array | string): string {
  return createHash('md5').update(bytes).digest('base64');
}

/** A body that arrives in pieces, as a chunked one does. */
export async function* chunked(...pieces: (Uint8Array | string)[]): AsyncGenerator<Uint8Array> & ByteStream {
  for (const piece of pieces) yield Buffer.from(piece);
}

/** A body that must not be read. */
export function untouched(): ByteStream & { read: boolean } {
  const body = {
    read: false,
    async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
      body.read = true;
      yield Buffer.from('read');
    },
  };
  return body;
}

export async function createTestStorage(options: TestOptions = {}): Promise<TestStorage> {
  const service = await createTestService(options);
  // Signed once: the date holds for five minutes, and a signature costs more than most requests.
  const signature = signHeaders('storage', { key: service.key, keyId: `/demo/keys/${service.key.fingerprint}` });
  const ask: TestStorage['ask'] = async (method, target, { headers = {}, body, json, signed = true } = {}) => {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const length: Headers = bytes instanceof Uint8Array ? { 'content-length': String(bytes.length) } : {};
    return service.storage(method, target, {
      headers: { ...(signed && signature), ...length, ...headers },
      signing: false,
      ...(bytes && { body: bytes }),
      ...(json !== undefined && { json }),
    });
  };
  const answerOf: TestStorage['answerOf'] = async (method, target, asked) => {
    const { status, code } = await ask(method, target, asked);
    return [status, code];
  };
  const countAll = async (): Promise<number> => {
    await collectContents(service.store);
    const rows = await service.store.db.selectFrom('contents').select('id').execute();
    return (await countContents(service.store.bytes)) + rows.length;
  };
  const put: TestStorage['put'] = async (target, body = '', headers = {}) => {
    const answered = await ask('PUT', target, { body, headers });
    if (answered.status !== 204) throw new Error(`PUT ${target}: ${answered.status} ${answered.text}`);
    return answered.headers['etag'] ?? '';
  };
  return {
    ...service,
    signature,
    ask,
    answerOf,
    refusalOf: async (target, headers) => {
      const before = await countAll();
      const body = untouched();
      const refusal = await answerOf('PUT', target, { headers, body });
      expect([body.read, await countAll()]).toEqual([false, before]);
      return refusal;
    },
    put,
    mkdir: async (target) => {
      await put(target, undefined, directory);
    },
    list: async (target) => {
      const { status, text } = await ask('GET', target);
      if (status !== 200) throw new Error(`GET ${target}: ${status} ${text}`);
      return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Record<string, unknown>]));
    },
    countContents: countAll,
  };
}
