/**
 * The errors of the whole program. Only `explain` turns them into messages and exit codes; all other code throws them, with a hint if a
 * command would help.
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
  /** What to do, with a command if possible; a list has one line for each alternative. */
  hint?: string | readonly string[] | undefined;
  cause?: unknown;
}

/** Base class of all errors of this program: a message of one line, and optional hints, each of one line. */
export abstract class CloudError extends Error {
  /** What to do, one line for each alternative. */
  readonly hints: readonly string[];
  /** Error code for programs. */
  abstract readonly code: string;
  abstract readonly exitCode: number;

  constructor(message: string, details: Details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.hints = typeof details.hint === 'string' ? [details.hint] : (details.hint ?? []);
  }

  /** The first hint. */
  get hint(): string | undefined {
    return this.hints[0];
  }
}

/** The command line, a profile or an input file is wrong; no request was sent. */
export class UsageError extends CloudError {
  readonly code = 'UsageError';
  readonly exitCode = exitCodes.usage;
}

/** Two options that exclude each other. */
export function createContradiction(one: string, other: string): UsageError {
  return new UsageError(`${one} and ${other} cannot be combined`, { hint: `leave out ${other} or ${one}` });
}

/** Something that the user named does not exist, as found without a 404 of the service. */
export class NotFoundError extends CloudError {
  readonly code = 'NotFound';
  readonly exitCode = exitCodes.notFound;
}

/** No usable key, a wrong passphrase, or an agent that refuses: no request could be signed. */
export class KeyError extends CloudError {
  readonly code = 'KeyError';
  readonly exitCode = exitCodes.notAllowed;
}

/** True for an error of settings, keys or rights, which says nothing about the work: it may succeed once they are corrected. */
export function isOfAccess(error: unknown): boolean {
  return error instanceof CloudError && (error.exitCode === exitCodes.usage || error.exitCode === exitCodes.notAllowed);
}

/** Error codes that mean a timeout. */
const timeouts = new Set(['ETIMEDOUT', 'IDLE', 'MaxTime']);

/** The service could not be reached, or its response was not valid. */
export class NetworkError extends CloudError {
  readonly code: string;
  /** True if no connection could be opened, so that the service received nothing of the request. */
  readonly isUnsent: boolean;

  /** @param code Node.js's error code (`ECONNREFUSED`), or one of ours (`TruncatedReply`). */
  constructor(message: string, details: Details & { code?: string; isUnsent?: boolean } = {}) {
    super(message, details);
    this.code = details.code ?? 'NetworkError';
    this.isUnsent = details.isUnsent ?? false;
  }

  get exitCode(): number {
    return timeouts.has(this.code) ? exitCodes.timedOut : exitCodes.failed;
  }
}

/** The service sent nothing for as long as `--timeout` allows: no further request is sent to it, whatever work remains. */
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

  /** Exit code 5 when some items failed; when all failed, `allFailed`, the exit code of the last failure. */
  constructor(message: string, details: Details & { allFailed?: number } = {}) {
    super(message, details);
    this.exitCode = details.allFailed ?? exitCodes.partly;
  }
}

/** The time limit for waiting was reached. */
export class WaitError extends CloudError {
  readonly code = 'WaitTimeout';
  readonly exitCode = exitCodes.timedOut;
}

/** The user interrupted the program. */
export class InterruptedError extends CloudError {
  readonly code = 'Interrupted';
  readonly exitCode = exitCodes.interrupted;
}

/** @throws {InterruptedError} when the user has interrupted the program. */
export function checkInterrupted(signal: AbortSignal | undefined, cause?: unknown): void {
  if (signal?.aborted === true) throw new InterruptedError('interrupted', { cause });
}

/** The reader of the program's output has closed the pipe, as `| head` does. Never used for network connections. */
export class ClosedPipe extends Error {
  readonly code = 'EPIPE';
}

/** One entry of the `errors` list that some errors carry. */
export interface FieldError {
  field: string;
  code: string;
  message: string;
}

/** A service's response with a status of 400 or above: `{code, message}` and the id of the request. */
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
    // The object storage reports clock skew with 400; it is an authentication failure nevertheless.
    if (this.status === 401 || this.status === 403 || this.code === 'ClockSkew') return exitCodes.notAllowed;
    return exitCodes.failed;
  }
}

/** True if a service responded 404. */
export function isMissing(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 404;
}

/** The result of a request; undefined if the service responded 404. */
export async function unlessMissing<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** The hints of an error, each on one line: a line break in a hint is part of a name. */
function describeHints({ hints }: CloudError): { hint?: string } {
  const lines = hints.map((hint) => hint.replaceAll('\n', '\\n'));
  return lines.length === 0 ? {} : { hint: lines.join('\n') };
}

/** The properties of an error that users and programs see. */
export interface Explanation {
  code: string;
  message: string;
  exitCode: number;
  status?: number;
  requestId?: string;
  hint?: string;
  errors?: readonly FieldError[];
}

/** Messages for codes of system errors; other errors keep the system's message. */
const systemErrors: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EISDIR: 'is a directory',
  ENOTDIR: 'not a directory',
  ENOSPC: 'no space left on the disk',
  EDQUOT: 'disk quota exceeded',
  EFBIG: 'the file is too large for the file system',
  EIO: 'input/output error of the device',
  EEXIST: 'already exists',
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

/** True for an error of the operating system, such as `ENOENT`. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string' && 'syscall' in error;
}

/** True if a path does not exist, also because a file takes the place of one of its directories. */
export function isAbsence(error: unknown): boolean {
  return isSystemError(error) && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}

/** The result of work on a path; undefined if that does not exist in the sense of `isAbsence`. @throws every other error */
export function unlessAbsent<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** For `catch`: undefined for ENOENT alone. A file in the place of a directory is damage where the program itself makes the directories. */
export function ignoreNoEntry(error: unknown): undefined {
  if (!isSystemError(error) || error.code !== 'ENOENT') throw error;
}

/** The result of work on a path; undefined if that does not exist in the sense of `ignoreNoEntry`. @throws every other error */
export function unlessNoEntry<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    return ignoreNoEntry(error);
  }
}

/** The result of `read`, or `otherwise` if it throws. */
export function quietly<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** Converts any thrown value to its message and exit code. */
export function explain(error: unknown): Explanation {
  if (error instanceof ApiError) {
    return {
      code: error.code,
      message: error.message,
      exitCode: error.exitCode,
      status: error.status,
      ...(error.requestId !== undefined && { requestId: error.requestId }),
      ...describeHints(error),
      ...(error.errors.length > 0 && { errors: error.errors }),
    };
  }
  if (error instanceof CloudError) {
    const { code, message, exitCode } = error;
    return { code, message, exitCode, ...describeHints(error) };
  }
  if (isSystemError(error)) return { code: error.code ?? 'SystemError', message: describeSystemError(error), exitCode: exitCodes.failed };
  const message = error instanceof Error ? error.message : String(error);
  return {
    code: 'InternalError',
    message: `unexpected error: ${message}`,
    exitCode: exitCodes.failed,
    hint: 'run the command again with CLOUD_DEBUG=1 for a stack trace, and report it with the output of cloud doctor',
  };
}
