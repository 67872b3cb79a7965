import { randomBytes } from 'node:crypto';
import { isAlive, type World } from '../../base/world.ts';
import type { State } from '../../config/state.ts';

/** Names of runs. The names of everything that a run creates begin with the name of the run, so that it can be found without a list. */

/** Key in the state under which the process id of each run is kept. */
const memory = 'conformance';

/** Milliseconds after which a run that this machine does not know has certainly ended. */
const longestRun = 3_600_000;

const pattern = /^conformance-(?<seconds>[0-9a-z]{6})-[0-9a-f]{4}/u;

/** Begins a run. Its name is also a prefix of logins: a letter first, at most 32 characters with the suffix of the login. */
export function beginRun(state: State, { now, pid }: Pick<World, 'now' | 'pid'>): string {
  const seconds = Math.floor(now() / 1000).toString(36);
  const run = `conformance-${seconds}-${randomBytes(2).toString('hex')}`;
  state.update(memory, (runs) => ({ ...runs, [run]: pid }));
  return run;
}

export function endRun(state: State, run: string): void {
  state.update(memory, (runs) => Object.fromEntries(Object.entries(runs).filter(([name]) => name !== run)));
}

/** Returns a test for names that were left by a run that is no longer running. */
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
