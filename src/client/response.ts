import { createHash } from 'node:crypto';
import { readAliases, specifiedCode } from '../api/aliases.ts';
import { closeBody } from '../api/close-body.ts';
import { BodyTooLarge, readAll, type ByteStream, type HttpResponse } from '../api/message.ts';
import type { Field } from '../api/fields.ts';
import type { ResultKind } from '../api/operation.ts';
import { ApiError, NetworkError, type FieldError } from '../base/errors.ts';
import { isRecord } from '../base/is-record.ts';
import { checkShape } from './shape.ts';

/** Error code for a success without the requested record, as the specification's text has it for GetJob and GetMultipartUpload. */
const emptyResponse = 'EmptyReply';

/** True if a service confirmed that something exists without describing it. */
export function isEmptyResponse(error: unknown): error is NetworkError {
  return error instanceof NetworkError && error.code === emptyResponse;
}

/** Maximum size of a JSON response, bytes: an endless one must not fill memory. */
const largestJson = 16 * 1024 * 1024;
/** Maximum nesting and number of values of a large JSON response: parsing a value takes up to a hundred times its size in memory. */
const deepestJson = 1000;
const mostValues = 400_000;
const largeJson = 256 * 1024;
/** Maximum characters of a message from a service. */
const longestMessage = 1000;
const longestCode = 100;
/** Maximum length of a line in a stream of records. */
const largestLine = 1024 * 1024;
/** Seconds that a request's date may be off (section 5 of the compute specification). */
const largestSkew = 300;

/** The origin of a response, for messages. */
interface Origin {
  url: URL;
  /** Milliseconds since the epoch. */
  now: () => number;
}

/**
 * Seconds by which this machine's clock is ahead of the service's; undefined when the response has no usable date. A date has whole seconds:
 * clocks that agree differ from it by up to one.
 */
export function readSkew(response: Pick<HttpResponse, 'headers'>, now: () => number): number | undefined {
  const date = Date.parse(response.headers['date'] ?? '');
  return Number.isNaN(date) ? undefined : Math.floor((now() - date) / 1000);
}

function otherService(url: URL): string {
  return `check the URL: ${url.origin} may not be the service`;
}

/** Truncates a text from a service. */
function shorten(text: string, most = longestMessage): string {
  return text.length > most ? `${text.slice(0, most)}...` : text;
}

function readFieldErrors(value: unknown): FieldError[] {
  if (!Array.isArray(value)) return [];
  const read = (word: unknown): string => (typeof word === 'string' ? shorten(word, longestCode * 3) : '');
  return value
    .slice(0, 100)
    .filter(isRecord)
    .map(({ field, code, message }) => ({ field: read(field), code: read(code), message: read(message) }));
}

const statusWords: Readonly<Record<number, string>> = {
  304: 'NotModified',
  401: 'InvalidCredentials',
  403: 'NotAuthorized',
  404: 'ResourceNotFound',
  412: 'PreconditionFailed',
  420: 'RequestThrottled',
  429: 'RequestThrottled',
  449: 'InvalidVersion',
  503: 'ServiceUnavailable',
};

/** The error for a refused request; its message says so if the body is not `{code, message}`. */
export async function readError(response: HttpResponse, { url, now }: Origin): Promise<ApiError> {
  const raw = await readAll(response.body, largestLine).catch(() => new Uint8Array());
  const requestId = response.headers['request-id'] ?? response.headers['x-request-id'];
  const fallback = statusWords[response.status] ?? `Status${response.status}`;
  let body: unknown;
  try {
    body = JSON.parse(Buffer.from(raw).toString());
  } catch {
    body = undefined;
  }
  const skew = readSkew(response, now);
  if ([400, 401, 403].includes(response.status) && skew !== undefined && Math.abs(skew) > largestSkew) {
    const side = skew > 0 ? 'ahead of' : 'behind';
    return new ApiError(
      response.status,
      'ClockSkew',
      `the clock of this machine is ${Math.abs(skew)} seconds ${side} the clock of ${url.host}`,
      {
        requestId,
        hint: `set the clock: services reject requests if it is more than ${largestSkew} seconds off`,
      },
    );
  }
  if (isRecord(body) && typeof body['code'] === 'string') {
    const message =
      typeof body['message'] === 'string' && body['message'] !== '' ? body['message'] : `request rejected with status ${response.status}`;
    return new ApiError(response.status, specifiedCode(shorten(body['code'], longestCode)), shorten(message), {
      requestId,
      errors: readFieldErrors(body['errors']),
    });
  }
  if (raw.length === 0)
    return new ApiError(response.status, fallback, `${url.host} responded with status ${response.status}`, { requestId });
  return new ApiError(
    response.status,
    fallback,
    `${url.host} responded with status ${response.status} and a body that is not an error of this API`,
    {
      requestId,
      hint: otherService(url),
    },
  );
}

/** Reads a JSON body completely, and compares it with Content-MD5 if present. */
async function readJson(response: HttpResponse, { url }: Origin): Promise<unknown> {
  const raw = await readBounded(response.body, largestJson, url.host);
  const announced = response.headers['content-md5'];
  if (announced !== undefined && announced !== createHash('md5').update(raw).digest('base64')) throw damaged(url);
  if (raw.length > largeJson) checkLargeJson(raw, response, url);
  try {
    return JSON.parse(Buffer.from(raw).toString());
  } catch (error) {
    throw notJson(response, url, error);
  }
}

function tooLarge(sender: string): NetworkError {
  return new NetworkError(`the response from ${sender} is too large`, { code: 'ReplyTooLarge' });
}

/** Reads a body to its end. @param sender for messages @throws {NetworkError} `ReplyTooLarge` when it has more than `limit` bytes */
export async function readBounded(body: ByteStream, limit: number, sender: string): Promise<Uint8Array> {
  try {
    return await readAll(body, limit);
  } catch (error) {
    throw error instanceof BodyTooLarge ? tooLarge(sender) : error;
  }
}

/** Checks JSON before it is parsed: responses of the services never have as much nesting, or as many values, as would exhaust memory. */
function checkLargeJson(raw: Uint8Array, response: HttpResponse, url: URL): void {
  let depth = 0;
  let values = 0;
  let inText = false;
  for (let at = 0; at < raw.length; at += 1) {
    const byte = raw[at];
    if (byte === 0x22) inText = !inText;
    else if (inText) at += byte === 0x5c ? 1 : 0;
    else if (byte === 0x5b || byte === 0x7b) {
      depth += 1;
      values += 1;
    } else if (byte === 0x5d || byte === 0x7d) depth -= 1;
    else if (byte === 0x2c) values += 1;
    if (depth > deepestJson) throw notJson(response, url, undefined);
    if (values > mostValues) throw tooLarge(url.host);
  }
}

function damaged(url: URL): NetworkError {
  return new NetworkError(`the response from ${url.host} was damaged in transit: its MD5 differs`, { code: 'DamagedReply' });
}

/**
 * Passes through the body, compared with Content-MD5 if present and if it covers exactly this body.
 * @throws {NetworkError} `DamagedReply` after the last chunk
 */
export async function* checkBody({ status, headers, body }: HttpResponse, url: URL): AsyncGenerator<Uint8Array> {
  const announced = status === 206 ? undefined : headers['content-md5'];
  const hash = announced === undefined ? undefined : createHash('md5');
  for await (const chunk of body) {
    hash?.update(chunk);
    yield chunk;
  }
  if (announced !== hash?.digest('base64')) throw damaged(url);
}

function notJson(response: HttpResponse, url: URL, cause: unknown): NetworkError {
  const type = response.headers['content-type']?.split(';')[0] ?? 'no content type';
  return new NetworkError(`the response from ${url.host} is not JSON (${type})`, {
    code: 'UnreadableReply',
    hint: otherService(url),
    cause,
  });
}

/** The lines of a stream, without line ends, in the groups in which they arrive. */
async function* readLineGroups(body: ByteStream): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    // Earlier text is not searched again: chunks may have one byte, and a line a million.
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n');
    const lines = [rest + first, ...others];
    rest = lines.pop() ?? '';
    if (rest.length > largestLine) throw new NetworkError('a line of the response is too long', { code: 'UnreadableReply' });
    yield lines;
  }
  rest += decoder.decode();
  if (rest !== '') yield [rest];
}

/** The lines of a stream, without line ends. */
export async function* readLines(body: ByteStream): AsyncGenerator<string> {
  for await (const lines of readLineGroups(body)) yield* lines;
}

async function* readRecords(response: HttpResponse, { url }: Origin, shape: Field | undefined): AsyncGenerator<unknown> {
  const [sender, hint] = [url.host, otherService(url)];
  // Awaiting costs more than processing a line: this generator awaits once per record, not also once per line.
  for await (const lines of readLineGroups(response.body)) {
    for (const line of lines) {
      if (line.trim() === '') continue;
      let value: unknown;
      try {
        value = JSON.parse(line);
      } catch (error) {
        throw notJson(response, url, error);
      }
      yield checkShape(value, shape, sender, hint);
    }
  }
}

/** The result of an operation in its declared form. The body is read to its end, unless it is a stream of records or lines. */
export async function readResult(
  kind: Exclude<ResultKind, 'bytes'>,
  response: HttpResponse,
  origin: Origin,
  shape?: Field,
): Promise<unknown> {
  const { headers, status } = response;
  if (kind === 'json') {
    if (status === 204) throw new NetworkError(`${origin.url.host} responded with 204 and no record`, { code: emptyResponse });
    const value = await readJson(response, origin);
    return checkShape(Array.isArray(value) ? value.map(readAliases) : readAliases(value), shape, origin.url.host, otherService(origin.url));
  }
  if (kind === 'records') return { headers, records: readRecords(response, origin, shape) };
  if (kind === 'lines') return { headers, records: readLines(response.body) };
  const raw = await readBounded(response.body, largestLine, origin.url.host);
  // A web page with a success status does not come from the service.
  if (raw.length > 0 && headers['content-type']?.startsWith('text/html') === true) throw notJson(response, origin.url, undefined);
  return headers;
}

/** Redirections are never followed: the signature must not go to another host. */
function redirected(response: HttpResponse, url: URL): NetworkError {
  const target = response.headers['location'] ?? 'nowhere';
  return new NetworkError(`${url.host} redirects to ${target}; redirects are not followed`, {
    code: 'Redirected',
    hint: 'if that URL is correct, set it in the profile',
  });
}

/** Throws the error for a response whose status is not the one of the operation. */
export async function throwRefusal(response: HttpResponse, place: { url: URL; now: () => number }): Promise<never> {
  if (response.status >= 400 || response.status === 304) throw await readError(response, place);
  await closeBody(response.body);
  throw redirected(response, place.url);
}
