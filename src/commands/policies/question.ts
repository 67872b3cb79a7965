import { isIP } from 'node:net';
import { compute } from '../../api/compute.ts';
import type { Operation } from '../../api/operation.ts';
import { storage } from '../../api/storage.ts';
import { UsageError } from '../../base/errors.ts';
import { one, text } from '../../cli/parameters.ts';
import { findOtherName, knownActions } from '../../policy/actions.ts';
import { readDate, readDay, readTime } from '../../policy/moments.ts';
import { nearest } from '../../base/nearest.ts';
import { collections } from '../../api/collections.ts';
import { accountWord, readResource, type Resource } from '../../lookup/resource.ts';

/** Arguments and options of questions about rights. */
export const questionArguments = {
  action: one('Operation in lower case: listkeys, getimage, putobject', { values: 'action' }),
  resource: one('Resource: keys, keys/laptop, images/NAME, account; for storage actions a path', {
    values: 'resource',
  }),
};
export const conditionOptions = {
  at: text('Time in UTC: 2024-05-01T09:00Z, 09:00, "monday 09:00"; default the time of the service', { placeholder: 'TIME' }),
  source: text('Source address of the request', { placeholder: 'IP' }),
  datacenter: text('Datacenter of the request; default that of the service', { placeholder: 'NAME', values: 'datacenter' }),
};
export const fromOption = text('Use this document instead of the account', { placeholder: 'FILE', values: 'file' });

/** The operation of an action; undefined for actions on instances. */
export function findOperation(action: string): Operation | undefined {
  const all: Operation[] = [...Object.values(compute), ...Object.values(storage)];
  return all.find((operation) => operation.action === action);
}

/** Reads an action: the name of an operation in any case. @throws {UsageError} for an unknown one, with the closest name */
export function readAction(word: string): string {
  const action = word.toLowerCase();
  const known = knownActions();
  if (known.has(action)) return action;
  const close = findOtherName(action) ?? nearest(action, known);
  throw new UsageError(`"${word}" is not an action`, {
    hint: close === undefined ? 'actions are operations in lower case: listkeys' : `did you mean ${close}?`,
  });
}

/** The path of an operation that concerns no resource. @throws {UsageError} if the word is another path */
export function readPathAlone({ action, path }: Operation, word: string): string {
  if (word === path) return path;
  throw new UsageError(`${action} does not apply to ${word}`, { hint: `it applies to ${path}` });
}

/** The resources of an operation, by its route: `keys` for `listkeys`, `keys/:key` for `getkey`; undefined if it accepts any path. */
function findSubject({ segments, resource }: Operation): { kind: Resource['kind'] | 'none'; pattern: string } | undefined {
  if (resource === 'none') return { kind: 'none', pattern: '' };
  if (segments.some(({ kind }) => kind === 'rest')) return undefined;
  const parts = segments.slice(1);
  // Limits, settings and the password belong to the account or the user.
  const isOwn = parts.at(-1)?.kind === 'literal' && !collections.includes(parts.at(-1)?.text ?? '');
  const kept = isOwn ? parts.slice(0, -1) : parts;
  const pattern = kept.map(({ kind, text }) => (kind === 'input' ? text.toUpperCase() : text)).join('/');
  if (pattern === '') return { kind: 'account', pattern: accountWord };
  return { kind: kept.length % 2 === 1 ? 'collection' : 'member', pattern };
}

/** Reads the resource of a question about a compute action. @throws {UsageError} if the action does not apply to it */
export function readSubject(action: string, word: string, account: string): Resource {
  const operation = findOperation(action);
  const own = operation?.segments.at(-1)?.text ?? '';
  const trimmed = word.endsWith(`/${own}`) && ['limits', 'config', 'change_password'].includes(own) ? word.slice(0, -own.length - 1) : word;
  const resource = readResource(trimmed === '' ? accountWord : trimmed, account);
  const subject = operation && findSubject(operation);
  if (subject && (subject.kind !== resource.kind || !isLike(subject.pattern, resource.path))) {
    throw new UsageError(`${action} does not apply to ${resource.path}`, { hint: `it applies to ${subject.pattern}` });
  }
  return resource;
}

/** True if an operation of the compute service applies to a resource. */
export function isDoneTo(operation: Operation, { kind, path }: Resource): boolean {
  const subject = findSubject(operation);
  return subject === undefined || (subject.kind === kind && isLike(subject.pattern, path));
}

/** True if a path matches a pattern, in which words in upper case match any part. */
function isLike(pattern: string, path: string): boolean {
  const parts = path.split('/');
  const wanted = pattern.split('/');
  return wanted.length === parts.length && wanted.every((part, at) => part === part.toUpperCase() || part === parts[at]);
}

const minute = 60_000;

/** Reads `--at`: a date, a time today, or a day of this week with or without a time, in UTC. @throws {UsageError} for anything else */
export function readMoment(text: string, now: number): number {
  const date = readDate(text);
  if (date !== undefined) return date;
  const [first = '', second, ...more] = text.trim().split(/[ ,]+/);
  const day = readDay(first);
  const seconds = readTime(day === undefined ? first : (second ?? '12:00'));
  const isWhole = more.length === 0 && (day !== undefined || second === undefined);
  if (!isWhole || seconds === undefined) {
    throw new UsageError(`--at: "${text}" is not a time`, { hint: 'write 2024-05-01T09:00Z, 09:00 or "monday 09:00" (UTC)' });
  }
  const today = new Date(now);
  const midnight = Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate());
  const weekday = ((today.getUTCDay() + 6) % 7) + 1;
  return midnight + ((day ?? weekday) - weekday) * 24 * 60 * minute + seconds * 1000;
}

/** Reads `--source`. @throws {UsageError} unless it is an IP address */
export function readSource(text: string): string {
  if (isIP(text) === 0)
    throw new UsageError(`--source: "${text}" is not an IP address`, { hint: 'write an address such as 10.1.2.3 or 2001:db8::1' });
  return text;
}
