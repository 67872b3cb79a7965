import { setTimeout as sleep } from 'node:timers/promises';
import { command, type Context } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { choice, duration, filePath, flag, folderPath, number, text, texts, type Values, withTopic } from '../../cli/parameters.ts';
import { createContradiction, UsageError } from '../../base/errors.ts';
import { kebab } from '../../config/settings.ts';
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
  workDir: folderPath('Folder in which tasks of jobs run; by default that of the contents, or a temporary one if they are in a bucket'),
  noJobs: flag('Leave tasks of jobs to workers'),
  isolation: choice('Sandbox for tasks of jobs; by default the strongest that works here', isolationKinds),
  jobSlots: number('Number of concurrent tasks of jobs; number of cores by default', { range: [1, 1024] }),
  jobTimeLimit: duration('Time limit of a task; 1h by default'),
});

const gatewayOptions = {
  ...databaseOptions,
  ...bytesOptions,
  computePort: number('Port of the compute service; 0: any free port', { range: [0, 65535], placeholder: 'PORT' }),
  storPort: number('Port of the object storage; 0: any free port', { range: [0, 65535], placeholder: 'PORT' }),
  host: text('Address to listen on; this machine by default', { placeholder: 'ADDRESS' }),
  tlsCert: filePath('Certificate chain in PEM format'),
  tlsKey: filePath('Key of the certificate, in PEM format'),
  tlsDir: folderPath('Folder for a certificate, created if missing'),
  http: flag('Without TLS'),
  ...adminOptions,
  publicUrl: text('URL of the compute service for clients', { placeholder: 'URL' }),
  storPublicUrl: text('URL of the object storage for clients', { placeholder: 'URL' }),
  proxyProtocolFrom: text('Addresses of load balancers, comma-separated', {
    placeholder: 'CIDR',
  }),
  drainWait: duration('Delay stop on SIGTERM; 5s with an admin port'),
  drainTimeout: duration('Time to finish requests then; 30s by default'),
  datacenter: text('Name of the datacenter', { placeholder: 'NAME' }),
  limit: texts('Set a limit of the services; see cloud help local-service', { placeholder: 'NAME=N' }),
  allowJobs: flag('Run jobs even if other machines can reach the service'),
  ...taskOptions,
  keepGarbage: duration('Keep replaced and deleted contents this long', { needsUnit: true }),
  noCollect: flag('Leave removal to other gateways'),
};

/** Milliseconds in which a load balancer notices that the gateway is not ready: two checks, 2 to 3 seconds apart. */
const usualDrainWait = 5000;
const usualDrainTimeout = 30_000;

type GatewayOptions = Values<typeof gatewayOptions>;

type Tls = { certificate: string; key: string } | { dir: string } | undefined;

/** Reads the one TLS option that is given: a certificate, a folder with a certificate, or none. */
function readTls({ world }: Context, { tlsCert, tlsKey, tlsDir, http }: GatewayOptions): Tls {
  const hint = 'give --tls-cert FILE and --tls-key FILE, or --tls-dir DIR, or --http behind a proxy that terminates TLS';
  if ((tlsCert === undefined) !== (tlsKey === undefined)) throw new UsageError('--tls-cert and --tls-key must be given together', { hint });
  const ways = [tlsCert !== undefined, tlsDir !== undefined, http].filter(Boolean).length;
  if (ways === 0) throw new UsageError('no certificate is given', { hint });
  if (ways > 1) throw new UsageError('more than one TLS option is given', { hint });
  if (tlsCert !== undefined && tlsKey !== undefined) return { certificate: resolvePath(world, tlsCert), key: resolvePath(world, tlsKey) };
  return tlsDir === undefined ? undefined : { dir: resolvePath(world, tlsDir) };
}

async function readBalancers({ proxyProtocolFrom }: GatewayOptions): Promise<((address: string) => boolean) | undefined> {
  if (proxyProtocolFrom === undefined) return undefined;
  const { readAddressRanges } = await import('../../server/http/address-ranges.ts');
  return readAddressRanges(proxyProtocolFrom.split(',').map((range) => range.trim()));
}

function checkUrl(name: string, url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  const { protocol, pathname, search, hash, username } = URL.canParse(url) ? new URL(url) : new URL('none:');
  if (/^https?:$/u.test(protocol) && pathname === '/' && `${search}${hash}${username}` === '') return url;
  throw new UsageError(`${name} ${url}: must be an http or https URL without a path`, {
    hint: `such as ${name} https://cloud.example.com`,
  });
}

/** @throws {UsageError} for options about the tasks of a gateway that runs none */
function assertJobs(options: GatewayOptions): void {
  const names = ['allowJobs', 'isolation', 'jobSlots', 'jobTimeLimit'] as const;
  const given = names.find((name) => options[name] !== undefined && options[name] !== false);
  if (options.noJobs && given !== undefined) throw createContradiction('--no-jobs', `--${kebab(given)}`);
}

export const gateway = command({
  summary: 'Serve both services from PostgreSQL and a folder or bucket, in the foreground',
  description:
    'First create the tables with cloud server migrate and accounts with cloud server accounts create. Any number of gateways can share one database and one folder or bucket, with the same options. A gateway that was frozen or cut off for 15 seconds commits nothing that it began before. Logs go to stdout, one line for each request, with -j as JSON Lines; the first line shows the addresses. On SIGTERM or Ctrl-C the gateway is not ready, keeps serving for --drain-wait, and exits when requests in progress are finished; a second signal stops it immediately. The certificate is reloaded when its files change, and on SIGHUP. While the database is down, requests get 503 with Retry-After; while the bucket is unavailable, so do requests that need it.\nThe admin port serves /--live, /--ready (fails while the gateway starts, stops or has lost its lease) and /--metrics over plain HTTP. Connections from --proxy-protocol-from must begin with a PROXY header, so that policies and the log see the address of the client; connections from elsewhere must not.',
  options: gatewayOptions,
  run: async (invocation) => {
    const { options, world, global } = invocation;
    assertJobs(options);
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
      // Most options have the same name and meaning in the gateway.
      ...options,
      database,
      bytes,
      workDir,
      tls,
      computePort: options.computePort ?? 7443,
      storPort: options.storPort ?? 7444,
      admin: readAdmin(options),
      isBalancer,
      publicUrl: checkUrl('--public-url', options.publicUrl),
      storPublicUrl: checkUrl('--stor-public-url', options.storPublicUrl),
      settings: { limits: true, serviceLimits: readLimits(options.limit) },
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
      help: 'On the default ports, with a new certificate in /srv/tls',
    },
    {
      line: 'cloud server gateway --database-file /etc/cloud/database --bytes "s3://cloud?endpoint=https://s3.example.com" --bytes-credentials /etc/cloud/s3 --tls-dir /srv/tls',
      help: 'With contents in a bucket of an S3-compatible store',
    },
    {
      line: 'cloud server gateway --database-file /etc/cloud/database --bytes file:///srv/cloud --tls-cert cert.pem --tls-key key.pem --host 0.0.0.0 --public-url https://cloud.example.com --stor-public-url https://stor.example.com -j',
      help: 'For other machines, with an existing certificate',
    },
  ],
});
