import { ApiError } from '../../base/errors.ts';
import { isForbidden } from '../../cli/shapes.ts';
import type { Entry } from '../../config/journal-entry.ts';
import type { Engine } from '../../transfer/engine.ts';
import { inspect } from '../../transfer/inspect.ts';
import { printRemotePath, type RemotePath } from '../../transfer/path.ts';
import type { LinkCondition } from '../../transfer/tree/link.ts';

/** Resolution of HTTP dates, milliseconds. */
const dateStep = 1000;

/** The condition under which a target may be written that cannot be read: nothing is known of its version. */
const ifAbsent: LinkCondition = { ifNoneMatch: '*' };

/**
 * The condition under which a resumed run may write a target of which no earlier run noted anything: it is absent, or it is the object that
 * existed before the work began. Both ages are differences of times of one clock, so the clocks of the service and of this machine may
 * differ.
 * @throws {ApiError} 412 when the target may have been created or changed since the work began
 */
export async function findReplaceable({ storage }: Pick<Engine, 'storage'>, entry: Entry, target: RemotePath): Promise<LinkCondition> {
  const found = await inspect(storage, target).catch((error: unknown) => {
    if (isForbidden(error)) return undefined;
    throw error;
  });
  if (found === undefined) return ifAbsent;
  // The service refuses to replace a directory, and says so.
  if (found.type === 'directory') return {};
  const { date, 'last-modified': modified, etag } = found.headers;
  const age = Date.parse(date ?? '') - Date.parse(modified ?? '');
  if (age >= entry.elapsed() + dateStep) return { ifMatch: etag };
  throw createChangedMeanwhileError(target);
}

/** The error for a target that a resumed run leaves alone. */
export function createChangedMeanwhileError(target: RemotePath): ApiError {
  return new ApiError(
    412,
    'PreconditionFailed',
    `${printRemotePath(target)} was created or changed after the interrupted run began: left alone`,
  );
}
