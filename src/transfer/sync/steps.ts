import { UsageError } from '../../errors.ts';
import { printRemotePath, readRemotePath, type RemotePath } from '../path.ts';

/** A path of either side: of the object storage, or a local file. */
export type Location = { readonly kind: 'remote'; readonly path: RemotePath } | { readonly kind: 'local'; readonly file: string };

/** What is expected at a place before a step: nothing, or this version. */
export interface Expected {
  /** Of an object; empty when nothing is expected. */
  readonly etag?: string | undefined;
  /** Of a local file: bytes and milliseconds since the epoch; `size` -1 when nothing is expected. */
  readonly size?: number | undefined;
  readonly mtime?: number | undefined;
}

/** One step of bringing a side up to date. Each can be done twice with the effect of once. */
export interface Step {
  readonly action: 'copy' | 'mkdir' | 'delete' | 'rmdir';
  /** Path below the roots, for messages. */
  readonly rel: string;
  /** Where a copy comes from, and which version. */
  readonly from?: Location | undefined;
  readonly source?: Expected | undefined;
  readonly to: Location;
  readonly target?: Expected | undefined;
  /** Bytes that are copied. */
  readonly size?: number | undefined;
  /** Why: new, size, mtime, content, extra. */
  readonly reason: string;
}

function printLocation(location: Location): string {
  return location.kind === 'remote' ? `stor:${printRemotePath(location.path)}` : location.file;
}

function readLocation(text: unknown, line: number): Location {
  if (typeof text === 'string' && text.startsWith('stor:/')) return { kind: 'remote', path: readRemotePath(text, '') };
  if (typeof text === 'string' && text.startsWith('/')) return { kind: 'local', file: text };
  throw new UsageError(`line ${line}: ${JSON.stringify(text)} is neither stor:/LOGIN/PATH nor the whole path of a file`);
}

/** A step as one line of a plan. */
export function writeStep({ action, from, to, ...step }: Step): string {
  return `${JSON.stringify({ action, ...(from && { from: printLocation(from) }), to: printLocation(to), ...step })}\n`;
}

const actions: readonly unknown[] = ['copy', 'mkdir', 'delete', 'rmdir'];

function readExpected(value: unknown): Expected | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { etag, size, mtime } = value as Record<string, unknown>;
  return {
    ...(typeof etag === 'string' && { etag }),
    ...(typeof size === 'number' && { size }),
    ...(typeof mtime === 'number' && { mtime }),
  };
}

/** Reads a line of a plan. @throws {UsageError} that names the line */
export function readStep(text: string, line: number): Step {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`line ${line} is not JSON`, { cause: error, hint: 'plans are written by: cloud stor sync --plan FILE' });
  }
  if (typeof value !== 'object' || value === null) throw new UsageError(`line ${line} is not a JSON object`);
  const record = value as Record<string, unknown>;
  const { action, rel, from, to, size, reason } = record;
  if (!actions.includes(action)) throw new UsageError(`line ${line}: action is ${JSON.stringify(action)}, none of ${actions.join(', ')}`);
  if (action === 'copy' && from === undefined) throw new UsageError(`line ${line}: a copy needs "from"`);
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
