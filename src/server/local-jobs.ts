import type { JobEngine } from './jobs/engine.ts';
import { usualSlots } from './jobs/engine-options.ts';
import type { Isolation } from './jobs/isolation.ts';
import { rememberIsolation, showIsolation, type ShownIsolation } from './jobs/shown-isolation.ts';
import { defaultDatacenter, type LocalOptions } from './local-options.ts';
import type { LocalStore } from './store/open.ts';

/** Options of the services that matter to jobs; the sandbox may be one that was found before. */
type JobOptions = Omit<LocalOptions, 'isolation'> & { readonly isolation?: LocalOptions['isolation'] | Isolation };

/** Whether only this machine can reach what listens at an address. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

/** The engine of the jobs, before it is started. */
export interface WaitingEngine extends JobEngine {
  start(): void;
}

/** Whether tasks run here: only where nobody else can reach the service, unless that is wanted. */
function mayRunTasks({ host = '127.0.0.1', allowJobs = false }: Pick<LocalOptions, 'host' | 'allowJobs'>): boolean {
  return allowJobs || isLoopback(host);
}

/** Tasks that a service with these options does at once. */
export function countSlots(options: Pick<LocalOptions, 'host' | 'allowJobs' | 'jobSlots'>): number {
  return mayRunTasks(options) ? (options.jobSlots ?? usualSlots()) : 0;
}

/**
 * The engine of the jobs: their commands run on this machine, so there is none where others could send some, unless that is wanted. It is
 * loaded and started when the service listens: both take time in which nobody could be answered.
 */
export function prepareJobs(store: LocalStore, options: JobOptions, url: () => string): WaitingEngine | undefined {
  const { dataDir, datacenter: server = defaultDatacenter, now = Date.now } = options;
  const { log = () => undefined, jobSlots: slots, jobTimeLimit: timeLimit, isolation, serviceLimits } = options;
  const accountTasks = serviceLimits?.accountTasks;
  if (options.replay !== undefined) return undefined;
  if (!mayRunTasks(options)) {
    log(jobsNotAllowed);
    return undefined;
  }
  let start = (): void => undefined;
  const listening = new Promise<void>((resolve) => {
    start = resolve;
  });
  let started: JobEngine | undefined;
  const starting = listening.then(async () => {
    const { startJobEngine } = await import('./jobs/engine.ts');
    return (started = startJobEngine({ store, dataDir, url, server, now, log, slots, accountTasks, timeLimit, isolation, serviceLimits }));
  });
  return {
    start,
    detected: starting.then(({ detected }) => detected),
    wake: (job) => void starting.then((engine) => engine.wake(job)),
    problemOf: (job) => started?.problemOf(job),
    close: async () => (await starting).close(),
  };
}

const jobsNotAllowed = 'jobs are off, because others can reach this service: --allow-jobs switches them on';

/** What the trial of the sandbox finds; the next start shows it before its own trial is over. */
export async function awaitTrial(
  jobs: JobEngine | undefined,
  { dataDir, isolation, replay }: Pick<LocalOptions, 'dataDir' | 'isolation' | 'replay'>,
): Promise<ShownIsolation> {
  if (replay !== undefined) return { isolation: 'off' };
  if (!jobs) return { isolation: 'off', jobsOff: jobsNotAllowed };
  const detected = await jobs.detected;
  const shown = showIsolation(detected);
  if (!('isUnknown' in detected)) rememberIsolation(dataDir, isolation, shown);
  return shown;
}
