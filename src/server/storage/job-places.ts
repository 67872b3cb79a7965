import type { Kysely } from 'kysely';
import { ApiError } from '../../base/errors.ts';
import type { Schema } from '../store/schema.ts';
import type { Place } from './paths.ts';

/** Files that the service writes into the directory of a job when it is done. */
export const archiveNames = ['job.json', 'in.txt', 'out.txt', 'fail.txt', 'err.txt'] as const;

function isArchiveFile({ parts }: Place): boolean {
  return parts.length === 3 && archiveNames.some((name) => name === parts[2]);
}

/** True for the path of a job's directory, or of the directory of its outputs, whether or not there is such a job. */
function isJobDirectory({ parts }: Place): boolean {
  return parts.length === 2 || (parts.length === 3 && parts[2] === 'stor');
}

/**
 * Protects what a running job needs: the names of its archive files, its directory, and the directory of its outputs.
 * @throws 409 `InvalidJobState`
 */
export async function refuseJobPlace(db: Kysely<Schema>, place: Place, change: 'write' | 'remove'): Promise<void> {
  const [root, id] = place.parts;
  if (root !== 'jobs' || id === undefined) return;
  if (!(change === 'write' ? isArchiveFile(place) : isJobDirectory(place))) return;
  const job = await db
    .selectFrom('jobs')
    .innerJoin('accounts', 'accounts.id', 'jobs.account')
    .select('jobs.id')
    .where('jobs.id', '=', id)
    .where('jobs.state', '=', 'running')
    .where('accounts.login', '=', place.login)
    .executeTakeFirst();
  if (!job) return;
  const what = change === 'write' ? 'is written by the service when the job is done' : 'holds output of the job';
  throw new ApiError(409, 'InvalidJobState', `job ${id} is not done: ${place.path} ${what}`);
}
