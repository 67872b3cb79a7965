import { streamOf, WholeBody, type Headers } from '../../api/message.ts';
import type { Download, InputOf } from '../../api/operation.ts';
import type { storage } from '../../api/storage.ts';
import { ApiError } from '../../base/errors.ts';
import type { Call, Handler } from '../http/handler.ts';
import { writeJson } from '../http/response.ts';
import { explainDamage } from '../store/damaged.ts';
import type { EntryRow } from '../store/schema.ts';
import { accepts } from './accept.ts';
import { fitsRange, judgeRead } from './conditions.ts';
import { openContent } from './contents.ts';
import { showCors } from './cors.ts';
import { findEntry, requireEntry } from './entries.ts';
import { describeVersion, readStoredHeaders } from './headers.ts';
import { isPublic, placeOf, type Place } from './paths.ts';
import { readRange } from './ranges.ts';
import { showRoleTags } from './roles.ts';

type Input = InputOf<typeof storage.getObject>;

/** Responds with the bytes of an object or with one range of them, or with 304 or 416. */
export const getObject: Handler<typeof storage.getObject> = async (input, call) => {
  const place = placeOf(call.account.login, input.path);
  for (let { ahead } = call; ; ahead = undefined) {
    const entry = ahead?.entry ?? (await requireEntry(call.store.db, place));
    if (entry.type === 'directory') throw new ApiError(409, 'ConcurrentRequest', `${place.path} became a directory in the meantime: retry`);
    const download = await answerDownload(input, place, { entry, bytes: ahead?.bytes }, call);
    if (download) return download;
  }
};

/** Undefined if the object was replaced before its bytes could be opened: the caller retries with the new one. */
async function answerDownload(
  input: Input,
  place: Place,
  { entry, bytes }: { entry: EntryRow; bytes: Uint8Array | undefined },
  call: Call,
): Promise<Download | undefined> {
  const headers: Headers = { ...describeObject(entry, call), ...protectBrowsers(place), ...(await showRoleTags(call, entry)) };
  const type = headers['content-type'] ?? '';
  if (!accepts(input.accept, type)) throw new ApiError(406, 'NotAcceptable', `the object is ${type}, which the Accept header excludes`);
  if (judgeRead(input, entry) === 'not modified') return answerNotModified(headers);
  const size = entry.size ?? 0;
  // Range is defined for GET only (RFC 9110, 14.2).
  const isAsked = call.method !== 'HEAD' && fitsRange(input.ifRange, entry, call.now());
  const range = isAsked ? readRange(input.range, size) : undefined;
  if (range === 'outside') return answerOutside(size);
  const { start, end } = range ?? { start: 0, end: size };
  const { content } = entry;
  const isThere = async (): Promise<boolean> => (await findEntry(call.store.db, place))?.content === content;
  // HEAD works even if the bytes cannot be read: a client that uploads the object again requests its headers first.
  const isEmpty = content === null || start === end || call.method === 'HEAD';
  const open = async (of: string) =>
    bytes ? new WholeBody(bytes.subarray(start, end)) : openContent(call.store, of, { start, end }, isThere);
  const body = isEmpty
    ? streamOf()
    : await open(content).catch((error: unknown) => {
        throw explainDamage(error, content, place.path);
      });
  if (!body) return undefined;
  headers['content-length'] = String(end - start);
  if (range) headers['content-range'] = `bytes ${start}-${end - 1}/${size}`;
  else headers['content-md5'] = entry.md5 ?? '';
  return { status: range ? 206 : 200, headers, body };
}

/** Headers by entry, for requests without an origin. On SQLite, rows that are read again are the same objects (`rememberQuery`). */
const described = new WeakMap<EntryRow, Headers>();

/** The headers of every response with an object. */
function describeObject(entry: EntryRow, call: Call): Headers {
  const { origin } = call.headers;
  const known = origin === undefined ? described.get(entry) : undefined;
  if (known) return known;
  const headers = {
    ...showCors(readStoredHeaders(entry), call),
    ...describeVersion(entry),
    'durability-level': String(entry.copies ?? 0),
    'accept-ranges': 'bytes',
  };
  if (origin === undefined) described.set(entry, headers);
  return headers;
}

/** Content is only interpreted as its stored type, and a public page cannot access anything else from this origin. */
function protectBrowsers(place: Place): Headers {
  return { 'x-content-type-options': 'nosniff', ...(isPublic(place) && { 'content-security-policy': 'sandbox' }) };
}

function answerNotModified(described: Headers): Download {
  const { 'content-type': _, ...headers } = described;
  return { status: 304, headers, body: streamOf() };
}

function answerOutside(size: number): Download {
  const message = `the object has ${size} bytes, none of them in the range`;
  return writeJson(416, { code: 'RequestedRangeNotSatisfiable', message }, { 'content-range': `bytes */${size}` });
}
