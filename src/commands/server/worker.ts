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
  throw new UsageError(`--limit ${writeLimitName(other)}: a worker accepts only ${known.map(writeLimitName).join(' and ')}`);
}

export const worker = command({
  summary: 'Run tasks of jobs for the gateways of a database, in the foreground',
  description:
    'Any number of workers share the tasks of all jobs, on any machines that reach the database and the contents. Gateways run tasks too unless they are started with --no-jobs. When a worker is lost, another runs its tasks; results of a worker that was cut off are rejected, so that each outcome counts once. An input that ends its worker six times fails; the other inputs continue. Accounts with tasks share the slots equally, and so do the jobs of each. --account-tasks, or --limit account-tasks=N of gateways that run tasks, limits the concurrent tasks of an account; give all of them the same number. A task whose output exceeds the limits of its account fails. Tasks run in a sandbox; without one they run only with --isolation none.\nLogs go to stdout, with -j as JSON Lines; a line names the worker when it accepts tasks. On SIGTERM or Ctrl-C the worker accepts no more tasks, finishes its running tasks and gives the others back. The admin port serves /--live, /--ready (while the worker accepts tasks) and /--metrics over plain HTTP.',
  options: {
    ...databaseOptions,
    ...bytesOptions,
    workDir: folderPath('Folder in which tasks run; by default that of the contents'),
    slots: number('Number of concurrent tasks; number of cores by default', { range: [1, 1024] }),
    accountTasks: number('Limit of concurrent tasks of an account, counted over all workers and gateways; unlimited by default', {
      range: [1, 1_000_000],
    }),
    limit: texts('Set account-bytes or account-objects, with the same value as gateways', { placeholder: 'NAME=N' }),
    isolation: choice('Sandbox for tasks; by default the strongest that works here', isolationKinds),
    requireIsolation: flag('Refuse to start without a sandbox'),
    timeLimit: duration('Time limit of a task; 1h by default'),
    ...adminOptions,
    drainTimeout: duration('Time to finish running tasks at the end; 30s by default'),
    storPublicUrl: text('URL of the object storage for tasks; that of the gateways by default', { placeholder: 'URL' }),
  },
  run: async (invocation) => {
    const { options, world, global } = invocation;
    const database = await readDatabase(invocation, options);
    const bytes = await readBytes(invocation, options);
    const { isolation, requireIsolation, slots, accountTasks, timeLimit, storPublicUrl: storUrl, drainTimeout = defaultPatience } = options;
    if (requireIsolation && isolation === 'none') throw new UsageError('--isolation none cannot be used with --require-isolation');
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
      help: 'As many concurrent tasks as cores, and only in a sandbox',
    },
    {
      line: 'cloud server worker --database-file /etc/cloud/database --bytes "s3://cloud?endpoint=https://s3.example.com" --bytes-credentials /etc/cloud/s3 --slots 16 -j',
      help: 'With contents in a bucket, logs as JSON',
    },
  ],
});
