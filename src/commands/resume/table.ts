import type { AnyCommand } from '../../cli/command.ts';

/** Commands that can resume their work, by the name that they pass to `begin`; entries on disk can start no others. */
export const resumable: Readonly<Record<string, () => Promise<AnyCommand>>> = {
  'images pipeline': async () => (await import('../images/pipeline.ts')).pipeline,
  'images promote': async () => (await import('../images/promote.ts')).promote,
  'jobs run': async () => (await import('../jobs/run.ts')).run,
  'mpu upload': async () => (await import('../mpu/parts.ts')).upload,
  'stor cp': async () => (await import('../stor/copy.ts')).copy,
  'stor get': async () => (await import('../stor/get.ts')).get,
  'stor mv': async () => (await import('../stor/move.ts')).move,
  'stor put': async () => (await import('../stor/put.ts')).put,
  'stor rm': async () => (await import('../stor/remove.ts')).remove,
  'stor sync': async () => (await import('../stor/sync.ts')).sync,
};
