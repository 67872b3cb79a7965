import type { Headers } from '../../api/message.ts';
import type { Operation } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import type { EntryRow } from '../store/schema.ts';

/** The conditional headers of a request (section 4, PutObject rule 2). */
export interface Conditions {
  ifMatch?: string | undefined;
  ifNoneMatch?: string | undefined;
  ifModifiedSince?: string | undefined;
  ifUnmodifiedSince?: string | undefined;
}

export function isConditional({ ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince }: Conditions): boolean {
  return [ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince].some((each) => each !== undefined);
}

type Verdict = 'go on' | 'not modified' | 'failed';

/** Decides whether a read continues or responds 304. @throws 412 `PreconditionFailed`. */
export function judgeRead(conditions: Conditions, entry: EntryRow): 'go on' | 'not modified' {
  const verdict = judge(conditions, entry);
  if (verdict === 'failed') throw failPrecondition();
  return verdict;
}

/**
 * Checks the conditions of a write. `now` is in milliseconds since the epoch.
 * @throws 412 `PreconditionFailed`; 409 `ConcurrentRequest` for an empty `If-Match`, which requires that the object does not exist.
 */
export function checkWrite(conditions: Conditions, entry: EntryRow | undefined, now: number): void {
  if (conditions.ifMatch?.trim() === '') {
    if (entry) throw new ApiError(409, 'ConcurrentRequest', 'the object already exists, and the request requires that it does not');
    return;
  }
  if (judge(conditions, entry) !== 'go on') throw failPrecondition();
  // The version can be replaced within the same second and then has the same date: no date protects it (RFC 9110, 8.8.2.2).
  const isDated = conditions.ifMatch === undefined && readDate(conditions.ifUnmodifiedSince) !== undefined;
  if (entry && isDated && isOfPresentSecond(entry, now)) throw failPrecondition();
}

/**
 * Explains an error of a request whose operation needs an entry: with `If-Match: *`, which requires any version, a missing entry is 412
 * instead of 404. Other errors are returned unchanged.
 */
export function explainAnyVersion(error: unknown, { service, needsEntry }: Operation, headers: Headers): unknown {
  const isMissing = service === 'storage' && needsEntry && error instanceof ApiError && error.code === 'ResourceNotFound';
  return isMissing && headers['if-match']?.trim() === '*' ? failPrecondition() : error;
}

/**
 * The order is If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since; an etag condition overrides the matching date condition.
 */
function judge(conditions: Conditions, entry: EntryRow | undefined): Verdict {
  const { ifMatch, ifNoneMatch } = conditions;
  if (ifMatch !== undefined && !matchEtag(ifMatch, entry, 'strong')) return 'failed';
  if (ifNoneMatch !== undefined && matchEtag(ifNoneMatch, entry, 'weak')) return 'not modified';
  const since = readDate(conditions.ifModifiedSince);
  if (entry && ifNoneMatch === undefined && since !== undefined && readSeconds(entry) <= since) return 'not modified';
  const until = readDate(conditions.ifUnmodifiedSince);
  if (entry && ifMatch === undefined && until !== undefined && readSeconds(entry) > until) return 'failed';
  return 'go on';
}

/**
 * True if the range of a request applies to this version. `If-Range` contains one strong etag or the date of the version, exactly as it was
 * sent; any other value requests the whole object (RFC 9110, 13.1.5).
 */
export function fitsRange(ifRange: string | undefined, entry: EntryRow, now: number): boolean {
  if (ifRange === undefined) return true;
  const validator = ifRange.trim();
  if (!validator.includes(',') && validator !== '*' && matchEtag(validator, entry, 'strong')) return true;
  return validator === new Date(entry.mtime).toUTCString() && !isOfPresentSecond(entry, now);
}

/**
 * Compares etags without their quotes. A weak comparison also ignores the prefix of a weak etag; a strong one never matches a weak etag
 * (RFC 9110, 8.8.3.2).
 */
function matchEtag(list: string, entry: EntryRow | undefined, comparison: 'strong' | 'weak'): boolean {
  if (!entry) return false;
  const pattern = comparison === 'weak' ? /^(?:W\/)?"(.*)"$/ : /^"(.*)"$/;
  const wanted = list.split(',').map((etag) => etag.trim().replace(pattern, '$1'));
  return wanted.some((etag) => etag === '*' || (entry.etag !== null && etag === entry.etag));
}

/** True while another write could still get the same date as this version. */
function isOfPresentSecond(entry: EntryRow, now: number): boolean {
  return readSeconds(entry) >= Math.floor(now / 1000);
}

/** Seconds since the epoch; undefined for an invalid date, which is ignored. */
function readDate(text: string | undefined): number | undefined {
  const milliseconds = text === undefined ? NaN : Date.parse(text);
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000);
}

/** Modification time in whole seconds: `Last-Modified` has no fractions. */
function readSeconds(entry: EntryRow): number {
  return Math.floor(entry.mtime / 1000);
}

function failPrecondition(): ApiError {
  return new ApiError(412, 'PreconditionFailed', 'the object does not meet the conditions of the request: read the object again');
}
