import { command } from '../../cli/command.ts';
import { flag, one } from '../../cli/parameters.ts';
import { exitCodes, PartialError } from '../../base/errors.ts';
import { countEach } from '../../base/iterate.ts';
import { records } from '../../output/kinds.ts';
import type { Step } from '../../transfer/sync/steps.ts';
import { createEngine } from './engine.ts';
import { createTally } from './tally.ts';
import { filterOptions, readFilter } from './filters.ts';
import { checkSides, readSides } from './sides.ts';
import { compareOptions, describeChanges, differenceShape, planSync } from './sync-steps.ts';
import { countOf } from '../../base/count.ts';

const changes: Readonly<Record<Step['action'], string>> = {
  copy: 'changed',
  headers: 'changed',
  mkdir: 'new',
  delete: 'extra',
  rmdir: 'extra',
};

/** @throws {PartialError} if there are differences */
function refuseDifferences(count: number): void {
  if (count > 0) throw new PartialError(`the directories differ in ${countOf(count, 'place')}`, { allFailed: exitCodes.failed });
}

export const diff = command({
  summary: 'Compare two directories',
  description: 'Shows what sync --delete would do: new is only in SOURCE, extra only in TARGET. Nothing is changed.',
  arguments: {
    source: one('Directory; stor:PATH in the object storage, PROFILE/stor:PATH in that of a profile', { values: 'file-or-path' }),
    target: one('Directory to compare with; also stor:PATH or PROFILE/stor:PATH', { values: 'file-or-path' }),
  },
  options: { ...compareOptions, ...filterOptions, exitCode: flag('Exit with 1 if there are differences') },
  run: async (invocation) => {
    const { args, options } = invocation;
    const tally = createTally(invocation);
    const sides = readSides(invocation, { from: args.source, to: args.target });
    const engine = createEngine(sides.context, {}, { bulk: true });
    const filter = await readFilter(invocation, options);
    const isThere = await checkSides(sides);
    const steps = planSync(invocation, sides, { isThere, filter, deletes: true, modes: false, remembers: false, tally, engine });
    const rows = describeChanges(steps, changes);
    return records(options.exitCode ? countEach(rows, () => true, refuseDifferences) : rows, differenceShape);
  },
  examples: [
    { line: 'cloud stor diff photos stor:photos', help: 'List the differences' },
    { line: 'cloud stor diff stor:a stor:b -o name', help: 'Only the paths' },
    { line: 'cloud stor diff photos stor:photos --checksum --exit-code', help: 'In a script: check a backup' },
  ],
});
