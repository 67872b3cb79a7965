import { randomUUID } from 'node:crypto';
import { LocalError } from '../base/errors.ts';
import { removeOld } from './cluster/lifetimes.ts';
import { collect, type Collected } from './cluster-collector.ts';
import type { Call } from './http/handler.ts';
import { repeatRegularly } from './repeat-regularly.ts';
import { leaveDuty, takeDuty } from './store/postgres/duties.ts';
import type { Keeping } from './store/postgres/lease.ts';

/** Milliseconds from the end of one collection to the next, and for which the database must have been responding before one begins. */
const usualPause = 60_000;
const steadyTime = 30_000;

/** Seconds between two scans of all contents, over all gateways. */
const sweepSeconds = 6 * 3600;

/** Options of a gateway's collections. */
export interface CollectingOptions extends Pick<Call, 'store' | 'settings'> {
  readonly keeping: Pick<Keeping, 'isSteady'>;
  readonly log: (line: string) => void;
  /** Id of the gateway, under which it takes its turn. */
  readonly holder: string;
  readonly pause?: number | undefined;
}

/** Seconds for which one gateway alone looks for what is too old. */
const lifetimeSeconds = 120;

async function removeOnce({ store, settings, log, holder }: CollectingOptions, signal: AbortSignal): Promise<void> {
  if (!(await takeDuty(store.db, 'lifetimes', holder, lifetimeSeconds))) return;
  const { uploads, finishedUploads, jobs, changes } = await removeOld(store, settings, signal);
  if (uploads + finishedUploads + jobs + changes === 0) return;
  log(
    `removed as too old: uploads that nobody ended ${uploads}, records of finished uploads ${finishedUploads}, rows of jobs ${jobs}, changes in the audit log ${changes}`,
  );
}

async function collectOnce({ store, log }: CollectingOptions, signal: AbortSignal): Promise<void> {
  // A new holder each time: the holder of a duty may take it again before it ends, and would scan too early.
  const turn = randomUUID();
  const sweep = await takeDuty(store.db, 'sweep', turn, sweepSeconds);
  let done: Collected | undefined;
  try {
    done = await collect({ store, sweep, signal });
  } finally {
    // Another collector is running, or this one failed.
    if (sweep && done === undefined) await leaveDuty(store.db, 'sweep', turn);
  }
  if (done && done.removed + done.orphans > 0)
    log(`collected: ${done.removed} contents that were overwritten or deleted, ${done.orphans} that no object refers to`);
}

/**
 * Collects periodically, unless another gateway does, until stopped. After the database was unavailable it waits until the other gateways
 * had time to renew their leases: otherwise contents that they are reading would be removed.
 */
export function keepCollecting(options: CollectingOptions): { stop(): Promise<void> } {
  const { keeping, log, pause = usualPause } = options;
  let obstacle: string | undefined;
  const report = (error: unknown): void => {
    if (!(error instanceof LocalError)) return log(`collecting failed: ${String(error)}`);
    // It lasts until an operator decides.
    if (error.message !== obstacle) log(`${error.message}; ${error.hint}`);
    obstacle = error.message;
  };
  const work = async (signal: AbortSignal): Promise<void> => {
    if (!keeping.isSteady(Math.min(pause, steadyTime))) return;
    // Before the collection, so that the collection finds the contents that are now unreferenced.
    await removeOnce(options, signal).catch((error: unknown) => log(`what is too old cannot be removed: ${String(error)}`));
    await collectOnce(options, signal).then(() => (obstacle = undefined), report);
  };
  return { stop: repeatRegularly(work, () => pause) };
}
