import { LocalError, UsageError } from '../../base/errors.ts';
import type { FileState } from '../local/file-state.ts';
import { printRemotePath, readRemotePath, type RemotePath } from '../path.ts';
import { printTime, readTime } from '../local/time.ts';

/** A path of either side: in the object storage, or local. */
export type Location =
  | {
      readonly kind: 'remote';
      readonly path: RemotePath;
      /** Profile of the service; the current service when absent. */ readonly profile?: string | undefined;
    }
  | { readonly kind: 'local'; readonly file: string };

/** The expected state before a step: nothing, or this version. */
export interface Expected {
  /** Etag of an object; empty when nothing is expected. */
  readonly etag?: string | undefined;
  /** Size of a local file, bytes; -1 when nothing is expected. */
  readonly size?: number | undefined;
  /** Modification time of a local file, ISO 8601. */
  readonly mtime?: string | undefined;
  readonly ctime?: string | undefined;
  readonly inode?: string | undefined;
}

/** The error for a file or object that has changed since its step was planned. */
export function createChangedError(path: string, cause?: unknown): LocalError {
  return new LocalError(`${path} has changed meanwhile: left alone`, { cause });
}

/** The expected state of a local file, from its current one. */
export function expectState({ size, mtime, ctime, ino }: FileState): Expected {
  return { size, mtime: printTime(mtime), ctime: printTime(ctime), inode: String(ino) };
}

/** True when a local file has the expected state; properties that are not given may have any value. */
export function isExpected({ size, mtime, ctime, ino }: FileState, expected: Expected): boolean {
  const isTime = (time: bigint, text: string | undefined): boolean => text === undefined || readTime(text)?.time === time;
  const isInode = expected.inode === undefined || expected.inode === String(ino);
  return size === expected.size && isInode && isTime(mtime, expected.mtime) && isTime(ctime, expected.ctime);
}

/** One step of bringing a side up to date. Steps are idempotent. */
export interface Step {
  /** `headers`: the content is the same, the properties differ. */
  readonly action: 'copy' | 'headers' | 'mkdir' | 'delete' | 'rmdir';
  /** Path below the roots, for messages. */
  readonly rel: string;
  /** Source of a copy; `source` is its version. */
  readonly from?: Location | undefined;
  readonly source?: Expected | undefined;
  readonly to: Location;
  readonly target?: Expected | undefined;
  /** Number of bytes to copy. */
  readonly size?: number | undefined;
  /** Why: new, size, mtime, content, headers, mode, extra. */
  readonly reason: string;
}

/** A location in the notation of plans. */
export function printLocation(location: Location): string {
  if (location.kind === 'local') return location.file;
  return `${location.profile === undefined ? '' : `${location.profile}/`}stor:${printRemotePath(location.path)}`;
}

const profilePath = /^(?:([A-Za-z0-9][A-Za-z0-9._-]{0,63})\/)?(stor:\/.*)$/s;

/** @throws {UsageError} that names the line */
export function readLocation(text: unknown, line: number): Location {
  const [, profile, path] = (typeof text === 'string' && profilePath.exec(text)) || [];
  if (path !== undefined) return { kind: 'remote', path: readRemotePath(path, ''), profile };
  if (typeof text === 'string' && text.startsWith('/')) return { kind: 'local', file: text };
  throw new UsageError(`line ${line}: ${JSON.stringify(text)} is neither [PROFILE/]stor:/LOGIN/PATH nor an absolute file path`);
}

export function writeStep({ action, from, to, ...step }: Step): string {
  return `${JSON.stringify({ action, ...(from && { from: printLocation(from) }), to: printLocation(to), ...step })}\n`;
}

const actions: readonly unknown[] = ['copy', 'headers', 'mkdir', 'delete', 'rmdir'];

function readExpected(value: unknown): Expected | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { etag, size, mtime, ctime, inode } = value as Record<string, unknown>;
  return {
    ...(typeof etag === 'string' && { etag }),
    ...(typeof size === 'number' && { size }),
    ...(typeof mtime === 'string' && { mtime }),
    ...(typeof ctime === 'string' && { ctime }),
    ...(typeof inode === 'string' && { inode }),
  };
}

/** Parses a line of a plan as a JSON object. @throws {UsageError} that names the line */
export function readLine(text: string, line: number): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`line ${line} is not JSON`, { cause: error, hint: 'to write a plan: cloud stor sync --plan FILE' });
  }
  if (typeof value !== 'object' || value === null) throw new UsageError(`line ${line} is not a JSON object`);
  return value as Record<string, unknown>;
}

/** Parses a line of a plan as a step. @throws {UsageError} that names the line */
export function readStep(text: string, line: number): Step {
  const record = readLine(text, line);
  const { action, rel, from, to, size, reason } = record;
  if (!actions.includes(action))
    throw new UsageError(`line ${line}: unknown action ${JSON.stringify(action)}: use one of ${actions.join(', ')}`);
  if ((action === 'copy' || action === 'headers') && from === undefined)
    throw new UsageError(`line ${line}: a ${action === 'copy' ? 'copy' : 'change of headers'} needs "from"`);
  const step: Step = {
    action: action as Step['action'],
    rel: typeof rel === 'string' ? rel : '',
    from: from === undefined ? undefined : readLocation(from, line),
    source: readExpected(record['source']),
    to: readLocation(to, line),
    target: readExpected(record['target']),
    size: typeof size === 'number' ? size : undefined,
    reason: typeof reason === 'string' ? reason : '',
  };
  if (step.from?.kind === 'local' && step.to.kind === 'local') throw new UsageError(`line ${line}: both paths are local`);
  return step;
}
