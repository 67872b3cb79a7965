import { ApiError } from '../../errors.ts';
import type { EntryRow } from '../store/schema.ts';

/** The conditional headers of a request (section 4, PutObject rule 2). */
export interface Conditions {
  ifMatch?: string | undefined;
  ifNoneMatch?: string | undefined;
  ifModifiedSince?: string | undefined;
  ifUnmodifiedSince?: string | undefined;
}

type Verdict = 'go on' | 'not modified' | 'failed';

/** Whether a read may go on or answers 304. @throws 412 `PreconditionFailed`. */
export function judgeRead(conditions: Conditions, entry: EntryRow): 'go on' | 'not modified' {
  const verdict = judge(conditions, entry);
  if (verdict === 'failed') throw failPrecondition();
  return verdict;
}

/** @throws 412 `PreconditionFailed`; 409 `ConcurrentRequest` for an empty `If-Match`, which means: only when nothing is there. */
export function checkWrite(conditions: Conditions, entry: EntryRow | undefined): void {
  if (conditions.ifMatch?.trim() === '') {
    if (entry) throw new ApiError(409, 'ConcurrentRequest', 'the object exists already, and the request is to create it');
    return;
  }
  if (judge(conditions, entry) !== 'go on') throw failPrecondition();
}

/** The order is If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since; an etag given makes the date of its kind moot. */
function judge(conditions: Conditions, entry: EntryRow | undefined): Verdict {
  const { ifMatch, ifNoneMatch } = conditions;
  if (ifMatch !== undefined && !matchEtag(ifMatch, entry)) return 'failed';
  if (ifNoneMatch !== undefined && matchEtag(ifNoneMatch, entry)) return 'not modified';
  const since = readDate(conditions.ifModifiedSince);
  if (entry && ifNoneMatch === undefined && since !== undefined && readSeconds(entry) <= since) return 'not modified';
  const until = readDate(conditions.ifUnmodifiedSince);
  if (entry && ifMatch === undefined && until !== undefined && readSeconds(entry) > until) return 'failed';
  return 'go on';
}

/** Whether the range of a request is of this version: an `If-Range` with another etag or date asks for the whole object. */
export function fitsRange(ifRange: string | undefined, entry: EntryRow): boolean {
  return ifRange === undefined || matchEtag(ifRange, entry) || readDate(ifRange) === readSeconds(entry);
}

/** Etags are compared as they stand; quotes and the mark of a weak one are dropped. */
function matchEtag(list: string, entry: EntryRow | undefined): boolean {
  if (!entry) return false;
  const wanted = list.split(',').map((etag) => etag.trim().replace(/^(?:W\/)?"(.*)"$/, '$1'));
  return wanted.some((etag) => etag === '*' || (entry.etag !== null && etag === entry.etag));
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
