/**
 * The errors of the whole program. `explain` is the one place that turns them into words and exit codes;
 * everything else throws them, with a hint where one command would help.
 */

/** Exit codes, as documented in `cloud help exit-codes`. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  notAllowed: 4,
  partly: 5,
  timedOut: 6,
  interrupted: 130,
} as const;

interface Details {
  /** What to do, with a command to type where there is one; a line for each of several ways. */
  hint?: string | undefined;
  cause?: unknown;
}

/** What all errors of this program have: a message of one line, and perhaps a hint. */
export abstract class CloudError extends Error {
  readonly hint: string | undefined;
  /** A word that programs can test. */
  abstract readonly code: string;
  abstract readonly exitCode: number;

  constructor(message: string, details: Details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.hint = details.hint;
  }
}

/** The command line, a profile or an input file is wrong; nothing was sent. */
export class UsageError extends CloudError {
  readonly code = 'UsageError';
  readonly exitCode = exitCodes.usage;
}

/** Two options that cannot both be meant. */
export function createContradiction(one: string, other: string): UsageError {
  return new UsageError(`${one} and ${other} contradict each other`, { hint: `leave out ${other} or ${one}` });
}

/** Something that the user named does not exist, found out without the service's own 404. */
export class NotFoundError extends CloudError {
  readonly code = 'NotFound';
  readonly exitCode = exitCodes.notFound;
}

/** No usable key, a wrong passphrase, or an agent that refuses: nothing could be signed. */
export class KeyError extends CloudError {
  readonly code = 'KeyError';
  readonly exitCode = exitCodes.notAllowed;
}

/** Codes of failures that are the end of a time limit. */
const timeouts = new Set(['ETIMEDOUT', 'IDLE', 'MaxTime']);

/** The service could not be reached, or what came back was not an answer. */
export class NetworkError extends CloudError {
  readonly code: string;

  /** @param code Node.js's error code (`ECONNREFUSED`), or a word of ours (`TruncatedReply`). */
  constructor(message: string, details: Details & { code?: string } = {}) {
    super(message, details);
    this.code = details.code ?? 'NetworkError';
  }

  get exitCode(): number {
    return timeouts.has(this.code) ? exitCodes.timedOut : exitCodes.failed;
  }
}

/** Nothing came from a service for as long as `--timeout` allows: no further request is sent to it, whatever there is left to do. */
export class SilentServiceError extends NetworkError {}

/** Something on this machine failed: a file, a disk, a child process. */
export class LocalError extends CloudError {
  readonly code = 'LocalError';
  readonly exitCode = exitCodes.failed;
}

/** Some of several items failed; each failure was reported when it happened. */
export class PartialError extends CloudError {
  readonly code = 'PartialFailure';
  readonly exitCode: number;

  /** Exit code 5 when some items failed; when all did, that of the last failure. */
  constructor(message: string, details: Details & { allFailed?: number } = {}) {
    super(message, details);
    this.exitCode = details.allFailed ?? exitCodes.partly;
  }
}

/** Waiting ended before what was waited for. */
export class WaitError extends CloudError {
  readonly code = 'WaitTimeout';
  readonly exitCode = exitCodes.timedOut;
}

/** The user interrupted. */
export class InterruptedError extends CloudError {
  readonly code = 'Interrupted';
  readonly exitCode = exitCodes.interrupted;
}

/** @throws {InterruptedError} when the user has interrupted the program. */
export function checkInterrupted(signal: AbortSignal | undefined, cause?: unknown): void {
  if (signal?.aborted === true) throw new InterruptedError('interrupted', { cause });
}

/** Whoever read what this program writes has gone away: `| head` has what it wanted. Of the network this is never said. */
export class ClosedPipe extends Error {
  readonly code = 'EPIPE';
}

/** One entry of the `errors` list that some errors carry. */
export interface FieldError {
  field: string;
  code: string;
  message: string;
}

/** The service's answer of 400 or above: `{code, message}` and where it came from. */
export class ApiError extends CloudError {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  readonly errors: readonly FieldError[];

  constructor(
    status: number,
    code: string,
    message: string,
    details: Details & { requestId?: string | undefined; errors?: readonly FieldError[] } = {},
  ) {
    super(message, details);
    this.status = status;
    this.code = code;
    this.requestId = details.requestId;
    this.errors = details.errors ?? [];
  }

  get exitCode(): number {
    if (this.status === 404) return exitCodes.notFound;
    // The object storage answers 400 to a date that is off; it is the same refusal.
    if (this.status === 401 || this.status === 403 || this.code === 'ClockSkew') return exitCodes.notAllowed;
    return exitCodes.failed;
  }
}

/** Whether the service says that what was asked for is not there. */
export function isMissing(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 404;
}

/** What a request brings; undefined when what it asks for is not there. */
export async function unlessMissing<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** The same refusal with what to do about it, in other words where they are given. */
export function withHint(error: ApiError, hint: string | undefined, message = error.message): ApiError {
  const { status, code, requestId, errors } = error;
  return new ApiError(status, code, message, { requestId, errors, cause: error, hint });
}

/** What people and programs get to see of an error. */
export interface Explanation {
  code: string;
  message: string;
  exitCode: number;
  status?: number;
  requestId?: string;
  hint?: string;
  errors?: readonly FieldError[];
}

/** Names of the system's errors in words; the rest are shown as the system says them. */
const systemErrors: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EISDIR: 'is a directory',
  ENOTDIR: 'not a directory',
  ENOSPC: 'no space left on the disk',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file is too large for the file system',
  EIO: 'the device failed',
  EEXIST: 'exists already',
  EROFS: 'the file system is read-only',
  ENAMETOOLONG: 'the name is too long',
  EMFILE: 'too many open files',
  ELOOP: 'too many symbolic links',
};

/** A system error in one line: `/a/b: permission denied`. */
export function describeSystemError(error: NodeJS.ErrnoException): string {
  const words = systemErrors[error.code ?? ''] ?? error.message;
  return error.path === undefined ? words : `${error.path}: ${words}`;
}

/** Whether this is an error of the operating system (`ENOENT` and the like). */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string' && 'syscall' in error;
}

/** Turns whatever was thrown into what is shown and the exit code. */
export function explain(error: unknown): Explanation {
  if (error instanceof ApiError) {
    return {
      code: error.code,
      message: error.message,
      exitCode: error.exitCode,
      status: error.status,
      ...(error.requestId !== undefined && { requestId: error.requestId }),
      ...(error.hint !== undefined && { hint: error.hint }),
      ...(error.errors.length > 0 && { errors: error.errors }),
    };
  }
  if (error instanceof CloudError) {
    const { code, message, exitCode, hint } = error;
    return { code, message, exitCode, ...(hint !== undefined && { hint }) };
  }
  if (isSystemError(error)) return { code: error.code ?? 'SystemError', message: describeSystemError(error), exitCode: exitCodes.failed };
  const message = error instanceof Error ? error.message : String(error);
  return {
    code: 'InternalError',
    message: `unexpected error: ${message}`,
    exitCode: exitCodes.failed,
    hint: 'run the command again with CLOUD_DEBUG=1 to see where it happened, and report it with the output of cloud doctor',
  };
}
