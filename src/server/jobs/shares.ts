import { groupBy } from '../../base/group-by.ts';
import type { ActiveJob } from './active-job.ts';

/**
 * Decides which job gets the next slot: accounts share the slots of an engine evenly, and the jobs of an account share its slots evenly.
 */

/** The parts of a job that its share depends on. */
export type Sharer = Pick<ActiveJob, 'account' | 'served'> & {
  readonly phases: readonly { readonly opening: number; readonly zones: Iterable<{ readonly load: number }> }[];
};

/** Number of zones of a job that work or are being opened. */
function countBusy({ phases }: Sharer): number {
  let busy = 0;
  for (const { opening, zones } of phases) {
    busy += opening;
    for (const { load } of zones) if (load > 0) busy += 1;
  }
  return busy;
}

/** Number of busy zones of each account, by account id. */
export function countByAccount(jobs: Iterable<Sharer>): Map<string, number> {
  const busy = new Map<string, number>();
  for (const job of jobs) busy.set(job.account.id, (busy.get(job.account.id) ?? 0) + countBusy(job));
  return busy;
}

interface Share<T> {
  readonly of: T;
  readonly busy: number;
  readonly served: number;
}

/** Sorts by the number of busy zones; of equal ones, the one served longest ago comes first. */
function compare(left: Share<unknown>, right: Share<unknown>): number {
  return left.busy - right.busy || left.served - right.served;
}

/** Jobs in the order in which they get a free slot. @param waiting jobs with tasks to run @param all these and other active jobs */
export function orderByShare<J extends Sharer>(waiting: readonly J[], all: Iterable<J>): J[] {
  const busy = countByAccount(all);
  const accounts = [...groupBy(waiting, ({ account }) => account.id)].map(([id, own]): Share<readonly J[]> => ({
    of: own,
    busy: busy.get(id) ?? 0,
    served: Math.max(...own.map(({ served }) => served)),
  }));
  return accounts.toSorted(compare).flatMap(({ of: own }) =>
    own
      .map((job): Share<J> => ({ of: job, busy: countBusy(job), served: job.served }))
      .toSorted(compare)
      .map(({ of: job }) => job),
  );
}
