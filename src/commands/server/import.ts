import { UsageError } from '../../base/errors.ts';
import { command } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { text } from '../../cli/parameters.ts';
import { record } from '../../output/kinds.ts';
import { makeFolders } from '../../transfer/local/folders.ts';
import { findHolder } from '../local/holder.ts';
import { bytesOptions, readBytes } from './bytes-place.ts';
import { databaseOptions, readDatabase } from './engines.ts';

/** Milliseconds between two progress messages. */
const pause = 2000;

const columns = ['accounts', 'users', 'keys', 'roles', 'policies', 'images', 'objects', 'bytes'];

export const importData = command({
  fields: [...columns, 'packages', 'entries', 'jobs', 'uploads', 'jobsLeftOut', 'role_tags'],
  changes: true,
  summary: 'Import the accounts of a local service into the cluster',
  description:
    'Reads the data directory of a stopped cloud local and changes nothing there. It imports accounts with users, keys, roles, policies, role tags and limits; packages; images with their files; directories, objects, links and multipart uploads, including uncommitted ones; and finished jobs. The size and MD5 of every content are checked when it is copied, and everything else is counted at the end; until then nobody can use the accounts. To continue an interrupted import, run the same command again. Accounts whose login exists are rejected.\nUnfinished jobs are not imported, and each is reported: run them again in the cluster.',
  options: {
    ...databaseOptions,
    ...bytesOptions,
    from: text('Data directory of the local service', { placeholder: 'DATA_DIR', values: 'directory' }),
  },
  run: async (invocation) => {
    const { options, world, note } = invocation;
    if (options.from === undefined)
      throw new UsageError('no data directory is given', { hint: 'give --from DATA_DIR; cloud local status shows it' });
    const dataDir = resolvePath(world, options.from);
    const holder = findHolder(dataDir);
    if (holder !== undefined) {
      throw new UsageError(`${dataDir} is in use by a cloud local (process ${holder})`, { hint: 'stop it first: cloud local stop' });
    }
    const database = await readDatabase(invocation, options);
    const bytes = await readBytes(invocation, options);
    if (typeof bytes === 'string') makeFolders(bytes, 0o700);
    const { importData } = await import('../../server/cluster/import/index.ts');
    let told = world.now();
    const imported = await importData({
      dataDir,
      database,
      bytes,
      pid: world.pid,
      now: world.now(),
      signal: world.interrupted,
      note,
      onProgress: (entries, of) => {
        if (world.now() < told + pause) return;
        told = world.now();
        note(`${entries} of ${of} directories and objects`);
      },
    });
    note(`Imported ${imported.accounts.join(', ')}: ${imported.objects} objects, ${imported.bytes} bytes, all verified by size and MD5`);
    return record({ ...imported }, { id: 'accounts', columns });
  },
  examples: [
    {
      line: 'cloud server import --from ~/.local/share/cloud/local --database-file /etc/cloud/database --bytes file:///srv/cloud',
      help: 'Import the local service of this user; run cloud local stop first',
    },
    {
      line: 'cloud server import --from ./data --database-file /etc/cloud/database --bytes file:///srv/cloud -j',
      help: 'Another data directory; print the result as JSON',
    },
  ],
});
