import type { Context } from '../../cli/command.ts';
import { createContradiction, UsageError } from '../../base/errors.ts';
import { kebab } from '../../config/settings.ts';
import { bytes, type Output } from '../../output/kinds.ts';
import { baseName, printRemotePath, type RemotePath } from '../../transfer/path.ts';
import { packTrees, type PackRoot } from '../../transfer/tar/pack.ts';
import { createEngine } from './engine.ts';
import { createTally } from './tally.ts';
import type { TransferValues } from './transfer-options.ts';
import { readFilter, type FilterValues } from './filters.ts';
import { monitorTransfers } from './monitor.ts';
import { requireThere } from './paths.ts';

/** Archives of trees: `get --tar` writes one to stdout. */

export interface TarValues extends Partial<TransferValues>, FilterValues {
  readonly noTargetDirectory: boolean;
}

/** @throws {UsageError} for options that do not apply to archives */
export function checkTar(
  given: Readonly<Record<'recursive' | 'continue' | 'noClobber' | 'dryRun' | 'sparse' | 'withHeaders', boolean>>,
): void {
  if (!given.recursive) throw new UsageError('--tar applies to trees', { hint: 'add -r' });
  for (const name of ['continue', 'noClobber', 'dryRun', 'sparse', 'withHeaders'] as const)
    if (given[name]) throw createContradiction('--tar', `--${kebab(name)}`);
}

async function findRoots({ storage }: Context, sources: readonly RemotePath[], atTop: boolean): Promise<PackRoot[]> {
  const owners = new Map<string, RemotePath>();
  const roots: PackRoot[] = [];
  for (const path of sources) {
    const found = await requireThere(storage, path);
    if (atTop && found.type === 'object') throw new UsageError(`-T: ${printRemotePath(path)} is an object, not a directory`);
    const name = atTop ? '' : baseName(path);
    const other = owners.get(name);
    if (other) throw new UsageError(`${printRemotePath(other)} and ${printRemotePath(path)} would both be ${name} in the archive`);
    owners.set(name, path);
    roots.push({ path, type: found.type, name });
  }
  return roots;
}

/** Writes trees and objects to stdout as one archive. */
export async function getTar(context: Context, sources: readonly RemotePath[], options: TarValues): Promise<Output> {
  const { world } = context;
  if (world.stdout.isTerminal)
    throw new UsageError('--tar: an archive cannot be written to a terminal', { hint: 'redirect it to a file: ... > FILE' });
  if (options.noTargetDirectory && sources.length > 1) throw new UsageError('-T takes a single source');
  const roots = await findRoots(context, sources, options.noTargetDirectory);
  const filter = await readFilter(context, options);
  const display = await monitorTransfers(context, options);
  const engine = createEngine(context, options, { bulk: true, inOrder: true, monitor: display.monitor });
  const tally = createTally({ world, fail: (error, item) => display.pause(() => context.fail(error, item)) });
  async function* pack(): AsyncGenerator<Uint8Array> {
    try {
      yield* packTrees(engine, roots, { filter, onError: tally.fail, attempt: tally.attempt });
    } finally {
      display.close(tally.failed);
    }
    tally.finish();
  }
  return bytes(pack());
}
