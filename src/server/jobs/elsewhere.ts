import type { Store } from '../store/store.ts';
import type { JobService } from './engine.ts';

/** Jobs of a gateway that runs no tasks itself: workers find the tasks in the database. */
export function createJobsElsewhere({ notices }: Store): JobService {
  return {
    wake: () => notices?.send(),
    problemOf: () => undefined,
    detected: Promise.resolve(undefined),
  };
}
