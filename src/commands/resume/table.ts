import type { AnyCommand } from '../../cli/command.ts';

/** Commands that go on with what they left, by the name that `begin` is given. An entry on disk can name no other. */
export const resumable: Readonly<Record<string, () => Promise<AnyCommand>>> = {
  'images pipeline': async () => (await import('../images/pipeline.ts')).pipeline,
  'images promote': async () => (await import('../images/promote.ts')).promote,
  'stor put': async () => (await import('../stor/put.ts')).put,
};
