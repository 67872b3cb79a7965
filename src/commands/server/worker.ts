import { command } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { choice, duration, flag, folderPath, number, text, texts } from '../../cli/parameters.ts';
import { writeLimitName, type LimitName, type LimitValues } from '../../api/service-limits.ts';
import { UsageError } from '../../base/errors.ts';
import { makeFolders } from '../../transfer/local/folders.ts';
import { readLimits } from '../local/limits.ts';
import { adminOptions, readAdmin } from './admin-options.ts';
import { isolationKinds } from '../../api/isolation.ts';
import { bytesOptions, readBytes } from './bytes-place.ts';
import { databaseOptions, readDatabase } from './engines.ts';
import { untilInterrupted } from '../../base/world.ts';

/** Milliseconds that running tasks have to finish at the end. */
const defaultPatience = 30_000;

/** Limits of the services that apply to a worker. */
const known: readonly LimitName[] = ['accountBytes', 'accountObjects'];

/** Reads `--limit`. @throws {UsageError} for a limit that does not apply to a worker */
function readWorkerLimits(texts: readonly string[]): LimitValues {
  const limits = readLimits(texts);
  const other = (Object.keys(limits) as LimitName[]).find((name) => !known.includes(name));
  if (other === undefined) return limits;
  throw new UsageError(`--limit ${writeLimitName(other)}: a worker has ${known.map(writeLimitName).join(' and ')} alone`);
}

export const worker = command({
  summary: 'Do tasks of jobs for the gateways of a database, in the foreground',
  description:
    'Any number of workers, on any machines that reach the database and the contents, share the tasks of all jobs; gateways do tasks too unless they are started with --no-jobs. A task whose worker is lost is done by another, and what a worker that was cut off comes back with is refused, so that each outcome counts once. An input that ends its worker six times fails, and no other with it. Accounts that have tasks get the same share of the slots, and so do the jobs of each; --account-tasks, or --limit account-tasks=N of gateways that do tasks, keeps an account from more at once: all have to be started with the same number. A task whose output does not fit into the limits of its account fails. Tasks run in a sandbox, or not at all unless --isolation none says so.\nLogs go to stdout, with -j as lines of JSON, of which the first names the worker. SIGTERM or Ctrl-C ends it: it takes no further task, lets those under way finish, and gives back the others. The admin port answers over plain HTTP /--live, /--ready (while it takes tasks) and /--metrics.',
  options: {
    ...databaseOptions,
    ...bytesOptions,
    workDir: folderPath('Folder in which tasks run; that of the contents when absent'),
    slots: number('Number of concurrent tasks; by default, cores', { range: [1, 1024] }),
    accountTasks: number('Maximum number of concurrent tasks of an account, counted over all workers and gateways; no limit when absent', {
      range: [1, 1_000_000],
    }),
    limit: texts('Set account-bytes or account-objects, for outputs of tasks, as gateways have them', { placeholder: 'NAME=N' }),
    isolation: choice('Sandbox for tasks; the strongest that this machine allows when absent', isolationKinds),
    requireIsolation: flag('Refuse to start without a sandbox'),
    timeLimit: duration('Longest time of a task; 1h when absent'),
    ...adminOptions,
    drainTimeout: duration('Longest time to finish at the end; 30s if absent'),
    storPublicUrl: text('URL of the object storage that tasks are told; that of the gateways when absent', { placeholder: 'URL' }),
  },
  run: async (invocation) => {
    const { options, world, global } = invocation;
    const database = await readDatabase(invocation, options);
    const bytes = await readBytes(invocation, options);
    const { isolation, requireIsolation, slots, accountTasks, timeLimit, storPublicUrl: storUrl, drainTimeout = defaultPatience } = options;
    if (requireIsolation && isolation === 'none')
      throw new UsageError('--isolation none is no isolation, and --require-isolation is given');
    const serviceLimits = readWorkerLimits(options.limit);
    const workDir = options.workDir === undefined ? undefined : resolvePath(world, options.workDir);
    for (const folder of [bytes, workDir]) if (typeof folder === 'string') makeFolders(folder, 0o700);
    const write = (line: string): void => void world.stdout.stream.write(`${line}\n`);
    const known: { worker?: string } = {};
    const log = (message: string): void => {
      const time = new Date(world.now()).toISOString();
      write(global.json ? JSON.stringify({ time, message, ...known }) : `${time} ${message}`);
    };
    // From here on a signal shuts the worker down gracefully.
    const interrupted = untilInterrupted(world);
    const { startWorker } = await import('../../server/worker.ts');
    const { now, pid } = world;
    const given = { database, bytes, workDir, slots, accountTasks, isolation, requireIsolation, timeLimit, storUrl, serviceLimits };
    const started = await startWorker({ ...given, admin: readAdmin(options), pid, now, log });
    const { id, adminUrl, isolation: kind } = started;
    known.worker = id;
    if (global.json) write(JSON.stringify({ worker: id, pid, isolation: kind, adminUrl }));
    else log(`worker ${id}, isolation ${kind}${adminUrl === undefined ? '' : `, admin ${adminUrl}`}`);
    await interrupted;
    log('stopping');
    await started.close(drainTimeout);
    return undefined;
  },
  examples: [
    {
      line: 'cloud server worker --database postgresql://cloud@db.example.com/cloud --bytes file:///srv/cloud --require-isolation',
      help: 'As many tasks at once as there are cores, in a sandbox or not at all',
    },
    {
      line: 'cloud server worker --database-file /etc/cloud/database --bytes "s3://cloud?endpoint=https://s3.example.com" --bytes-credentials /etc/cloud/s3 --slots 16 -j',
      help: 'With contents in a bucket, logs as JSON',
    },
  ],
});
