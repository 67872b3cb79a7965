import type { Headers } from '../api/message.ts';
import type { StorageClient } from '../client/client.ts';
import { ApiError, LocalError } from '../base/errors.ts';
import { inspect } from './inspect.ts';
import { printRemotePath, type RemotePath } from './path.ts';

/** What must be at the target when an object is stored there. */
export interface Precondition {
  /** An object with this etag. */
  readonly ifMatch?: string | undefined;
  /** `*`: nothing. */
  readonly ifNoneMatch?: string | undefined;
  /** An HTTP date: nothing, or an object that was modified later. */
  readonly ifModifiedSince?: string | undefined;
}

/** True if an object was last modified at or before a date; false when the service does not send `Last-Modified`. */
function isUnmodified({ 'last-modified': modified }: Headers, since: string): boolean {
  return Date.parse(modified ?? '') <= Date.parse(since);
}

export function hasCondition({ ifMatch, ifNoneMatch, ifModifiedSince }: Precondition): boolean {
  return ifMatch !== undefined || ifNoneMatch !== undefined || ifModifiedSince !== undefined;
}

/** True if a condition of a request failed. Other 409 responses, such as for a full directory, are errors of their own. */
export function isConditionFailed(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 412 || (error.status === 409 && error.code.startsWith('ConcurrentRequest')));
}

/** Requests the headers of the target, which may be missing. @throws {ApiError} when it is a directory, or the condition fails */
export async function checkPrecondition(storage: StorageClient, target: RemotePath, condition: Precondition): Promise<void> {
  const { ifMatch, ifNoneMatch, ifModifiedSince } = condition;
  const there = await inspect(storage, target);
  if (there?.type === 'directory')
    throw new ApiError(400, 'OperationNotAllowedOnDirectory', `${printRemotePath(target)} is a directory, not an object`);
  const isFailed = (ifNoneMatch === '*' && there !== undefined) || (ifMatch !== undefined && ifMatch !== there?.headers['etag']);
  const isOld = there !== undefined && ifModifiedSince !== undefined && isUnmodified(there.headers, ifModifiedSince);
  if (isFailed || isOld) throw new ApiError(412, 'PreconditionFailed', `${printRemotePath(target)} does not match the conditions`);
}

/**
 * Commits parts under a condition. The service commits without conditions, so the target is checked directly before and the result directly
 * after.
 * @throws {ApiError} when the condition fails; nothing is committed then
 * @throws {LocalError} when another client wrote the object at the same time
 */
export async function commitUnder(
  storage: StorageClient,
  target: RemotePath,
  condition: Precondition,
  commit: () => Promise<{ etag: string; md5: string }>,
): Promise<{ etag: string; md5: string }> {
  if (!hasCondition(condition)) return await commit();
  await checkPrecondition(storage, target, condition);
  const committed = await commit();
  const there = await inspect(storage, target);
  if (committed.etag === '' || there?.headers['etag'] === committed.etag) return committed;
  throw new LocalError(`${printRemotePath(target)} was stored, but another client wrote or deleted it concurrently`, {
    hint: 'check which version is stored',
  });
}
