import { command, type Context } from '../../../cli/command.ts';
import { maybe } from '../../../cli/parameters.ts';
import { records, type Row } from '../../../output/kinds.ts';
import { readRemotePath } from '../../../transfer/path.ts';
import type { Engine } from '../../../transfer/engine.ts';
import { listNames, listSnapshots } from '../../../transfer/snapshot/list.ts';
import { locateHome, locateSnapshots, readHomeName, type SnapshotHome } from '../../../transfer/snapshot/place.ts';
import { createEngine } from '../engine.ts';
import { requireThere } from '../paths.ts';

async function findHomes({ account }: Context, engine: Engine): Promise<SnapshotHome[]> {
  const names = await listNames(engine, locateSnapshots(account));
  return names.flatMap((name) => {
    const directory = readHomeName(account, name);
    return directory ? [locateHome(directory)] : [];
  });
}

export const list = command({
  summary: 'List snapshots, oldest first',
  aliases: ['ls'],
  arguments: { directory: maybe('Directory; default all that have snapshots', { values: 'path' }) },
  run: async (invocation) => {
    const { args, account, storage } = invocation;
    const engine = createEngine(invocation, {}, { bulk: false });
    const home = args.directory === undefined ? undefined : locateHome(readRemotePath(args.directory, account));
    const snapshots = home && (await listSnapshots(engine, home));
    // The snapshots of a directory can outlive it.
    if (home && snapshots?.length === 0) await requireThere(storage, home.directory);
    async function* rows(): AsyncGenerator<Row> {
      if (snapshots) yield* snapshots;
      else for (const each of await findHomes(invocation, engine)) yield* await listSnapshots(engine, each);
    }
    return records(rows(), {
      columns: ['name', 'state', { key: 'created', as: 'time' }, 'objects', { key: 'bytes', as: 'size' }, 'directory'],
      id: 'name',
      fields: ['tree', 'etag'],
    });
  },
  examples: [
    { line: 'cloud stor snapshot list photos', help: 'Snapshots of a directory' },
    { line: 'cloud stor snapshot list', help: 'All snapshots of the account' },
  ],
});
