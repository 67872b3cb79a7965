import { randomBytes } from 'node:crypto';
import { isAlive, type World } from '../../base/world.ts';
import type { State } from '../../config/state.ts';

/** Names of the runs. Whatever a run makes begins with its name, so that it can be found without a list. */

/** Name of what is remembered, in the state: the process of each run. */
const memory = 'conformance';

/** Milliseconds after which a run of which this machine knows nothing has ended for certain. */
const longestRun = 3_600_000;

const pattern = /^conformance-(?<seconds>[0-9a-z]{6})-[0-9a-f]{4}/u;

/** Begins a run. Its name is a login too: a letter first, at most 32 characters with what is added. */
export function beginRun(state: State, { now, pid }: Pick<World, 'now' | 'pid'>): string {
  const seconds = Math.floor(now() / 1000).toString(36);
  const run = `conformance-${seconds}-${randomBytes(2).toString('hex')}`;
  state.update(memory, (runs) => ({ ...runs, [run]: pid }));
  return run;
}

export function endRun(state: State, run: string): void {
  state.update(memory, (runs) => Object.fromEntries(Object.entries(runs).filter(([name]) => name !== run)));
}

/** Tells names that a run has left behind which goes on no longer. */
export function createLeftoverTest(state: State, world: Pick<World, 'now' | 'pid' | 'kill'>): (name: string) => boolean {
  const runs = state.read(memory) ?? {};
  return (name) => {
    const { 0: run = '', groups } = pattern.exec(name) ?? {};
    if (groups?.['seconds'] === undefined) return false;
    const pid = runs[run];
    if (typeof pid === 'number') return pid === world.pid || !isAlive(world, pid);
    return world.now() - Number.parseInt(groups['seconds'], 36) * 1000 > longestRun;
  };
}
