import { UsageError } from '../../base/errors.ts';

/** HTTP statuses of the codes that a fault may name without a status. */
const statuses: Readonly<Record<string, number>> = {
  BadRequest: 400,
  InvalidHeader: 400,
  InvalidCredentials: 401,
  NotAuthorized: 403,
  AuthorizationFailed: 403,
  UnauthorizedError: 403,
  ResourceNotFound: 404,
  UploadTimeout: 408,
  InvalidArgument: 409,
  MissingParameter: 409,
  InUseError: 409,
  ConcurrentRequest: 409,
  ImageUuidAlreadyExistsError: 409,
  PreconditionFailed: 412,
  RequestTooLarge: 413,
  RequestThrottled: 420,
  InsufficientServerVersionError: 422,
  OriginIsNotActiveError: 422,
  NotImageOwnerError: 422,
  ImageNotShared: 422,
  InvalidVersion: 449,
  InternalError: 500,
  UnknownError: 500,
  NotAvailable: 501,
  ServiceUnavailable: 503,
  NotEnoughSpace: 507,
};

/**
 * The operation name for the background step of image creation, and the codes with which that step can fail (compute specification, section
 * 2).
 */
export const imageCreation = 'imagecreation';
export const creationCodes = ['PrepareImageDidNotRun', 'VmHasNoOrigin', 'NotSupported', 'InternalError'] as const;

/** Failures that are not errors of the service: the value that they take, and their group, of which a request gets at most one. */
const kinds = {
  throttle: { takes: 'nothing', group: 'end' },
  close: { takes: 'nothing', group: 'end' },
  latency: { takes: 'duration', group: 'latency', usual: '2s' },
  cut: { takes: 'bytes', group: 'download' },
  stall: { takes: 'bytes', group: 'download' },
  'cut-upload': { takes: 'bytes', group: 'upload' },
  'stall-upload': { takes: 'bytes', group: 'upload' },
  stale: { takes: 'duration', group: 'stale', usual: '3s' },
  'wrong-md5': { takes: 'nothing', group: 'wrong-md5' },
} as const;

type Kind = keyof typeof kinds;

interface Values {
  readonly nothing: object;
  readonly duration: { readonly milliseconds: number };
  /** The number of bytes that pass before the failure; if undefined, half of the body, where its length is known. */
  readonly bytes: { readonly bytes: number | undefined };
}

/** The failure that a rule injects. */
export type Failure =
  | { readonly kind: 'error'; readonly status: number; readonly code: string }
  /** The request succeeds with an empty response. */
  | { readonly kind: 'empty' }
  | { readonly [K in Kind]: { readonly kind: K } & Values[(typeof kinds)[K]['takes']] }[Kind];

/** Group of a failure: a request gets at most one rule of each. */
export function groupOf({ kind }: Failure): string {
  if (kind === 'empty') return kind;
  return kind === 'error' ? 'end' : kinds[kind].group;
}

const words = Object.entries(kinds).map(([kind, each]) => ('usual' in each ? `${kind}:${each.usual}` : kind));

const hint = `such as 503, InternalError, 503:Busy, ${words.join(', ')}`;

function createFailureError(words: string, reason: string): UsageError {
  return new UsageError(`failure "${words}": ${reason}`, { hint: `a failure is a status, a code or a word ${hint}` });
}

const longest = 24 * 3_600_000;
const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const sizes: Readonly<Record<string, number>> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

function readDuration(words: string, value: string | undefined): number {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/u.exec(value ?? '') ?? [];
  const milliseconds = Math.round(Number(digits) * (units[unit] ?? NaN));
  if (milliseconds > 0 && milliseconds <= longest) return milliseconds;
  throw createFailureError(words, 'it needs a duration of at most 24h, like 250ms or 2s');
}

function readBytes(words: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const [, digits, unit = ''] = /^(\d{1,12})([kmg]?)$/iu.exec(value) ?? [];
  if (digits === undefined) throw createFailureError(words, 'the bytes that pass before are a number, like 1000, 64K or 1M');
  return Number(digits) * (sizes[unit.toLowerCase()] ?? 1);
}

function readError(words: string, status: string | undefined, code: string | undefined): Failure {
  const named = code ?? Object.keys(statuses).find((each) => statuses[each] === Number(status)) ?? `Status${status ?? ''}`;
  const number = status === undefined ? statuses[named] : Number(status);
  if (number !== undefined && number >= 400 && number <= 599) return { kind: 'error', status: number, code: named };
  throw createFailureError(
    words,
    status === undefined ? `write the status before the code: 500:${named}` : `${status} is not a status of an error`,
  );
}

function readValue(kind: Kind, words: string, value: string | undefined): Values[keyof Values] {
  const { takes } = kinds[kind];
  if (takes === 'duration') return { milliseconds: readDuration(words, value) };
  if (takes === 'bytes') return { bytes: readBytes(words, value) };
  if (value !== undefined) throw createFailureError(words, `${kind} takes no value`);
  return {};
}

/** Parses a failure of `--fault` and `local faults add`. @throws {UsageError} */
function readFailure(words: string): Failure {
  const [word = '', value, ...more] = words.split(':');
  if (more.length > 0) throw createFailureError(words, 'it has too many parts');
  if (Object.hasOwn(kinds, word)) return { kind: word, ...readValue(word as Kind, words, value) } as Failure;
  const { status, code } = /^(?:(?<status>\d{3})(?::(?!$)|$))?(?<code>[A-Za-z_]+)?$/u.exec(words)?.groups ?? {};
  if (status === undefined && code === undefined) throw createFailureError(words, 'it is not known');
  return readError(words, status, code);
}

/**
 * Operations whose success response is an empty 204 in the text of the specification, but 200 with a record in its example (object storage,
 * section 4).
 */
const emptyActions: readonly string[] = ['getjob', 'getmultipartupload'];

/** Common failures of an operation, to choose from. */
export function listFailures(operation: string): readonly string[] {
  if (operation === imageCreation) return creationCodes;
  return [...words, ...(emptyActions.includes(operation) ? ['204'] : []), ...Object.keys(statuses)];
}

/** Parses the failure of an operation. Only operations that can succeed without a record accept `204`. @throws {UsageError} */
export function readFailureOf(operation: string, words: string): Failure {
  if (words !== '204') return operation === imageCreation ? readCreationFailure(words) : readFailure(words);
  if (emptyActions.includes(operation)) return { kind: 'empty' };
  throw createFailureError(words, `only ${emptyActions.join(' and ')} can succeed without a record`);
}

/** Parses the code with which image creation fails. @throws {UsageError} */
function readCreationFailure(words: string): Failure {
  if (creationCodes.some((known) => known === words)) return { kind: 'error', status: 200, code: words };
  throw createFailureError(words, `the making of an image ends in one of ${creationCodes.join(', ')}`);
}
