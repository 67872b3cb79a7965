import { sql, type Kysely } from 'kysely';
import { forgetOldJobs } from '../jobs/old-jobs.ts';
import { limitOf, oldestOf } from '../limit.ts';
import type { ServiceSettings } from '../settings.ts';
import { giveUpOld } from '../storage/uploads.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

/** Changes removed by one statement, and rows of jobs at once. */
const batchSize = 1000;

/** What was removed because it was old. */
export interface Removed {
  readonly uploads: number;
  /** Rows. */
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
 * Removes what has become older than its limit, of all accounts: uploads that nobody has ended, jobs that are done, and changes in the audit
 * log. Requests for uploads and jobs do the same for what they meet; this is for what nobody asks for any more.
 * @param now milliseconds since the epoch, for what has times of gateways
 */
export async function removeOld(store: Store, settings: ServiceSettings, now: number, signal?: AbortSignal): Promise<Removed> {
  const removeAll = async (remove: () => Promise<number>): Promise<number> => {
    for (let total = 0; ;) {
      const removed = signal?.aborted === true ? 0 : await remove();
      if (removed === 0) return total;
      total += removed;
    }
  };
  return {
    uploads: await removeAll(() => giveUpOld(store, oldestOf(settings, 'uploadDays', now))),
    jobs: await removeAll(() => forgetOldJobs(store, oldestOf(settings, 'jobDays', now), batchSize)),
    changes: await removeAll(() => forgetChanges(store.db, limitOf(settings, 'auditDays'))),
  };
}
