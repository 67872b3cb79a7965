import { setTimeout as sleep } from 'node:timers/promises';
import { command, type Context } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { choice, duration, filePath, flag, folderPath, number, text, texts, type Values, withTopic } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { makeFolders } from '../../transfer/local/folders.ts';
import { readLimits } from '../local/limits.ts';
import { createGatewayLog } from './gateway-log.ts';
import { adminOptions, readAdmin } from './admin-options.ts';
import { isolationKinds } from '../../api/isolation.ts';
import { bytesOptions, readBytes } from './bytes-place.ts';
import { databaseOptions, readDatabase } from './engines.ts';
import { untilInterrupted } from '../../base/world.ts';

/** Options for the execution of tasks. */
const taskOptions = withTopic('tasks', {
  workDir: folderPath('Folder in which tasks of jobs run; that of the contents when absent, or a temporary one where they are in a bucket'),
  noJobs: flag('Leave tasks of jobs to workers'),
  isolation: choice('Sandbox for tasks of jobs; the strongest that this machine allows when absent', isolationKinds),
  jobSlots: number('Number of concurrent tasks of jobs; by default, cores', { range: [1, 1024] }),
  jobTimeLimit: duration('Longest time of a task; 1h when absent'),
});

const gatewayOptions = {
  ...databaseOptions,
  ...bytesOptions,
  computePort: number('Port of the compute service; 0: any free one', { range: [0, 65535], placeholder: 'PORT' }),
  storPort: number('Port of the object storage; 0: any free one', { range: [0, 65535], placeholder: 'PORT' }),
  host: text('Address to listen on; this machine by default', { placeholder: 'ADDRESS' }),
  tlsCert: filePath('Certificate in PEM, with those above it'),
  tlsKey: filePath('Key of the certificate, PEM'),
  tlsDir: folderPath('Folder of a certificate, made when it is empty'),
  http: flag('Without TLS'),
  ...adminOptions,
  publicUrl: text('URL by which clients reach the compute service', { placeholder: 'URL' }),
  storPublicUrl: text('URL by which clients reach the object storage', { placeholder: 'URL' }),
  proxyProtocolFrom: text('Addresses of balancers, with commas between', {
    placeholder: 'CIDR',
  }),
  drainWait: duration('Go on after SIGTERM; 5s with an admin port'),
  drainTimeout: duration('Finish requests after that; 30s by default'),
  datacenter: text('Name of the datacenter', { placeholder: 'NAME' }),
  limit: texts('Set a limit of the services; cloud help local-service lists them', { placeholder: 'NAME=N' }),
  allowJobs: flag('Run jobs although others can reach the service'),
  ...taskOptions,
  keepGarbage: duration('Keep what was overwritten or deleted'),
  noCollect: flag('Leave its removal to others'),
};

/** Milliseconds in which a load balancer notices that the gateway is not ready: two checks, 2 to 3 seconds apart. */
const usualDrainWait = 5000;
const usualDrainTimeout = 30_000;

type GatewayOptions = Values<typeof gatewayOptions>;

type Tls = { certificate: string; key: string } | { dir: string } | undefined;

/** Reads the one TLS option that is given: a certificate, a folder with a certificate, or none. */
function readTls({ world }: Context, { tlsCert, tlsKey, tlsDir, http }: GatewayOptions): Tls {
  const hint = 'give --tls-cert FILE and --tls-key FILE, or --tls-dir DIR, or --http behind what ends TLS';
  if ((tlsCert === undefined) !== (tlsKey === undefined)) throw new UsageError('--tls-cert and --tls-key belong together', { hint });
  const ways = [tlsCert !== undefined, tlsDir !== undefined, http].filter(Boolean).length;
  if (ways === 0) throw new UsageError('nothing says which certificate the services have', { hint });
  if (ways > 1) throw new UsageError('more than one way of TLS is given', { hint });
  if (tlsCert !== undefined && tlsKey !== undefined) return { certificate: resolvePath(world, tlsCert), key: resolvePath(world, tlsKey) };
  return tlsDir === undefined ? undefined : { dir: resolvePath(world, tlsDir) };
}

async function readBalancers({ proxyProtocolFrom }: GatewayOptions): Promise<((address: string) => boolean) | undefined> {
  if (proxyProtocolFrom === undefined) return undefined;
  const { readAddressRanges } = await import('../../server/http/address-ranges.ts');
  return readAddressRanges(proxyProtocolFrom.split(',').map((range) => range.trim()));
}

function checkUrl(name: string, url: string | undefined): string | undefined {
  if (url === undefined || (URL.canParse(url) && /^https?:$/u.test(new URL(url).protocol))) return url;
  throw new UsageError(`${name} ${url}: must be a URL of http or https`);
}

export const gateway = command({
  summary: 'Serve both services over PostgreSQL and a folder or bucket, in the foreground',
  description:
    'The database is made by cloud server migrate, and accounts by cloud server accounts create. Any number of gateways serve one database and one folder or bucket, with the same options: one that was frozen or cut off for 15 seconds commits nothing of what it began before. Logs go to stdout, a line for each request, with -j as lines of JSON, of which the first says where it serves. At SIGTERM or Ctrl-C it is not ready, goes on for --drain-wait, and ends when requests under way are finished; a second one ends it at once. The certificate is read again when its files change, and on SIGHUP. While the database is away, requests are answered 503 with Retry-After; while the bucket is, those that need it.\nThe admin port answers over plain HTTP /--live, /--ready (not while it starts, ends or has lost its lease) and /--metrics. Connections from --proxy-protocol-from must begin with a PROXY header, others must not: policies and the log then see the client.',
  options: gatewayOptions,
  run: async (invocation) => {
    const { options, world, global } = invocation;
    if (options.noJobs && options.allowJobs) throw new UsageError('--allow-jobs has tasks run here, and --no-jobs has them run elsewhere');
    const database = await readDatabase(invocation, options);
    const bytes = await readBytes(invocation, options);
    const workDir = options.workDir === undefined ? undefined : resolvePath(world, options.workDir);
    const tls = readTls(invocation, options);
    const isBalancer = await readBalancers(options);
    const log = createGatewayLog((line) => void world.stdout.stream.write(`${line}\n`), global.json, world.now);
    for (const folder of [bytes, workDir]) if (typeof folder === 'string') makeFolders(folder, 0o700);
    // From here on a signal shuts the gateway down gracefully.
    const interrupted = untilInterrupted(world);
    const { startGateway } = await import('../../server/gateway.ts');
    const starting = startGateway({
      database,
      bytes,
      workDir,
      tls,
      computePort: options.computePort ?? 7443,
      storPort: options.storPort ?? 7444,
      host: options.host,
      admin: readAdmin(options),
      datacenter: options.datacenter,
      isBalancer,
      publicUrl: checkUrl('--public-url', options.publicUrl),
      storPublicUrl: checkUrl('--stor-public-url', options.storPublicUrl),
      allowJobs: options.allowJobs,
      noJobs: options.noJobs,
      isolation: options.isolation,
      jobSlots: options.jobSlots,
      jobTimeLimit: options.jobTimeLimit,
      settings: { limits: true, serviceLimits: readLimits(options.limit) },
      keepGarbage: options.keepGarbage,
      collects: !options.noCollect,
      pid: world.pid,
      now: world.now,
      log: log.message,
      onRequest: log.request,
    });
    starting.catch(log.giveUp);
    const { computeUrl, storUrl, adminUrl, caFile, id, reload, drain, close } = await starting;
    world.onHangup?.(() => void reload());
    const admin = adminUrl === undefined ? '' : `, admin ${adminUrl}`;
    const first = global.json
      ? JSON.stringify({ computeUrl, storUrl, adminUrl, caFile, pid: world.pid, gateway: id })
      : `compute ${computeUrl}, object storage ${storUrl}${admin}, gateway ${id}`;
    log.begin(id, first);
    await interrupted;
    log.message('stopping');
    drain();
    await sleep(options.drainWait ?? (adminUrl === undefined ? 0 : usualDrainWait));
    await close(options.drainTimeout ?? usualDrainTimeout);
    return undefined;
  },
  examples: [
    {
      line: 'cloud server gateway --database postgresql://cloud@db.example.com/cloud --bytes file:///srv/cloud --tls-dir /srv/tls',
      help: 'On the usual ports, with a certificate made in /srv/tls',
    },
    {
      line: 'cloud server gateway --database-file /etc/cloud/database --bytes "s3://cloud?endpoint=https://s3.example.com" --bytes-credentials /etc/cloud/s3 --tls-dir /srv/tls',
      help: 'With contents in a bucket of an S3-compatible store',
    },
    {
      line: 'cloud server gateway --database-file /etc/cloud/database --bytes file:///srv/cloud --tls-cert cert.pem --tls-key key.pem --host 0.0.0.0 --public-url https://cloud.example.com --stor-public-url https://stor.example.com -j',
      help: 'For others, with a certificate of yours',
    },
  ],
});
