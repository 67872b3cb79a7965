import { ApiError, UsageError } from '../base/errors.ts';

/** Statuses of the codes that a fault can be named by alone. */
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

/** The word that stands for the background step of image creation, and the codes in which it can end (compute specification, section 2). */
export const imageCreation = 'imagecreation';
export const creationCodes = ['PrepareImageDidNotRun', 'VmHasNoOrigin', 'NotSupported', 'InternalError'] as const;

interface Fault {
  /** Operation in lower case, or `*`. */
  readonly action: string;
  readonly status: number;
  readonly code: string;
  /** How many more times. */
  left: number;
}

/** Failures that the services were told to have. */
export interface Faults {
  /** The failure that is due for an action, which is used up by asking. Status 204: it succeeds, and says nothing. */
  take(action: string): { status: number; code: string } | undefined;
}

/** Actions whose success is an empty 204 by the specification's text, and 200 with a record by its example (object storage, section 4). */
const emptyActions: readonly string[] = ['getjob', 'getmultipartupload'];
const emptyStatus = 204;

function refuseSpec(part: string, reason: string): UsageError {
  return new UsageError(`fault "${part}": ${reason}`, {
    hint: 'for example --fault createkey=InternalError*2,getimage=503:ServiceUnavailable',
  });
}

function findStatus(part: string, action: string, status: string | undefined, code: string): number {
  if (action === imageCreation) {
    if (creationCodes.some((known) => known === code)) return 200;
    throw refuseSpec(part, `the making of an image ends in one of ${creationCodes.join(', ')}`);
  }
  const found = status === undefined ? statuses[code] : Number(status);
  if (found !== undefined && found >= 400 && found <= 599) return found;
  throw refuseSpec(part, status === undefined ? `write the status before the code: 500:${code}` : `${status} is no status of an error`);
}

/** `getjob=204*3`: the next three succeed without a record. */
function parseEmpty(part: string): Fault | undefined {
  const { action = '', count } = /^(?<action>[a-z]+)=204(?:\*(?<count>\d+))?$/iu.exec(part)?.groups ?? {};
  if (action === '') return undefined;
  const word = action.toLowerCase();
  if (!emptyActions.includes(word)) throw refuseSpec(part, `only ${emptyActions.join(' and ')} can succeed without a record`);
  return { action: word, status: emptyStatus, code: '', left: count === undefined ? Infinity : Number(count) };
}

function parseFault(part: string): Fault {
  const empty = parseEmpty(part);
  if (empty) return empty;
  const {
    action = '',
    status,
    code = '',
    count,
  } = /^(?<action>\*|[a-z]+)=(?:(?<status>\d{3}):)?(?<code>[A-Za-z_]+)(?:\*(?<count>\d+))?$/iu.exec(part)?.groups ?? {};
  if (code === '') throw refuseSpec(part, 'it must be OPERATION=CODE, OPERATION=STATUS:CODE, or either with *TIMES behind');
  const word = action.toLowerCase();
  return { action: word, status: findStatus(part, word, status, code), code, left: count === undefined ? Infinity : Number(count) };
}

/**
 * Reads what `--fault` says: `OPERATION=CODE`, `OPERATION=STATUS:CODE`, `*=CODE*3` (the next three requests of any kind), several
 * separated by commas; `imagecreation=VmHasNoOrigin` lets images that are being made fail, and `getjob=204` and `getmultipartupload=204` lets
 * these succeed without a record. @throws {UsageError}
 */
export function createFaults(spec: string): Faults {
  const faults = spec
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(parseFault);
  return {
    take(action) {
      const fault = faults.find((each) => each.left > 0 && (each.action === action || (each.action === '*' && action !== imageCreation)));
      if (fault === undefined) return undefined;
      fault.left -= 1;
      return { status: fault.status, code: fault.code };
    },
  };
}

/** Throws when a fault is due for an operation. True when it is to succeed without a record. @throws {ApiError} */
export function raiseFault(faults: Faults | undefined, action: string): boolean {
  const fault = faults?.take(action);
  if (fault?.status === emptyStatus) return true;
  if (fault !== undefined) throw new ApiError(fault.status, fault.code, `the service was told to answer ${fault.code} to ${action}`);
  return false;
}

/** Callers whose rate is remembered: those that have not asked for longest are forgotten, and begin anew. */
const mostBuckets = 10_000;

/**
 * Makes the function that lets `rate` requests a second of each caller pass, that many at once, and throws 420 `RequestThrottled` for more.
 * A caller is an account, or the address that requests without a valid signature come from: nobody uses up what others may send.
 */
export function createThrottle(rate: number | undefined): (caller: string) => void {
  if (rate === undefined) return () => undefined;
  const buckets = new Map<string, { left: number; before: number }>();
  return (caller) => {
    const now = performance.now();
    const { left, before } = buckets.get(caller) ?? { left: rate, before: now };
    buckets.delete(caller);
    const [oldest] = buckets.keys();
    if (buckets.size >= mostBuckets && oldest !== undefined) buckets.delete(oldest);
    const filled = Math.min(rate, left + ((now - before) / 1000) * rate);
    buckets.set(caller, { left: filled < 1 ? filled : filled - 1, before: now });
    if (filled < 1)
      throw new ApiError(420, 'RequestThrottled', `more than ${rate} requests a second: send fewer, or try again in a second`);
  };
}
