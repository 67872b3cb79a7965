import { ApiError } from '../../base/errors.ts';
import type { EntryRow } from '../store/schema.ts';

/** The conditional headers of a request (section 4, PutObject rule 2). */
export interface Conditions {
  ifMatch?: string | undefined;
  ifNoneMatch?: string | undefined;
  ifModifiedSince?: string | undefined;
  ifUnmodifiedSince?: string | undefined;
}

/** Whether a request has conditions. */
export function isConditional({ ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince }: Conditions): boolean {
  return [ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince].some((each) => each !== undefined);
}

type Verdict = 'go on' | 'not modified' | 'failed';

/** Whether a read may go on or answers 304. @throws 412 `PreconditionFailed`. */
export function judgeRead(conditions: Conditions, entry: EntryRow): 'go on' | 'not modified' {
  const verdict = judge(conditions, entry);
  if (verdict === 'failed') throw failPrecondition();
  return verdict;
}

/**
 * Judges the conditions of a write at a time in milliseconds since the epoch.
 * @throws 412 `PreconditionFailed`; 409 `ConcurrentRequest` for an empty `If-Match`, which means: only when nothing is there.
 */
export function checkWrite(conditions: Conditions, entry: EntryRow | undefined, now: number): void {
  if (conditions.ifMatch?.trim() === '') {
    if (entry) throw new ApiError(409, 'ConcurrentRequest', 'the object exists already, and the request is to create it');
    return;
  }
  if (judge(conditions, entry) !== 'go on') throw failPrecondition();
  // The version can be replaced within the same second and have the same date: no date guards it (RFC 9110, 8.8.2.2).
  const isDated = conditions.ifMatch === undefined && readDate(conditions.ifUnmodifiedSince) !== undefined;
  if (entry && isDated && isOfPresentSecond(entry, now)) throw failPrecondition();
}

/** The order is If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since; an etag given makes the date of its kind moot. */
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
 * True when the range of a request is of this version. `If-Range` has one strong etag or the date of the version, as it was sent; with
 * anything else the whole object is asked for (RFC 9110, 13.1.5).
 */
export function fitsRange(ifRange: string | undefined, entry: EntryRow, now: number): boolean {
  if (ifRange === undefined) return true;
  const validator = ifRange.trim();
  if (!validator.includes(',') && validator !== '*' && matchEtag(validator, entry, 'strong')) return true;
  return validator === new Date(entry.mtime).toUTCString() && !isOfPresentSecond(entry, now);
}

/**
 * Etags are compared as they stand; quotes are dropped. A weak comparison also drops the mark of a weak etag, a strong one never matches
 * such an etag (RFC 9110, 8.8.3.2).
 */
function matchEtag(list: string, entry: EntryRow | undefined, comparison: 'strong' | 'weak'): boolean {
  if (!entry) return false;
  const pattern = comparison === 'weak' ? /^(?:W\/)?"(.*)"$/ : /^"(.*)"$/;
  const wanted = list.split(',').map((etag) => etag.trim().replace(pattern, '$1'));
  return wanted.some((etag) => etag === '*' || (entry.etag !== null && etag === entry.etag));
}

/** True while a further write could leave the date of the version as it is. */
function isOfPresentSecond(entry: EntryRow, now: number): boolean {
  return readSeconds(entry) >= Math.floor(now / 1000);
}

/** Seconds since the epoch; a date that cannot be read is no condition. */
function readDate(text: string | undefined): number | undefined {
  const milliseconds = text === undefined ? NaN : Date.parse(text);
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000);
}

/** `Last-Modified` has no fractions, so neither has what it is compared with. */
function readSeconds(entry: EntryRow): number {
  return Math.floor(entry.mtime / 1000);
}

function failPrecondition(): ApiError {
  return new ApiError(412, 'PreconditionFailed', 'the object is not as the conditions of the request want it: read it again');
}
