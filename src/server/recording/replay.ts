import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { streamOf, type Body, type HttpResponse } from '../../api/message.ts';
import type { ServiceName } from '../../api/operation.ts';
import { ApiError, isSystemError, UsageError } from '../../base/errors.ts';
import { groupBy } from '../../base/group-by.ts';
import { nearest } from '../../base/nearest.ts';
import { ConnectionClosed } from '../faults/inject.ts';
import type { Service } from '../http/serve.ts';
import { dropBody, writeError } from '../http/response.ts';
import type { Services } from '../services.ts';
import { describeRequest, keyOf, type Exchange, type RecordingHeader, type RequestKey } from './exchange.ts';
import { keyRequest } from './request-key.ts';

/** The parts of an exchange that stay in memory. */
interface Indexed {
  readonly key: RequestKey;
  readonly id: number;
  /** Offset of its line in the file, bytes. */
  readonly at: number;
  readonly length: number;
  isUsed: boolean;
}

/** A recording that serves requests. */
export interface Replay {
  readonly header: RecordingHeader;
  /** The services of the recording, in place of the real ones. */
  services(log: (line: string) => void): Services;
  /** Descriptions of requests that are not in the recording, in order of arrival. */
  readonly unmatched: readonly string[];
  close(): void;
}

function createRecordingError(file: string, problem: string): UsageError {
  return new UsageError(`${file}: ${problem}`, { hint: 'cloud local record FILE -- COMMAND makes a recording' });
}

function open(file: string): number {
  try {
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    if (fstatSync(descriptor).isFile()) return descriptor;
    closeSync(descriptor);
  } catch (error) {
    if (isSystemError(error)) throw createRecordingError(file, error.code === 'ENOENT' ? 'does not exist' : error.message);
    throw error;
  }
  throw createRecordingError(file, 'is not a regular file');
}

function readLine(file: string, line: Buffer, number: number): unknown {
  try {
    return JSON.parse(line.toString());
  } catch (error) {
    throw new UsageError(`${file}: line ${number} is not JSON`, { cause: error, hint: 'the recording is damaged: make it again' });
  }
}

function isHeader(value: unknown): value is RecordingHeader {
  return typeof value === 'object' && value !== null && (value as Partial<RecordingHeader>).recording === 1;
}

function isExchange(value: unknown): value is Exchange {
  const { id, service, method, path, query, status, headers } = (value ?? {}) as Partial<Exchange>;
  const texts = [service, method, path, query].every((each) => typeof each === 'string');
  return texts && typeof id === 'number' && typeof status === 'number' && typeof headers === 'object' && headers !== null;
}

/** Bytes of a recording that are read in one call. */
const chunkSize = 1024 * 1024;

/** Lines of a file with their offsets. */
function* readLines(descriptor: number): Generator<{ line: Buffer; at: number }> {
  let rest = Buffer.alloc(0);
  let [at, position] = [0, 0];
  for (;;) {
    const chunk = Buffer.allocUnsafe(chunkSize);
    const size = readSync(descriptor, chunk, 0, chunkSize, position);
    position += size;
    const searched = rest.length;
    const bytes = rest.length === 0 ? chunk.subarray(0, size) : Buffer.concat([rest, chunk.subarray(0, size)]);
    let begin = 0;
    for (let end = bytes.indexOf(10, searched); end !== -1; end = bytes.indexOf(10, begin)) {
      yield { line: bytes.subarray(begin, end), at: at + begin };
      begin = end + 1;
    }
    at += begin;
    rest = bytes.subarray(begin);
    if (size === 0) break;
  }
  if (rest.length > 0) yield { line: rest, at };
}

/** The exchange that most resembles a request, for messages. */
function findNearest(all: readonly Indexed[], wanted: RequestKey): Indexed | undefined {
  const own = all.filter(({ key }) => key.service === wanted.service);
  const samePath = own.filter(({ key }) => key.path === wanted.path);
  const sameMethod = samePath.find(({ key }) => key.method === wanted.method);
  const known = sameMethod ?? samePath[0];
  if (known !== undefined) return known;
  const byPath = new Map(own.toReversed().map((each) => [each.key.path, each]));
  const close = nearest(wanted.path, byPath.keys());
  if (close !== undefined) return byPath.get(close);
  const shared = (path: string): number => {
    let length = 0;
    while (length < path.length && path[length] === wanted.path[length]) length += 1;
    return length;
  };
  return own.toSorted((a, b) => shared(b.key.path) - shared(a.key.path))[0];
}

function explainMiss(all: readonly Indexed[], wanted: RequestKey, alike: readonly Indexed[]): ApiError {
  const said = `the recording has no ${describeRequest(wanted)}`;
  const used = alike.filter(({ key }) => key.sha256 === wanted.sha256).length;
  if (used > 0) return new ApiError(501, 'NotRecorded', `${said} any more: it was sent ${used === 1 ? 'once' : `${used} times`}`);
  if (alike.length > 0) return new ApiError(501, 'NotRecorded', `${said} with this body: it was sent with another one`);
  const close = findNearest(all, wanted);
  return new ApiError(501, 'NotRecorded', close === undefined ? said : `${said}; the nearest is ${describeRequest(close.key)}`);
}

async function* breakOff(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
  throw new ConnectionClosed();
}

function writeResponse({ status, headers, body, base64, leftOut, cut, method, ...key }: Exchange): HttpResponse {
  if (leftOut !== undefined)
    return writeError(
      new ApiError(501, 'NotRecorded', `the body of ${describeRequest({ method, ...key })} is not in the recording: ${leftOut}`),
    );
  const bytes = base64 === undefined ? Buffer.from(body ?? '') : Buffer.from(base64, 'base64');
  if (cut) return { status, headers, body: breakOff(bytes) };
  const isBare = method === 'HEAD' || status === 204 || status === 304;
  const length = isBare ? {} : { 'content-length': String(bytes.length) };
  return { status, headers: { ...headers, ...length }, body: streamOf(bytes) };
}

/** Methods that may be sent more often than they were recorded: the last response is repeated. */
const reading: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The index of a recording. */
interface Index {
  readonly header: RecordingHeader;
  /** In the order in which the requests arrived. */
  readonly all: readonly Indexed[];
}

function readIndex(file: string, descriptor: number): Index {
  let header: RecordingHeader | undefined;
  const all: Indexed[] = [];
  let number = 0;
  for (const { line, at } of readLines(descriptor)) {
    number += 1;
    if (number === 1 && line[0] !== 0x7b) throw createRecordingError(file, 'is not a recording');
    const value = readLine(file, line, number);
    if (header === undefined) {
      if (!isHeader(value)) throw createRecordingError(file, 'is not a recording of this format');
      header = value;
      continue;
    }
    if (!isExchange(value)) throw createRecordingError(file, `line ${number} is not an exchange`);
    const { id, service, method, path, query, choice, sha256 } = value;
    all.push({ key: { service, method, path, query, choice, sha256 }, id, at, length: line.length, isUsed: false });
  }
  if (header === undefined) throw createRecordingError(file, 'is empty');
  return { header, all: all.toSorted((a, b) => a.id - b.id) };
}

function readOrClose(file: string, descriptor: number): Index {
  try {
    return readIndex(file, descriptor);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** Of exchanges that differ only in their bodies, the first unused one with the request's body. */
function choose(alike: readonly Indexed[], { sha256, method }: RequestKey): Indexed | undefined {
  // Without a hash: the cloud may have responded before it had read the body.
  const fitting = [...alike.filter(({ key }) => key.sha256 === sha256), ...alike.filter(({ key }) => key.sha256 === undefined)];
  return fitting.find(({ isUsed }) => !isUsed) ?? (reading.has(method) ? fitting.at(-1) : undefined);
}

/** Path of the liveness check; programs send it too. */
const pingPath = '/--ping';

/**
 * Opens a recording. Only the index stays in memory.
 * @throws {UsageError} for a file that is not a recording or is damaged
 */
export function openReplay(file: string): Replay {
  const descriptor = open(file);
  const { header, all } = readOrClose(file, descriptor);
  const byKey = groupBy(all, ({ key }) => keyOf(key));
  const unmatched: string[] = [];
  const load = ({ at, length }: Indexed): Exchange => {
    const line = Buffer.alloc(length);
    readSync(descriptor, line, 0, length, at);
    return JSON.parse(line.toString()) as Exchange;
  };
  const answer = (wanted: RequestKey, log: (line: string) => void): HttpResponse => {
    const alike = byKey.get(keyOf(wanted)) ?? [];
    const found = choose(alike, wanted);
    if (found !== undefined) {
      found.isUsed = true;
      return writeResponse(load(found));
    }
    const miss = explainMiss(all, wanted, alike);
    if (wanted.path !== pingPath) {
      unmatched.push(describeRequest(wanted));
      log(miss.message);
    }
    return writeError(miss);
  };
  const serve =
    (service: ServiceName, log: (line: string) => void): Service =>
    async (request) => {
      try {
        const keyed = await keyRequest(service, request);
        await drain(keyed.request.body);
        const response = answer(keyed.key(), log);
        return request.method === 'HEAD' ? dropBody(response) : response;
      } catch (error) {
        if (error instanceof ApiError) return writeError(error);
        throw error;
      }
    };
  return {
    header,
    unmatched,
    services: (log) => ({ compute: serve('compute', log), storage: serve('storage', log), second: serve('compute', log) }),
    close: () => closeSync(descriptor),
  };
}

async function drain(body: Body | undefined): Promise<void> {
  if (body !== undefined && !(body instanceof Uint8Array)) for await (const _ of body);
}
