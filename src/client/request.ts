import { writeAliases } from '../api/aliases.ts';
import { streamOf, type Body, type Headers, type Request } from '../api/message.ts';
import { placeOf, type Operation } from '../api/operation.ts';
import { UsageError } from '../base/errors.ts';

/** Percent-encodes one path segment or query part; also `! ' ( ) *`, as the signatures of pre-signed URLs require. */
export function encodePart(text: string): string {
  if (/^[\w.~-]*$/.test(text)) return text;
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Percent-encodes a path, keeping its slashes. */
export function encodePath(path: string): string {
  return path.split('/').map(encodePart).join('/');
}

/** The query `?a=1&b=2`; empty without pairs. Undefined values are left out, lists are repeated. */
export function encodeQuery(pairs: Readonly<Record<string, unknown>>): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(pairs)) {
    if (value === undefined) continue;
    const items: unknown[] = Array.isArray(value) ? value : [value];
    for (const item of items) parts.push(`${encodePart(name)}=${encodePart(typeof item === 'string' ? item : JSON.stringify(item))}`);
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

/** @throws {UsageError} for a name that would change the path: URLs resolve `.` and `..`, even if encoded */
function requireName(name: string): void {
  if (name === '' || name === '.' || name === '..') throw new UsageError(`"${name}" is not a name`);
}

function encodeRest(path: string): string {
  const names = path.split('/');
  for (const name of names) if (name !== '') requireName(name);
  return names.map(encodePart).join('/');
}

/** The path of a request, percent-encoded. */
export function buildPath(operation: Operation, input: Readonly<Record<string, unknown>>): string {
  let path = '';
  for (const { kind, text } of operation.segments) {
    const value = kind === 'literal' ? text : input[text];
    if (typeof value !== 'string') throw new TypeError(`${operation.name}: path input ${text} is missing`);
    if (kind === 'input') requireName(value);
    const part = kind === 'literal' ? value : kind === 'rest' ? encodeRest(value) : encodePart(value);
    if (part !== '') path += `/${part}`;
  }
  return path === '' ? '/' : path;
}

/** The names of the inputs that an operation declares. */
const declaredNames = new WeakMap<Operation, ReadonlySet<string>>();

function namesOf(operation: Operation): ReadonlySet<string> {
  const known = declaredNames.get(operation);
  if (known) return known;
  const { segments, fields, body, storesHeaders } = operation;
  const names = new Set([...Object.keys(fields), ...segments.filter(({ kind }) => kind !== 'literal').map(({ text }) => text)]);
  if (storesHeaders) names.add('headers');
  if (body === 'bytes' || body === 'lines') names.add('body');
  if (body === 'bytes') names.add('length');
  declaredNames.set(operation, names);
  return names;
}

/** @throws {TypeError} for an input that the operation does not declare, which would be ignored silently */
function assertDeclared(operation: Operation, input: Readonly<Record<string, unknown>>): void {
  const names = namesOf(operation);
  for (const key in input) if (!names.has(key)) throw new TypeError(`${operation.name} has no input ${key}`);
}

/** The request for an operation and its input, without date, signature and host. */
export function buildRequest(operation: Operation, input: Readonly<Record<string, unknown>>): Request {
  assertDeclared(operation, input);
  const query: Record<string, unknown> = { ...operation.when.query };
  const headers: Headers = { ...(operation.storesHeaders ? (input['headers'] as Headers | undefined) : undefined) };
  let fields: Record<string, unknown> = {};
  for (const name in operation.fields) {
    const value = input[name];
    const field = operation.fields[name];
    if (value === undefined || field === undefined) continue;
    const place = placeOf(operation, field);
    if (place === 'query') query[name] = value;
    else if (place === 'header') headers[field.header ?? name] = value as string;
    else fields[name] = value;
  }
  if (operation.service === 'compute') fields = writeAliases(fields);
  if (operation.when.contentType !== undefined) headers['content-type'] = `application/json; type=${operation.when.contentType}`;
  const body = buildBody(operation, input, fields, headers);
  return { method: operation.method, target: buildPath(operation, input) + encodeQuery(query), headers, body };
}

function buildBody(operation: Operation, input: Readonly<Record<string, unknown>>, fields: object, headers: Headers): Body | undefined {
  if (operation.body === 'json') {
    const json = Buffer.from(JSON.stringify(fields));
    headers['content-type'] = 'application/json';
    headers['content-length'] = String(json.length);
    return json;
  }
  if (operation.body === 'none') {
    // Deployed storage services refuse a content-length on a change of metadata, even 0: an empty stream is sent chunked.
    if (operation.storesHeaders && operation.when.query !== undefined) return streamOf();
    if (operation.method !== 'GET' && operation.method !== 'DELETE') headers['content-length'] = '0';
    return undefined;
  }
  if (operation.body === 'lines') headers['content-type'] ??= 'text/plain';
  if (typeof input['length'] === 'number') headers['content-length'] = String(input['length']);
  return input['body'] as Body;
}
