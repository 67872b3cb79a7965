import { command, type Context } from '../../cli/command.ts';
import { flag, many } from '../../cli/parameters.ts';
import { confirm } from '../../cli/prompt.ts';
import { ApiError, UsageError } from '../../errors.ts';
import { inspect } from '../../transfer/inspect.ts';
import { parentOf, printRemotePath, quoteRemotePath, type RemotePath } from '../../transfer/path.ts';
import { removeEntry, removeTree } from '../../transfer/remove.ts';
import { walkRemote } from '../../transfer/walk.ts';
import { createEngine, createTally, transferOptions, type Tally } from './engine.ts';
import { missing, readPaths } from './paths.ts';

interface Target {
  readonly path: RemotePath;
  readonly type: 'directory' | 'object';
}

async function findTargets(context: Context, words: readonly string[], tally: Tally): Promise<Target[]> {
  const targets = [];
  for (const word of words) {
    const found = await tally.prepare(word, async () => {
      const there = [];
      for (const path of await readPaths(context, [word])) {
        const type = (await inspect(context.storage, path))?.type;
        if (type === undefined) throw missing(path);
        there.push({ path, type });
      }
      return there;
    });
    targets.push(...(found ?? []));
  }
  return targets;
}

/** Each once; with `recursive` without what goes with a directory above it. */
function dropCovered(targets: readonly Target[], recursive: boolean): Target[] {
  const found = new Map(targets.map((target) => [printRemotePath(target.path), target]));
  const isCovered = (path: RemotePath): boolean => {
    const above = parentOf(path);
    return above !== undefined && (found.get(printRemotePath(above))?.type === 'directory' || isCovered(above));
  };
  return [...found.values()].filter(({ path }) => !recursive || !isCovered(path));
}

function describe(targets: readonly Target[], recursive: boolean): string {
  const shown = targets
    .slice(0, 5)
    .map(({ path, type }) => `${printRemotePath(path)}${type === 'directory' && recursive ? ' and everything in it' : ''}`);
  const more = targets.length > shown.length ? ` and ${targets.length - shown.length} more` : '';
  return shown.join(', ') + more;
}

/** Says which option removes a directory that is not empty. */
function explainFull(error: unknown, path: RemotePath): unknown {
  if (!(error instanceof ApiError) || error.code !== 'DirectoryNotEmpty') return error;
  return new ApiError(error.status, error.code, `${printRemotePath(path)} is not empty`, {
    requestId: error.requestId,
    hint: `with everything in it: cloud stor rm -r ${quoteRemotePath(path)}`,
  });
}

export const remove = command({
  summary: 'Delete objects, empty directories and, with -r, trees',
  aliases: ['delete'],
  arguments: { path: many('Object or directory, or a pattern such as "logs/*.tmp"', { values: 'path' }) },
  options: {
    recursive: flag('Directories with everything in them', { short: 'r' }),
    yes: flag('Do not ask', { short: 'y' }),
    dryRun: flag('Only show what would be deleted', { short: 'n' }),
    parallel: transferOptions.parallel,
  },
  run: async (invocation) => {
    const { args, options, note, world } = invocation;
    const search = createTally(invocation, args.path.length === 1);
    const targets = dropCovered(await findTargets(invocation, args.path, search), options.recursive);
    const engine = createEngine(invocation, options, { bulk: options.recursive || targets.length > 1 });
    if (options.dryRun) {
      for (const { path, type } of targets) {
        if (type === 'directory' && options.recursive) {
          for await (const visit of walkRemote(engine.storage, path))
            if (visit.kind !== 'enter') note(`Would delete ${printRemotePath(visit.path)}`);
        }
        note(`Would delete ${printRemotePath(path)}`);
      }
      return undefined;
    }
    const rootless = targets.find(({ path }) => !path.path.includes('/'));
    if (rootless) throw new UsageError(`${printRemotePath(rootless.path)} cannot be deleted: it is a root of the account`);
    if (!options.yes && targets.length > 0) await confirm(world, `Delete ${describe(targets, options.recursive)}?`);
    const tally = createTally(invocation, targets.length === 1 && search.failed === 0 && !options.recursive);
    for (const { path, type } of targets) {
      if (type === 'directory' && options.recursive) {
        let removed = 0;
        const before = tally.failed;
        await removeTree(engine, path, {
          removed: () => {
            removed += 1;
          },
          failed: (error, at) => tally.fail(error, printRemotePath(at)),
        });
        if (tally.failed === before) note(`Deleted ${printRemotePath(path)} (${removed} entries)`);
        continue;
      }
      await tally.attempt(printRemotePath(path), async () => {
        try {
          await removeEntry(engine, path);
        } catch (error) {
          throw explainFull(error, path);
        }
        note(`Deleted ${printRemotePath(path)}`);
      });
    }
    for (let at = 0; at < search.failed; at += 1) tally.skip();
    tally.finish();
    return undefined;
  },
  examples: [
    { line: 'cloud stor rm logs/a.gz', help: 'Asks first' },
    { line: 'cloud stor rm -y "logs/*.tmp" old', help: 'By pattern, and a directory that is empty' },
    { line: 'cloud stor rm -ry photos', help: 'A tree, without a question' },
  ],
});
