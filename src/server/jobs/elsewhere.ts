import type { JobService } from './engine.ts';

/** Jobs of a gateway that does no tasks: workers find in the database what is to be done. */
export const jobsElsewhere: JobService = {
  wake: () => undefined,
  problemOf: () => undefined,
  detected: Promise.resolve(undefined),
};
