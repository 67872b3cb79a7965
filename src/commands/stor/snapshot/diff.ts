import { command } from '../../../cli/command.ts';
import { maybe, one } from '../../../cli/parameters.ts';
import { UsageError } from '../../../base/errors.ts';
import { andThen } from '../../../base/iterate.ts';
import { records } from '../../../output/kinds.ts';
import { inspect } from '../../../transfer/inspect.ts';
import { printRemotePath } from '../../../transfer/path.ts';
import { compareSnapshots, snapshotSide } from '../../../transfer/snapshot/restore.ts';
import type { Step } from '../../../transfer/sync/steps.ts';
import type { Side } from '../../../transfer/sync/tree.ts';
import { createEngine } from '../engine.ts';
import { createTally } from '../tally.ts';
import { filterOptions, readFilter } from '../filters.ts';
import { describeChanges, differenceShape, reportTo } from '../sync-steps.ts';
import { findNamed } from './names.ts';

const changes: Readonly<Record<Step['action'], string>> = {
  copy: 'changed',
  headers: 'changed',
  mkdir: 'changed',
  delete: 'gone',
  rmdir: 'gone',
};

export const diff = command({
  summary: 'Compare a snapshot with the directory or another snapshot',
  description: 'new is only in the later one, gone only in the earlier one. Contents and stored headers are compared.',
  arguments: {
    snapshot: one('Earlier snapshot: DIR@NAME', { values: 'path' }),
    later: maybe('Later snapshot: DIR@NAME; default the directory as it is now', { values: 'path' }),
  },
  usage: 'DIR@NAME [DIR@NAME]',
  options: { ...filterOptions },
  run: async (invocation) => {
    const { args, options } = invocation;
    const engine = createEngine(invocation, {}, { bulk: true });
    const tally = createTally(invocation);
    const { home, snapshot } = await findNamed(invocation, engine, args.snapshot);
    const other = args.later === undefined ? undefined : await findNamed(invocation, engine, args.later);
    const from: Side = other ? snapshotSide(engine, other.home, other.snapshot) : { kind: 'remote', root: home.directory };
    if (!other && !(await inspect(engine.storage, home.directory)))
      throw new UsageError(`${printRemotePath(home.directory)} does not exist any more`, {
        hint: `cloud stor snapshot restore ${args.snapshot}`,
      });
    const steps = compareSnapshots(engine, {
      from,
      to: snapshotSide(engine, home, snapshot),
      filter: await readFilter(invocation, options),
      deletes: true,
      dryRun: true,
      isEmpty: false,
      copiesThrough: false,
      report: reportTo(tally),
    });
    return records(andThen(describeChanges(steps, changes), tally.finish), differenceShape);
  },
  examples: [
    { line: 'cloud stor snapshot diff photos@monday', help: 'What has changed since?' },
    { line: 'cloud stor snapshot diff photos@monday photos@tuesday', help: 'Compare two snapshots' },
  ],
});
