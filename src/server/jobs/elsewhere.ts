import type { Store } from '../store/store.ts';
import type { JobService } from './engine.ts';

/** Jobs of a gateway that does no tasks: workers find in the database what is to be done. */
export function createJobsElsewhere({ notices }: Store): JobService {
  return {
    wake: () => notices?.send(),
    problemOf: () => undefined,
    detected: Promise.resolve(undefined),
  };
}
