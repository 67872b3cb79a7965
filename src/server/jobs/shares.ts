import { groupBy } from '../../base/group-by.ts';
import type { ActiveJob } from './active-job.ts';

/** Whose task comes next: accounts share the slots of an engine evenly, and the jobs of an account share what it gets. */

/** What is asked of a job. */
export type Sharer = Pick<ActiveJob, 'account' | 'served'> & {
  readonly phases: readonly { readonly opening: number; readonly zones: Iterable<{ readonly load: number }> }[];
};

/** Zones of a job that work or are being made. */
export function countBusy({ phases }: Sharer): number {
  let busy = 0;
  for (const { opening, zones } of phases) {
    busy += opening;
    for (const { load } of zones) if (load > 0) busy += 1;
  }
  return busy;
}

/** Zones that work for each account, by its id. */
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

/** Who has least comes first; of those that have the same, who was served longest ago. */
function compare(left: Share<unknown>, right: Share<unknown>): number {
  return left.busy - right.busy || left.served - right.served;
}

/** Jobs in the order in which they are to get a free slot. @param all jobs that have tasks to do, and others that work */
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
