import { command, type Context } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { one } from '../../cli/parameters.ts';
import { records, type Output } from '../../output/kinds.ts';
import { quoteShell } from '../../base/quote.ts';
import type { Engine } from '../../transfer/engine.ts';
import { assertStorable } from '../../transfer/path.ts';
import { writeHead } from '../../transfer/sync/plan.ts';
import { writeStep, type Step } from '../../transfer/sync/steps.ts';
import { readBackupDir } from './backup-dir.ts';
import { createEngine } from './engine.ts';
import { createTally } from './tally.ts';
import { readFilter } from './filters.ts';
import { readSides } from './sides.ts';
import { checkSyncOptions, syncOptions } from './sync-options.ts';
import { checkDryRun, runSync } from './sync-run.ts';
import { chooseComparison, mapSteps, planSync, stepShape } from './sync-steps.ts';

async function* encodePlan(head: string, steps: AsyncIterable<Step>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(head);
  for await (const step of steps) yield Buffer.from(writeStep(step));
}

async function writePlan(
  context: Context,
  engine: Engine,
  file: string,
  head: string,
  steps: AsyncIterable<Step>,
): Promise<Output | undefined> {
  if (file === '-') return { kind: 'bytes', body: encodePlan(head, steps) };
  const { writeWhole } = await import('../../transfer/local/whole-file.ts');
  await writeWhole(resolvePath(context.world, file), encodePlan(head, steps), engine);
  context.note(`Wrote ${file}; to execute it: cloud stor run ${quoteShell(file)}`);
  return undefined;
}

export const sync = command({
  summary: 'Update a directory from another one, in either direction',
  description:
    'At least one side is stor:PATH, a directory of the object storage. PROFILE/stor:PATH is a directory at the service of a profile. Between two services, objects are compared by MD5 and pass through this machine, never to its disk; types, headers, number of copies and links between objects are kept. Otherwise files are equal if size and modification time are; the time is stored in m-mtime. Results are cached: a run without changes only reads the listings. To resume an interrupted run, repeat the command. Symbolic links to files inside a local tree are followed; others are skipped and counted, see --links. --delete asks on a terminal and needs --yes elsewhere. It refuses an empty source, keeps entries whose local file is skipped or whose name the local file system cannot store, and deletes nothing if a listing is incomplete.\nWith --watch, a change of a local file starts the next run immediately. Each run compares both sides completely. Runs are at most 1 minute apart, or 10 seconds if the source is in the object storage; see --watch-interval. --delete asks once. A failed run is reported and retried.',
  arguments: {
    source: one('Source directory; stor:PATH in the object storage, PROFILE/stor:PATH in that of a profile', {
      values: 'file-or-path',
    }),
    target: one('Directory to update; also stor:PATH or PROFILE/stor:PATH', { values: 'file-or-path' }),
  },
  options: syncOptions,
  run: async (invocation) => {
    const { args, options } = invocation;
    const comparison = chooseComparison(options);
    const sides = readSides(invocation, { from: args.source, to: args.target });
    const { from, to, context } = sides;
    if (to.kind === 'remote') assertStorable(to.root);
    // An earlier version may have accepted other options.
    if (!invocation.resumed) checkSyncOptions(options, sides);
    const filter = await readFilter(invocation, options);
    const backupRoot = readBackupDir(sides, options.backupDir, filter);
    if (options.dryRun || options.plan !== undefined) {
      const isThere = await checkDryRun(sides, options);
      const tally = createTally(invocation);
      const engine = createEngine(context, options, { bulk: true });
      const steps = planSync(invocation, sides, {
        isThere,
        filter,
        deletes: options.delete,
        modes: options.modes,
        // A dry run changes nothing, not even the memory.
        remembers: options.plan !== undefined,
        tally,
        engine,
      });
      if (options.plan !== undefined) {
        const head = writeHead({ from, to, deletes: options.delete });
        return await writePlan(invocation, engine, options.plan, head, steps);
      }
      return records(mapSteps(steps), stepShape);
    }
    const task = { from, to, comparison, comparesHeaders: options.headers || options.checksum, modes: options.modes };
    const job = { sides, task, filter, backupRoot };
    if (!options.watch) return await runSync(invocation, job);
    const { watchSync } = await import('./sync-watch.ts');
    return await watchSync(invocation, job);
  },
  examples: [
    { line: 'cloud stor sync photos stor:photos', help: 'Upload new and changed files' },
    { line: 'cloud stor sync stor:photos photos --delete -n', help: 'Preview a download that also deletes' },
    { line: 'cloud stor sync site stor:site --delete --backup-dir stor:old/site', help: 'Keep replaced and deleted files' },
    { line: 'cloud stor sync site stor:site --watch', help: 'Upload now and whenever a file changes' },
    { line: 'cloud stor sync work/stor:photos home/stor:pictures', help: 'Copy from the service of one profile to that of another' },
    { line: 'cloud stor sync site stor:/demo/public/site --exclude "*.tmp" --checksum', help: 'Publish; compare contents' },
  ],
});
