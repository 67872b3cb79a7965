import type { World } from '../../base/world.ts';
import { command } from '../../cli/command.ts';
import { UsageError, WaitError } from '../../base/errors.ts';
import { wantsRows } from '../../cli/rows.ts';
import { record, type Output } from '../../output/kinds.ts';
import { findHolder, hasEnded } from './holder.ts';
import { findRunning, readRunFile, waitUntil } from './running.ts';
import { dataDirOf, dataOption } from './service.ts';

/** Milliseconds that a service has to end after SIGTERM: it aborts requests after 5 s. */
const stopTime = 8000;

/** Milliseconds that a process has to end after SIGKILL: it does not end while it waits for a disk. */
const killTime = 20_000;

const fields = ['dataDir', 'outcome', 'pid'];

export const stop = command({
  summary: 'Stop the services; their data stays',
  description: 'Requests in progress have 5 seconds to finish. A service that has not ended after 8 seconds is killed.',
  options: dataOption,
  fields,
  changes: true,
  run: async (invocation) => {
    const { options, world, note } = invocation;
    const dataDir = dataDirOf(invocation, options.data);
    const pid = await findProcess(world, dataDir);
    if (pid !== undefined && readRunFile(dataDir)?.temporary === true)
      throw new UsageError('the services of cloud local run stop when its program ends; they were not stopped');
    /** What was done, if an output format is requested. */
    const show = (outcome: 'stopped' | 'killed' | 'not running'): Output | undefined =>
      wantsRows(invocation) ? record({ dataDir, outcome, ...(pid !== undefined && { pid }) }, { id: 'dataDir', fields }) : undefined;
    if (pid === undefined) {
      note('Not running');
      return show('not running');
    }
    const isStopped = await stopProcess(world, pid);
    note(isStopped ? 'Stopped' : `Killed process ${pid}, which did not end in time`);
    return show(isStopped ? 'stopped' : 'killed');
  },
  examples: [
    { line: 'cloud local stop', help: 'Finish the requests in progress, then stop' },
    { line: 'cloud local stop --data ./data', help: 'Services with their own data' },
  ],
});

/** Finds the process of the service on a data directory, even if it does not respond or is still starting. */
export async function findProcess(world: Pick<World, 'kill'>, dataDir: string): Promise<number | undefined> {
  return findHolder(dataDir, readRunFile(dataDir)?.pid) ?? (await findRunning(world, dataDir))?.pid;
}

type Stopping = Pick<World, 'kill' | 'now' | 'interrupted'>;

/** A world in which cleaning up is not interrupted by the signal that is its reason. */
export function uninterrupted({ kill, now }: Omit<Stopping, 'interrupted'>): Stopping {
  return { kill, now, interrupted: new AbortController().signal };
}

/** Ends a service and waits for its process; returns false if it had to be killed. @throws {WaitError} if it runs even then */
export async function stopProcess(world: Stopping, pid: number): Promise<boolean> {
  sendSignal(world, pid, 'SIGTERM');
  if (await waitUntil(world, stopTime, () => hasEnded(world, pid))) return true;
  if (!world.interrupted.aborted && (await killProcess(world, pid))) return false;
  throw new WaitError(`process ${pid} still runs`, { hint: 'run cloud local stop again, or check the process' });
}

/** Kills a process and waits for its end: until then it finishes what it was writing. Returns false if it still runs. */
export async function killProcess(world: Stopping, pid: number): Promise<boolean> {
  sendSignal(world, pid, 'SIGKILL');
  return await waitUntil(world, killTime, () => hasEnded(world, pid));
}

function sendSignal(world: Pick<World, 'kill'>, pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    world.kill(pid, signal);
  } catch (error) {
    if (!hasEnded(world, pid)) throw error;
  }
}
