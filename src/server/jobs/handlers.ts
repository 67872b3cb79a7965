import { randomUUID } from 'node:crypto';
import type { storage } from '../../api/storage.ts';
import { ApiError } from '../../base/errors.ts';
import type { Handler } from '../http/handler.ts';
import { assertRoom, oldestOf } from '../limit.ts';
import { describeJob } from './describe.ts';
import { createDirectory, listCreatorRoles } from './directory.ts';
import type { JobService } from './engine.ts';
import { jobDirectory, createStateError, requireJob, requireLockedJob } from './find.ts';
import { forgetOldJobs } from './old-jobs.ts';
import { readParty } from './party.ts';
import { checkPhases, countReducers } from './phases.ts';
import { advancePhases } from './progress.ts';

/** Maximum number of rows of old jobs that one request removes; the next request continues. */
const mostForgotten = 5000;

type Wake = JobService['wake'];

/**
 * Creates a job, which runs from then on. Concurrent requests do not see each other: together they may exceed the limit of running jobs by
 * their number. `engine` is absent if jobs are disabled.
 */
export function createCreateJob(engine: JobService | undefined): Handler<typeof storage.createJob> {
  return async ({ name, phases }, call) => {
    if (!engine) {
      throw new ApiError(403, 'JobsDisabled', 'jobs are off because other machines can reach this service: start it with --allow-jobs');
    }
    const detected = await engine.detected;
    if (detected && 'refusal' in detected) throw new ApiError(403, 'JobsDisabled', detected.refusal);
    checkPhases(phases);
    await forgetOldJobs(call.store, oldestOf(call.store.db, call.settings, 'jobDays', call.now()), mostForgotten);
    const { account } = call;
    // Before the transaction, in which PostgreSQL would let concurrent requests fail because of what each has read.
    const running = call.store.db.selectFrom('jobs').select('id').where('account', '=', account.id).where('state', '=', 'running');
    await assertRoom(call.settings, 'runningJobs', running, { has: 'an account has', counted: 'running jobs' });
    const id = randomUUID();
    const created = call.now();
    const directory = jobDirectory(account.login, id);
    const { account: creator, user, access } = await readParty(call);
    const roles = await listCreatorRoles(call, access);
    await call.store.write(async (transaction) => {
      await createDirectory(transaction, directory, roles, created);
      const row = {
        id,
        account: account.id,
        creator,
        user,
        access,
        name: name ?? null,
        phases: JSON.stringify(phases),
        state: 'running' as const,
        done: null,
        created,
        cancelled: 0,
        input_done: 0,
        outputs: 0,
        errors: 0,
        retries: 0,
      };
      await transaction.insertInto('jobs').values(row).execute();
      const rows = phases.map((each, phase) => ({
        job: id,
        phase,
        reducers: countReducers(each),
        inputs: 0,
        tasks: 0,
        finished: 0,
        closed: 0,
      }));
      await transaction.insertInto('job_phases').values(rows).execute();
    });
    engine.wake(id);
    return { location: directory.path };
  };
}

export function createGetJob(problemOf: JobService['problemOf']): Handler<typeof storage.getJob> {
  return async ({ id }, call) => {
    const job = await describeJob(call.store.db, await requireJob(call.store.db, call, id));
    const problem = job.state === 'done' ? undefined : problemOf(id);
    return { ...job, ...(problem !== undefined && { problem }) };
  };
}

/** Ends the input of a job. Idempotent while the job runs. */
export function createEndJobInput(wake: Wake): Handler<typeof storage.endJobInput> {
  return async ({ id }, call) => {
    await call.store.writeEntry(async (transaction) => {
      const job = await requireLockedJob(transaction, call, id);
      if (job.cancelled === 1) throw createStateError(id, 'was cancelled', 'its input cannot be ended');
      if (job.input_done === 1) return;
      await transaction.updateTable('jobs').set({ input_done: 1 }).where('id', '=', id).execute();
      await advancePhases(transaction, id, true);
    });
    wake(id);
    return {};
  };
}

/** Cancels a job; its tasks are killed soon after. */
export function createCancelJob(wake: Wake): Handler<typeof storage.cancelJob> {
  return async ({ id }, call) => {
    await call.store.writeEntry(async (transaction) => {
      const job = await requireLockedJob(transaction, call, id);
      if (job.cancelled === 1) throw createStateError(id, 'was already cancelled', 'it cannot be cancelled again');
      if (job.state === 'done') throw createStateError(id, 'is done', 'it cannot be cancelled');
      await transaction.updateTable('jobs').set({ cancelled: 1 }).where('id', '=', id).execute();
    });
    wake(id);
    return {};
  };
}
