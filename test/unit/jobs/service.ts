import { Readable } from 'node:stream';
import { readAll, streamOf, type Headers, type HttpResponse } from '../../../src/api/message.ts';
import { storage } from '../../../src/api/storage.ts';
import { createClient } from '../../../src/client/client.ts';
import type { Outgoing } from '../../../src/http/send.ts';
import type { JobContext } from '../../../src/commands/jobs/find.ts';

/** A service of the specification and nothing beyond it, told by each test what it answers. */
export interface ScriptedService {
  /** Replies by `METHOD /path` without the query; a function is asked each time. */
  readonly answers: Record<string, Answer | (() => Answer)>;
  /** What came in: `METHOD /path?query`, and its body. */
  readonly requests: { line: string; body: string }[];
  readonly warnings: string[];
  readonly context: JobContext & { warn: (message: string) => void; note: (message: string) => void };
}

interface Answer {
  status?: number;
  headers?: Headers;
  body?: string;
}

export const id = '11111111-2222-4333-8444-555555555555';

/** The record of a job as the specification has it, without counts. */
export function jobRecord(extra: object = {}): string {
  const phases = [{ exec: 'wc' }];
  return JSON.stringify({
    id,
    state: 'running',
    cancelled: false,
    inputDone: false,
    timeCreated: '2024-01-01T00:00:00Z',
    phases,
    ...extra,
  });
}

/** A number of lines. */
export function lines(count: number, write = (at: number): string => `/demo/stor/${at}`): string {
  return Array.from({ length: count }, (_, at) => `${write(at)}\n`).join('');
}

/** A new scripted service and a client of it. */
export function createScripted(stdin: string | AsyncIterable<Uint8Array> = ''): ScriptedService {
  const answers: ScriptedService['answers'] = {};
  const requests: ScriptedService['requests'] = [];
  const warnings: string[] = [];

  async function send({ method, url, body }: Outgoing): Promise<HttpResponse> {
    requests.push({ line: `${method} ${url.pathname}${url.search}`, body: Buffer.from(await readAll(body)).toString() });
    const found = answers[`${method} ${url.pathname}${url.search}`] ?? answers[`${method} ${url.pathname}`];
    const { status = 200, headers = {}, body: text = '' } = (typeof found === 'function' ? found() : found) ?? { status: 404 };
    return { status, headers, body: streamOf(Buffer.from(text)) };
  }

  const client = createClient(storage, {
    endpoint: {
      service: 'storage',
      url: new URL('https://storage.test'),
      authorize: () => Promise.resolve({ date: '', authorization: '' }),
      roles: [],
      apiVersion: '*',
    },
    send,
    retry: { retries: 0, base: 0, most: 0, sleep: () => Promise.resolve(), random: () => 0 },
    now: Date.now,
  });
  const world = {
    now: Date.now,
    interrupted: new AbortController().signal,
    stdin: { stream: Readable.from(typeof stdin === 'string' ? [Buffer.from(stdin)] : stdin), isTerminal: false },
  };
  const context = {
    storage: client,
    account: 'demo',
    world,
    warn: (message: string) => void warnings.push(message),
    note: () => undefined,
  };
  return { answers, requests, warnings, context: context as unknown as ScriptedService['context'] };
}

/** Everything that comes. */
export async function collect<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const all = [];
  for await (const row of rows) all.push(row);
  return all;
}
