import { randomUUID } from 'node:crypto';
import { removeOld } from './cluster/lifetimes.ts';
import { collect } from './cluster-collector.ts';
import type { Call } from './http/handler.ts';
import { repeatRegularly } from './repeat-regularly.ts';
import { leaveDuty, takeDuty } from './store/postgres/duties.ts';
import type { Keeping } from './store/postgres/lease.ts';

/** Milliseconds from the end of one collection to the next, and for which the database must have answered before one begins. */
const usualPause = 60_000;
const steadyTime = 30_000;

/** Seconds after which all contents are looked through again, by one of the gateways. */
const sweepSeconds = 6 * 3600;

/** How a gateway collects. */
export interface CollectingOptions extends Pick<Call, 'store' | 'settings' | 'now'> {
  readonly keeping: Pick<Keeping, 'isSteady'>;
  readonly log: (line: string) => void;
  /** Id under which it takes its turn. */
  readonly holder: string;
  /** Milliseconds for which what nothing refers to is kept. */
  readonly keep?: number | undefined;
  readonly pause?: number | undefined;
}

/** Seconds for which one of the gateways alone looks for what is too old. */
const lifetimeSeconds = 120;

async function removeOnce({ store, settings, now, log, holder }: CollectingOptions, signal: AbortSignal): Promise<void> {
  if (!(await takeDuty(store.db, 'lifetimes', holder, lifetimeSeconds))) return;
  const { uploads, jobs, changes } = await removeOld(store, settings, now(), signal);
  if (uploads + jobs + changes > 0)
    log(`removed as too old: uploads that nobody ended ${uploads}, rows of jobs ${jobs}, changes in the audit log ${changes}`);
}

async function collectOnce({ store, log, keep }: CollectingOptions, signal: AbortSignal): Promise<void> {
  // Another holder each time, so that who looked last is not the one who may look again.
  const turn = randomUUID();
  const sweep = await takeDuty(store.db, 'sweep', turn, sweepSeconds);
  const done = await collect({ store, keep, sweep, signal });
  // Somebody else collects at the moment.
  if (sweep && done === undefined) await leaveDuty(store.db, 'sweep', turn);
  if (done && done.removed + done.orphans > 0)
    log(`collected: ${done.removed} contents that were overwritten or deleted, ${done.orphans} that no object refers to`);
}

/**
 * Collects again and again, as long as nobody else does, until it is stopped. After the database was away it waits until the other gateways
 * have had time to say that they are alive: what is read there would be removed.
 */
export function keepCollecting(options: CollectingOptions): { stop(): Promise<void> } {
  const { keeping, log, pause = usualPause } = options;
  const work = async (signal: AbortSignal): Promise<void> => {
    if (!keeping.isSteady(Math.min(pause, steadyTime))) return;
    // Before the collection, which then finds the contents that nothing refers to any more.
    await removeOnce(options, signal).catch((error: unknown) => log(`what is too old cannot be removed: ${String(error)}`));
    await collectOnce(options, signal).catch((error: unknown) => log(`collecting failed: ${String(error)}`));
  };
  return { stop: repeatRegularly(work, () => pause) };
}
