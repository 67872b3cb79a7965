import { command } from '../../../cli/command.ts';
import { flag, one } from '../../../cli/parameters.ts';
import { printRemotePath, quoteRemotePath, readRemotePath } from '../../../transfer/path.ts';
import { createSnapshot } from '../../../transfer/snapshot/create.ts';
import { locateHome, splitSnapshotName } from '../../../transfer/snapshot/place.ts';
import { createTagKeeper } from '../../../transfer/tree/keep-tags.ts';
import { transferOptions } from '../transfer-options.ts';
import { runTransfers } from '../show.ts';

/** The default name of a snapshot, which sorts by time. */
function nameByTime(now: number): string {
  return new Date(now).toISOString().slice(0, 19).replaceAll(':', '-');
}

export const create = command({
  summary: 'Create a snapshot of a directory',
  description:
    'No bytes are copied: a snapshot is a manifest and snap-links. Only objects that changed since the latest snapshot of the directory are linked. Later changes of the directory do not change the snapshot. Each object is kept as it was at some moment while the snapshot was created. An interrupted snapshot is unfinished and is never used. Without @NAME, the name is the current time. Snapshots are stored in .snapshots of your stor directory.',
  arguments: { directory: one('Directory of the object storage: DIR@NAME or DIR', { values: 'path' }) },
  usage: 'DIR[@NAME]',
  options: {
    copy: flag('If the service refuses links, copy the bytes through this machine'),
    ...transferOptions,
  },
  run: async (invocation) => {
    const { args, options, account, world, note, warn } = invocation;
    const path = readRemotePath(args.directory, account);
    const { directory, name } = splitSnapshotName(path) ?? { directory: path, name: nameByTime(world.now()) };
    const home = locateHome(directory);
    const shape = { columns: ['directory', 'name', 'objects', { key: 'bytes', as: 'size' as const }, 'linked', 'kept'], id: 'name' };
    return await runTransfers(
      invocation,
      options,
      { only: true, bulk: true },
      { ...shape, fields: ['directories', 'gone', 'base'] },
      async function* ({ engine }) {
        const created = await createSnapshot(engine, home, {
          name,
          copiesThrough: options.copy,
          tags: createTagKeeper(engine.storage, warn),
        });
        const { objects, linked, gone } = created;
        const left = gone === 0 ? '' : `; ${gone} were deleted meanwhile and are not included`;
        note(`Created ${printRemotePath(directory)}@${name}: ${objects} objects, ${linked} of them new or changed${left}`);
        note(`to compare with it: cloud stor snapshot diff ${quoteRemotePath(directory)}@${name}`);
        yield created;
      },
    );
  },
  examples: [
    { line: 'cloud stor snapshot create photos@monday', help: 'Before a risky change' },
    { line: 'cloud stor snapshot create photos', help: 'With the time as the name, for a daily job' },
  ],
});
