import type { JobEngine } from './jobs/engine.ts';
import { usualSlots } from './jobs/engine-options.ts';
import type { Isolation } from './jobs/isolation.ts';
import { rememberIsolation, showIsolation, type ShownIsolation } from './jobs/shown-isolation.ts';
import { defaultDatacenter, type LocalOptions } from './local-options.ts';
import type { Store } from './store/store.ts';

/** Options of the services that matter to jobs; the isolation may also be one that was detected before. */
type JobOptions = Omit<LocalOptions, 'isolation'> & { readonly isolation?: LocalOptions['isolation'] | Isolation };

/** True if only this machine can reach a listener at this address. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

/** A job engine that is yet to be started. */
export interface WaitingEngine extends JobEngine {
  start(): void;
}

/** True if tasks may run here: if nobody else can reach the service, or if jobs are explicitly allowed. */
function mayRunTasks({ host = '127.0.0.1', allowJobs = false }: Pick<LocalOptions, 'host' | 'allowJobs'>): boolean {
  return allowJobs || isLoopback(host);
}

/** Number of concurrent tasks of a service with these options. */
export function countSlots(options: Pick<LocalOptions, 'host' | 'allowJobs' | 'jobSlots'>): number {
  return mayRunTasks(options) ? (options.jobSlots ?? usualSlots()) : 0;
}

/**
 * Creates the job engine. Commands of jobs run on this machine, so there is no engine if others could send jobs, unless that is explicitly
 * allowed. The engine is loaded and started after the service listens, because both block the process and would delay responses.
 */
export function prepareJobs(store: Store, options: JobOptions, url: () => string, owner?: string): WaitingEngine | undefined {
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
    return (started = startJobEngine({
      store,
      owner,
      dataDir,
      url,
      server,
      now,
      log,
      slots,
      accountTasks,
      timeLimit,
      isolation,
      serviceLimits,
    }));
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

/** Awaits the isolation that this start detects, and stores it for the next start, which shows it until its own detection is finished. */
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
