import { command, type Context } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { one } from '../../cli/parameters.ts';
import { createContradiction, UsageError } from '../../base/errors.ts';
import { records, type Output } from '../../output/kinds.ts';
import { quoteShell } from '../../base/quote.ts';
import { writeHead } from '../../transfer/sync/plan.ts';
import { writeStep, type Step } from '../../transfer/sync/steps.ts';
import { readBackupDir } from './backup-dir.ts';
import { createEngine, createTally } from './engine.ts';
import { readFilter } from './filters.ts';
import { assertSourceNotEmpty } from './guard.ts';
import { readSides } from './sides.ts';
import { syncOptions } from './sync-options.ts';
import { runSync } from './sync-run.ts';
import { chooseComparison, mapSteps, planSync, stepShape } from './sync-steps.ts';

async function* encodePlan(head: string, steps: AsyncIterable<Step>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(head);
  for await (const step of steps) yield Buffer.from(writeStep(step));
}

async function writePlan(context: Context, file: string, head: string, steps: AsyncIterable<Step>): Promise<Output | undefined> {
  if (file === '-') return { kind: 'bytes', body: encodePlan(head, steps) };
  const { writeWhole } = await import('../../transfer/local/whole-file.ts');
  await writeWhole(resolvePath(context.world, file), encodePlan(head, steps), context.world.interrupted);
  context.note(`Wrote ${file}: cloud stor run ${quoteShell(file)} does it`);
  return undefined;
}

export const sync = command({
  summary: 'Bring a directory up to date with another one, either way',
  description:
    'One side begins with stor: and is a directory of the object storage; both may be. PROFILE/stor:PATH is one of the service of a profile: between two services objects go through this machine and never to its disk, with their types, headers and number of copies, and are compared by MD5; names that are links of each other stay so. Files are the same when size and modification time are; the time is kept in m-mtime, and what was found out is remembered, so that a run with nothing to do only reads the listings. A run that was interrupted is gone on with by the same command. Links to files inside a local tree are followed; others are left out and counted, see --links. --delete asks on a terminal and needs --yes elsewhere; it refuses an empty source, and removes nothing whose name the local file system cannot hold or that is there and takes no part, and nothing at all when a listing came with fewer entries than announced.\nWith --watch it goes on: a change of a local file starts the next run at once, and each run compares both sides anew, so that nothing is missed; at least every minute, every 10 seconds from the object storage, unless --watch-interval says otherwise. With --delete it asks once. A run that fails is reported and tried again.',
  arguments: {
    source: one('Directory to bring; stor:PATH for the object storage, PROFILE/stor:PATH for that of a profile', {
      values: 'file-or-path',
    }),
    target: one('Directory to change; stor:PATH or PROFILE/stor:PATH as well', { values: 'file-or-path' }),
  },
  options: syncOptions,
  run: async (invocation) => {
    const { args, options } = invocation;
    const comparison = chooseComparison(options);
    const sides = readSides(invocation, { from: args.source, to: args.target });
    const { from, to, context } = sides;
    if (!options.watch && options.watchInterval !== undefined)
      throw new UsageError('--watch-interval is about --watch', { hint: 'add --watch' });
    if (options.dryRun || options.plan !== undefined) {
      if (options.watch) throw createContradiction('--watch', options.dryRun ? '--dry-run' : '--plan');
      if (options.dryRun && options.plan !== undefined) throw createContradiction('--dry-run', '--plan');
      if (options.backupDir !== undefined && options.plan !== undefined) throw createContradiction('--backup-dir', '--plan');
      const tally = createTally(invocation);
      const steps = planSync(invocation, sides, {
        deletes: options.delete,
        modes: options.modes,
        // A dry run changes nothing, not even the memory.
        remembers: options.plan !== undefined,
        tally,
        engine: createEngine(context, options, { bulk: true }),
      });
      if (options.plan !== undefined) {
        await assertSourceNotEmpty(context, sides, options);
        const head = writeHead({ from, to, deletes: options.delete });
        return await writePlan(invocation, options.plan, head, steps);
      }
      return records(mapSteps(steps), stepShape);
    }
    const filter = await readFilter(invocation, options);
    const task = { from, to, comparison, comparesHeaders: options.headers || options.checksum, modes: options.modes };
    const job = { sides, task, filter, backupRoot: readBackupDir(sides, options.backupDir, filter) };
    if (!options.watch) return await runSync(invocation, job);
    const { watchSync } = await import('./sync-watch.ts');
    return await watchSync(invocation, job);
  },
  examples: [
    { line: 'cloud stor sync photos stor:photos', help: 'What is new or changed here goes there' },
    { line: 'cloud stor sync stor:photos photos --delete -n', help: 'The other way: what would be done?' },
    { line: 'cloud stor sync site stor:site --delete --backup-dir stor:old/site', help: 'Keep what is replaced or deleted' },
    { line: 'cloud stor sync site stor:site --watch', help: 'Now, and whenever a file changes' },
    { line: 'cloud stor sync work/stor:photos home/stor:pictures', help: 'From the service of one profile to that of another' },
    { line: 'cloud stor sync site stor:/demo/public/site --exclude "*.tmp" --checksum', help: 'Publish, comparing contents' },
  ],
});
