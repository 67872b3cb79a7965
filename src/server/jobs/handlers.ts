import { randomUUID } from 'node:crypto';
import type { storage } from '../../api/storage.ts';
import { ApiError } from '../../errors.ts';
import { readNamedRoles } from '../authorise.ts';
import type { Call, Handler } from '../handler.ts';
import type { Access } from './active-job.ts';
import { describeJob } from './describe.ts';
import { createDirectory, listCreatorRoles } from './directory.ts';
import type { JobEngine } from './engine.ts';
import { jobDirectory, refuseState, requireJob } from './find.ts';
import { checkPhases, countReducers } from './phases.ts';
import { advancePhases } from './progress.ts';

type Wake = JobEngine['wake'];

function readAccess({ headers, connection }: Call): Access {
  return {
    named: readNamedRoles('storage', new URLSearchParams(), headers),
    sourceip: connection.remoteAddress.replace(/^::ffff:(?=\d+\.)/u, ''),
    userAgent: headers['user-agent'],
  };
}

/** Creates a job; it runs from then on. `engine` is absent where jobs are off. */
export function createCreateJob(engine: JobEngine | undefined): Handler<typeof storage.createJob> {
  return async ({ name, phases }, call) => {
    if (!engine) {
      throw new ApiError(403, 'JobsDisabled', 'jobs are off, because others can reach this service: start it with --allow-jobs');
    }
    checkPhases(phases);
    const { account, caller } = call;
    const id = randomUUID();
    const created = call.now();
    const directory = jobDirectory(account.login, id);
    const access = readAccess(call);
    const roles = await listCreatorRoles(call, access);
    await call.store.write(async (transaction) => {
      await createDirectory(transaction, directory, roles, created);
      const row = {
        id,
        account: account.id,
        user: caller.kind === 'user' ? caller.user.id : null,
        access: JSON.stringify(access),
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

/** A job as it is now. */
export const getJob: Handler<typeof storage.getJob> = async ({ id }, call) =>
  describeJob(call.store.db, await requireJob(call.store.db, call, id));

/** Ends the input of a job; again is the same while it runs. */
export function createEndJobInput(wake: Wake): Handler<typeof storage.endJobInput> {
  return async ({ id }, call) => {
    await call.store.write(async (transaction) => {
      const job = await requireJob(transaction, call, id);
      if (job.cancelled === 1) throw refuseState(id, 'was cancelled', 'its input cannot be ended');
      if (job.input_done === 1) return;
      await transaction.updateTable('jobs').set({ input_done: 1 }).where('id', '=', id).execute();
      await advancePhases(transaction, id, true);
    });
    wake(id);
    return {};
  };
}

/** Cancels a job; what it runs is killed soon after. */
export function createCancelJob(wake: Wake): Handler<typeof storage.cancelJob> {
  return async ({ id }, call) => {
    await call.store.write(async (transaction) => {
      const job = await requireJob(transaction, call, id);
      if (job.cancelled === 1) throw refuseState(id, 'was cancelled already', 'once is enough');
      if (job.state === 'done') throw refuseState(id, 'is done', 'it cannot be cancelled');
      await transaction.updateTable('jobs').set({ cancelled: 1 }).where('id', '=', id).execute();
    });
    wake(id);
    return {};
  };
}
