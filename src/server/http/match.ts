import { actionAliases } from '../../api/aliases.ts';
import { isResourcePath } from '../../api/collections.ts';
import { isTyped } from '../../api/media-type.ts';
import type { Headers } from '../../api/message.ts';
import type { Operation, Operations, Segment } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import { isUuid } from '../../base/uuid.ts';
import type { Target } from './target.ts';

/** An operation that matches a request, and its path inputs. */
export interface Match {
  readonly operation: Operation;
  readonly inputs: Readonly<Record<string, string>>;
}

/** The operation of a request, or several that differ in the type of the entry at the path. */
export interface Matches {
  /** The first one is the best match. */
  readonly candidates: readonly [Match, ...Match[]];
  /** Compute: the parameter that selects one of several operations of this path and is missing in the query; the body may have it. */
  readonly selector?: string;
}

/** Adds what a segment takes to the inputs; literals have been compared. */
function takePart(segment: Segment, index: number, parts: readonly string[], inputs: Record<string, string>): boolean {
  if (segment.kind === 'rest') {
    inputs[segment.text] = parts.slice(index).join('/');
    return index > 0 || parts.length > 0;
  }
  if (segment.kind === 'literal') return true;
  const part = parts[index];
  if (part === undefined) return false;
  inputs[segment.text] = part;
  return true;
}

function matchPath({ segments }: Operation, parts: readonly string[]): Record<string, string> | undefined {
  const hasRest = segments.at(-1)?.kind === 'rest';
  if (hasRest ? parts.length < segments.length - 1 : parts.length !== segments.length) return undefined;
  // Most operations differ in a literal.
  if (segments.some(({ kind, text }, index) => kind === 'literal' && text !== parts[index])) return undefined;
  const inputs: Record<string, string> = {};
  return segments.every((segment, index) => takePart(segment, index, parts, inputs)) ? inputs : undefined;
}

/** The components of an operation's path after the account, with its inputs filled in. */
export function fillPath({ segments }: Operation, inputs: Readonly<Record<string, string>>): string[] {
  return segments.slice(1).map(({ kind, text }) => (kind === 'literal' ? text : (inputs[text] ?? '')));
}

/** A GET operation also serves HEAD, and a redirect serves the methods of its target. */
function servesMethod(operation: Operation, method: string): boolean {
  if (operation.method === method) return true;
  if (operation.method !== 'GET') return false;
  return method === 'HEAD' || (operation.status === 301 && (method === 'PUT' || method === 'POST'));
}

/** Checks the conditions that depend on the request alone. */
function meetsConditions({ when }: Operation, inputs: Record<string, string>, query: URLSearchParams, headers: Headers): boolean {
  if (when.uuid !== undefined && !isUuid(inputs[when.uuid] ?? '')) return false;
  if (when.contentType !== undefined && !isTyped(headers['content-type'] ?? '', 'application/json', when.contentType)) return false;
  return Object.entries(when.query ?? {}).every(([name, value]) => isValue(query.get(name), value));
}

function isValue(given: string | null, value: string): boolean {
  return given === value || actionAliases.some(({ specified, deployed }) => specified === value && deployed === given);
}

/**
 * A string to sort by: the more specific pattern comes first, then the one with more conditions; query conditions count double. In the
 * storage, operations that query or content type select come before all others: a request to change headers never stores a part.
 */
function rankOperation({ service, segments, when }: Operation): string {
  const ranks: Readonly<Record<Segment['kind'], string>> = { literal: '0', input: '1', rest: '2' };
  const path = segments.map((segment) => ranks[segment.kind]).join('');
  const conditions =
    Object.keys(when.query ?? {}).length * 2 + (when.contentType === undefined ? 0 : 1) + (when.uuid === undefined ? 0 : 1);
  const isSelected = service === 'storage' && (when.query !== undefined || when.contentType !== undefined);
  return `${isSelected ? 0 : 1}${path.padEnd(8, '0')}${9 - conditions}`;
}

function listMethods(found: readonly Operation[]): string {
  const methods = new Set(found.map((operation) => operation.method));
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods].sort().join(', ');
}

/** True if an operation is a step of a resource that its path names, such as the commit of an upload. */
function isStep({ segments }: Operation): boolean {
  return segments.length > 3 && segments.at(-1)?.kind === 'literal';
}

/** Steps at this path, for a read request that treats them as resources. */
function rivalSteps(method: string, ranked: readonly { operation: Operation }[], parts: readonly string[]): Operation[] {
  if (method !== 'GET' && method !== 'HEAD') return [];
  return ranked.flatMap(({ operation }) => (isStep(operation) && matchPath(operation, parts) !== undefined ? [operation] : []));
}

/** Thrown for a path that exists but does not support the method; the response lists the methods that it supports. */
export class MethodNotAllowed extends ApiError {
  readonly allow: string;

  constructor(method: string, path: string, allow: string) {
    super(405, 'MethodNotAllowed', `${path} does not support ${method}; supported: ${allow}`);
    this.allow = allow;
  }
}

/** Compute: the query conditions that select one of several operations with the same path and method. */
function listSelections(rivals: readonly Operation[]): [string, string][] {
  return rivals.filter(({ service }) => service === 'compute').flatMap(({ when }) => Object.entries(when.query ?? {}));
}

/** The error for a selecting parameter with an unknown value, or with any value if the path alone is another operation. */
function findQueryError(rivals: readonly Operation[], found: Operation | undefined, query: URLSearchParams): ApiError | undefined {
  const conditions = listSelections(rivals);
  const [name] = conditions[0] ?? [];
  const value = name === undefined ? null : query.get(name);
  if (name === undefined || value === null || value === '' || found?.when.query !== undefined) return undefined;
  const known = conditions.map(([, each]) => each).join(', ');
  return new ApiError(409, 'InvalidArgument', `${name} is "${value}": it must be one of ${known}`);
}

/** The selecting parameter that the query lacks and the body may have (compute specification, section 1.2). */
function findSelector(rivals: readonly Operation[], query: URLSearchParams): string | undefined {
  const [name] = listSelections(rivals)[0] ?? [];
  return name === undefined || (query.get(name) ?? '') !== '' ? undefined : name;
}

/**
 * Storage: the error for a misspelled query parameter that would turn a PUT into another operation. Without this check, `?metadata=1` would
 * empty the object whose headers it is meant to change.
 */
function findMisspellingError(found: Operation | undefined, query: URLSearchParams): ApiError | undefined {
  if (found?.service !== 'storage' || found.method !== 'PUT' || found.when.query !== undefined) return undefined;
  const name = [...query.keys()].find((key) => key.toLowerCase() === 'metadata');
  if (name === undefined) return undefined;
  return new ApiError(400, 'InvalidArgumentError', `${name} is "${query.get(name) ?? ''}": it must be metadata=true or absent`);
}

/**
 * Creates the function that finds the operation of a request: the most specific pattern wins (literal, then input, then rest), then the one
 * with more conditions met, except for operations of the storage that query or content type select (`rankOperation`).
 * @throws {ApiError} 404 if no operation has such a path, 405 if none with this path supports the method, 409 for an unknown `action`.
 */
export function createMatcher(operations: Operations): (method: string, target: Target, headers: Headers) => Matches {
  const ranked = Object.values(operations)
    .map((operation) => ({ operation, rank: rankOperation(operation) }))
    .sort((left, right) => (left.rank < right.rank ? -1 : 1));

  return (method, { path, parts, query }, headers) => {
    const sameRank: Match[] = [];
    const rivalMatches: Match[] = [];
    const otherMethods: Operation[] = [];
    const anyPath: Operation[] = [];
    let foundRank: string | undefined;
    for (const { operation, rank } of ranked) {
      const inputs = matchPath(operation, parts);
      if (inputs === undefined) continue;
      if (operation.method === method) rivalMatches.push({ operation, inputs });
      if (foundRank !== undefined && rank !== foundRank) continue;
      // `PUT /*resource` does not restrict the path; it is an operation of the resources that can be tagged.
      (operation.segments[0]?.kind === 'rest' ? anyPath : otherMethods).push(operation);
      if (!servesMethod(operation, method) || !meetsConditions(operation, inputs, query, headers)) continue;
      sameRank.push({ operation, inputs });
      foundRank = rank;
    }
    const rivals = rivalMatches.map(({ operation }) => operation);
    const selector = findSelector(rivals, query);
    // If the path alone is not an operation, any of its operations stands for the one that the body selects.
    const steps = rivalSteps(method, ranked, parts);
    const [first, ...others] = sameRank.length > 0 || selector === undefined ? sameRank : rivalMatches;
    const refusal = findQueryError(rivals, first?.operation, query) ?? findMisspellingError(first?.operation, query);
    if (refusal !== undefined) throw refusal;
    if (first !== undefined && steps.length > 0 && !isStep(first.operation)) throw new MethodNotAllowed(method, path, listMethods(steps));
    if (first !== undefined) return { candidates: [first, ...others], ...(selector !== undefined && { selector }) };
    if (otherMethods.length === 0) throw new ApiError(404, 'ResourceNotFound', `${path} does not exist`);
    const tagging = isResourcePath(parts.slice(1)) ? anyPath : [];
    throw new MethodNotAllowed(method, path, listMethods([...otherMethods, ...tagging]));
  };
}

/** Chooses among operations that differ in the type of the entry at the path; a missing entry counts as an object. */
export function chooseByEntry({ candidates }: Matches, entry: 'directory' | 'object' | undefined): Match {
  return candidates.find(({ operation }) => operation.when.entry === (entry ?? 'object')) ?? candidates[0];
}
