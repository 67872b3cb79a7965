import { sql, type Kysely } from 'kysely';
import { forgetOldJobs } from '../jobs/old-jobs.ts';
import { limitOf, oldestByDatabase } from '../limit.ts';
import type { ServiceSettings } from '../settings.ts';
import { forgetFinishedUploads } from '../storage/old-uploads.ts';
import { giveUpOld } from '../storage/uploads.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

/** Number of audit records, and of rows of jobs, removed by one statement. */
const batchSize = 1000;

/** What was removed because of its age. */
export interface Removed {
  readonly uploads: number;
  readonly finishedUploads: number;
  /** Number of rows. */
  readonly jobs: number;
  readonly changes: number;
}

async function forgetChanges(db: Kysely<Schema>, days: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from audit where sequence in (select sequence from audit
    where at < clock_timestamp() - make_interval(days => ${days}) order by at limit ${batchSize})`.execute(db);
  return Number(numAffectedRows);
}

/**
 * Removes everything that is older than its limit, for all accounts: uploads that were never committed or aborted, finished uploads,
 * completed jobs, and records of the audit log. Requests for uploads and jobs also remove those they come across; this function removes
 * those that nobody requests any more. The clock of the database decides.
 */
export async function removeOld(store: Store, settings: ServiceSettings, signal?: AbortSignal): Promise<Removed> {
  const removeAll = async (remove: () => Promise<number>): Promise<number> => {
    for (let total = 0; ;) {
      const removed = signal?.aborted === true ? 0 : await remove();
      if (removed === 0) return total;
      total += removed;
    }
  };
  return {
    uploads: await removeAll(() => giveUpOld({ store, now: Date.now }, oldestByDatabase(settings, 'uploadDays'))),
    finishedUploads: await removeAll(() => forgetFinishedUploads(store.db, oldestByDatabase(settings, 'finishedUploadDays'))),
    jobs: await removeAll(() => forgetOldJobs(store, oldestByDatabase(settings, 'jobDays'), batchSize)),
    changes: await removeAll(() => forgetChanges(store.db, limitOf(settings, 'auditDays'))),
  };
}
