import { readAliases } from '../../api/aliases.ts';
import type { Field } from '../../api/fields.ts';
import { streamOf, type Headers, type Request } from '../../api/message.ts';
import { placeOf, type Operation } from '../../api/operation.ts';
import { pickStoredHeaders } from '../../api/stored-headers.ts';
import { ApiError } from '../../base/errors.ts';
import { coerceValue, ValueError } from './coerce.ts';
import { readNamesOfRole, readOldRole } from '../compute/old-roles.ts';
import type { Match } from './match.ts';
import { assertQueryHas } from '../access/presigned.ts';
import { collectPairs, readBodyParameters, type Parameters } from './read-parameters.ts';
import { limitOf } from '../limit.ts';
import { createInvalidError, createMissingError, refusesUnknown } from './input-errors.ts';
import type { ServiceSettings } from '../settings.ts';
import { hasOldRoles } from './version.ts';

/** Headers that deployed clients send under another name. */
const headerSpellings: Readonly<Record<string, string>> = { 'durability-level': 'x-durability-level' };

function readHeader(headers: Headers, name: string): string | undefined {
  return headers[name] ?? headers[headerSpellings[name] ?? ''];
}

/** An empty value of a required field counts as missing; an empty value of an optional one clears it. */
function isMissing(value: unknown, field: Field): boolean {
  return value === undefined || value === null || (value === '' && !field.optional);
}

function coerceField(operation: Operation, name: string, field: Field, value: unknown): unknown {
  try {
    return coerceValue(value, field, {
      refusesUnknown: refusesUnknown(operation),
      refusesSingle: operation.service === 'storage',
    });
  } catch (error) {
    throw error instanceof ValueError ? createInvalidError(operation, `${name}${error.place}`, error.message) : error;
  }
}

function checkUnknown(operation: Operation, parameters: Parameters): void {
  if (!refusesUnknown(operation)) return;
  const unknown = Object.keys(parameters).find((name) => !Object.hasOwn(operation.fields, name));
  if (unknown !== undefined) throw createInvalidError(operation, unknown, 'is not a known field');
}

function pickFields(operation: Operation, parameters: Parameters, headers: Headers): Record<string, unknown> {
  const valueOf = (name: string, field: Field): unknown =>
    placeOf(operation, field) === 'header' ? readHeader(headers, field.header ?? name) : parameters[name];
  const given = Object.entries(operation.fields).map(([name, field]) => ({ name, field, value: valueOf(name, field) }));
  const missing = given.filter(({ value, field }) => isMissing(value, field) && !field.optional);
  if (missing.length > 0)
    throw createMissingError(
      operation,
      missing.map(({ name }) => name),
    );
  const present = given.filter(({ value, field }) => !isMissing(value, field));
  return Object.fromEntries(present.map(({ name, field, value }) => [name, coerceField(operation, name, field, value)]));
}

/** A boolean in the query without a value, `?membership` or `?membership=`, is true for a GET, where it asks to show more. */
function readFlags({ method, fields }: Operation, query: Parameters): Parameters {
  if (method !== 'GET') return query;
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, value === '' && fields[name]?.kind === 'boolean' ? 'true' : value]),
  );
}

function readLength({ 'content-length': length, 'transfer-encoding': coding }: Headers): number | undefined {
  return length === undefined || coding !== undefined ? undefined : Number(length);
}

async function hasContent({ body, headers }: Request): Promise<boolean> {
  if (body === undefined) return false;
  if (headers['transfer-encoding'] === undefined) return Number(headers['content-length'] ?? 0) > 0;
  for await (const chunk of body instanceof Uint8Array ? streamOf(body) : body) if (chunk.length > 0) return true;
  return false;
}

/**
 * @throws {ApiError} 400 when a request has a body that would be lost: `BadRequest` if it creates something that has no content,
 * `InvalidUpdate` if it changes only the headers of an entry.
 */
async function checkNoBody({ method, creates, needsEntry, body }: Operation, request: Request): Promise<void> {
  if (method !== 'PUT' || !(creates || needsEntry) || body !== 'none' || !(await hasContent(request))) return;
  if (creates) throw new ApiError(400, 'BadRequest', 'a directory or a link has no content: send no body');
  throw new ApiError(400, 'InvalidUpdate', 'the data cannot be changed together with the headers: send no body, or put the object again');
}

function passBody(operation: Operation, { body, headers }: Request): Record<string, unknown> {
  if (operation.body !== 'bytes' && operation.body !== 'lines') return {};
  const stream = body === undefined ? streamOf() : body instanceof Uint8Array ? streamOf(body) : body;
  const length = body instanceof Uint8Array ? body.length : readLength(headers);
  return { body: stream, ...(length !== undefined && { length }) };
}

/**
 * Collects the input of an operation from path, query, body and headers, in the form of its API version. Inputs of the path are never
 * overridden.
 * @throws {ApiError} for all missing fields together, or for the first one whose value does not fit.
 */
export async function validate(
  { operation, inputs }: Match,
  request: Request,
  query: URLSearchParams,
  { version, settings, presigned }: { version: string; settings: ServiceSettings; presigned: boolean },
): Promise<Record<string, unknown>> {
  const body = operation.body === 'json' ? await readBodyParameters(request, operation.service, limitOf(settings, 'parameterBytes')) : {};
  if (presigned) assertQueryHas(operation, body, query);
  checkUnknown(operation, body);
  await checkNoBody(operation, request);
  const parameters = readAliases<Parameters>({ ...readFlags(operation, collectPairs(query)), ...body });
  const { current, old } = hasOldRoles(version)
    ? readOldRole(operation, parameters)
    : { current: readNamesOfRole(operation, parameters), old: {} };
  return {
    ...pickFields(operation, current, request.headers),
    ...old,
    ...(operation.storesHeaders && { headers: pickStoredHeaders(request.headers) }),
    ...passBody(operation, request),
    ...inputs,
  };
}
