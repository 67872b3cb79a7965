import { command, type Context } from '../../cli/command.ts';
import { duration, flag } from '../../cli/parameters.ts';
import { createContradiction, exitCodes, PartialError, UsageError } from '../../base/errors.ts';
import { record, records, type Output } from '../../output/kinds.ts';
import { bytesOptions, readBytes, type BytesPlace } from './bytes-place.ts';
import { databaseOptions, readDatabase } from './engines.ts';
import { countOf } from '../../base/count.ts';

/** Where a cluster keeps its data. */
interface Place {
  readonly database: string;
  readonly bytes: BytesPlace;
}

/** Checks all contents that objects refer to; yields lost ones as rows, and throws at the end if any is lost. */
async function verify({ note }: Pick<Context, 'note'>, place: Place, checksum: boolean): Promise<Output> {
  const { findLostContents } = await import('../../server/cluster-contents.ts');
  async function* rows(): AsyncGenerator<object> {
    let [checked, lost] = [0, 0];
    for await (const damage of findLostContents(place, () => (checked += 1), checksum)) {
      lost += 1;
      yield damage;
    }
    note(`Checked ${countOf(checked, 'content')}`);
    if (lost === 0) return;
    throw new PartialError(`${countOf(lost, 'content')} of ${checked} cannot be read`, {
      allFailed: exitCodes.failed,
      hint: 'restore the contents from a backup, or delete these objects',
    });
  }
  return records(rows(), { id: 'path', columns: ['path', 'problem', { key: 'content', long: true }] });
}

export const collect = command({
  summary: 'Remove unreferenced contents, or check that all others exist',
  description:
    'Gateways do this automatically, one of them at a time. Contents of overwritten and deleted objects are removed when no gateway runs a request that began earlier; contents that a crash left, when they are an hour older than that. Contents stay for --keep-garbage, or for the longest time that a running gateway keeps them. A database that was restored, or copied, removes nothing until --take-over confirms that no other database uses the contents. --verify removes nothing: it reads the end of every content that an object or an image refers to, and exits with 1 if any is missing or too short. With --checksum it reads all of them and compares their MD5, for images their SHA-1, to find contents that a disk has damaged.',
  options: {
    ...databaseOptions,
    ...bytesOptions,
    keepGarbage: duration('Keep overwritten and deleted contents for this time, or for that of the gateways if it is longer', {
      needsUnit: true,
    }),
    takeOver: flag('Confirm that no other database uses these contents, after a restore for example'),
    dryRun: flag('Only list what would be removed', { short: 'n' }),
    verify: flag('Check that the contents of all objects exist'),
    checksum: flag('With --verify: read all contents and compare their MD5'),
  },
  run: async (invocation) => {
    const { options, world, note } = invocation;
    const { dryRun, takeOver, keepGarbage: keep } = options;
    if (options.checksum && !options.verify) throw new UsageError('--checksum needs --verify');
    if (options.verify && (dryRun || keep !== undefined))
      throw new UsageError('--verify removes nothing', { hint: 'leave out --dry-run and --keep-garbage' });
    if (takeOver && options.verify) throw createContradiction('--take-over', '--verify');
    if (takeOver && dryRun) throw createContradiction('--take-over', '--dry-run');
    const place = { database: await readDatabase(invocation, options), bytes: await readBytes(invocation, options) };
    if (options.verify) return verify(invocation, place, options.checksum);
    const { collectContents } = await import('../../server/cluster-contents.ts');
    const { removed, orphans, waiting, horizon, gone } = await collectContents(place, {
      keep,
      dryRun,
      takeOver,
      signal: world.interrupted,
    });
    const others =
      waiting === 0 ? '' : `; ${countOf(waiting, 'content')} wait${waiting === 1 ? 's' : ''} for readers or for the end of --keep-garbage`;
    note(`${dryRun ? 'Would remove' : 'Removed'} ${countOf(removed + orphans, 'content')}${others}`);
    if (dryRun) return records(gone, { id: 'content', columns: ['content', 'why'] });
    const value = { removed, orphans, waiting, horizon: new Date(horizon).toISOString() };
    return record(value, { id: 'removed', columns: ['removed', 'orphans', 'waiting', { key: 'horizon', as: 'time' }] });
  },
  examples: [
    {
      line: 'cloud server collect --dry-run --database-file /etc/cloud/database --bytes file:///srv/cloud',
      help: 'List what would be removed',
    },
    {
      line: 'cloud server collect --verify --database-file /etc/cloud/database --bytes file:///srv/cloud -j',
      help: 'Check the contents after restoring a backup',
    },
  ],
});
