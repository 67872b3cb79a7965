import { alertRules, scrapeConfiguration } from './cluster-alerts.ts';
import * as files from './cluster-files.ts';
import { growth } from './cluster-growth.ts';
import type { Guide } from './guide.ts';

/** The services on PostgreSQL, for more than one machine. */
export const cluster: Guide = {
  page: 'cloud-cluster',
  topic: 'cluster',
  summary: 'the services on PostgreSQL behind a load balancer, for a team',
  sections: [
    {
      title: 'Description',
      blocks: [
        '`cloud local` is one process with its own data. `cloud server` runs the same services, with no difference for clients, on infrastructure that an operator already has: PostgreSQL for metadata, and a shared folder or an S3-compatible store for object contents. Gateways are stateless.',
        { lines: files.diagram },
        'Any number of gateways can share one database and one store of contents. They find each other in the database, where each gateway renews a lease every 5 seconds. Synchronize the clocks of all machines, for example by NTP: a gateway refuses signed requests whose date differs from its clock by minutes. A gateway that could not renew its lease for 15 seconds, because it was frozen or cut off, commits nothing that it began before, and continues under a new lease.',
      ],
    },
    {
      title: 'Try it on one machine',
      blocks: [
        'On Debian 12, as a user other than root. The packages also start PostgreSQL and haproxy as services of Debian; this trial does not use them.',
        { lines: ['sudo apt-get install postgresql-15 haproxy', 'ssh-keygen -t rsa -f ~/.ssh/id_rsa   # unless you have one'] },
        'All files are in the folder `$DIR`, and everything listens on this machine only.',
        { lines: files.trialVariables },
        'Four commands start PostgreSQL, create the tables and an account, and start two gateways.',
        { lines: files.trialCommands },
        'When a gateway is ready, its log shows its addresses:',
        { lines: files.trialLook },
        'When both are, start haproxy:',
        { lines: files.trialBalancer },
        'Then connect as the account `demo`:',
        { lines: files.trialUse },
        'To stop and remove everything:',
        { lines: files.trialEnd },
      ],
    },
    {
      title: 'Database',
      blocks: [
        'You need a database with the encoding UTF8 and a user who owns it. This program is tested with PostgreSQL 15. `cloud server migrate` creates the tables. Run it once before the first gateway starts and once before each update.',
        {
          lines: [
            'sudo -u postgres createuser --pwprompt cloud',
            'sudo -u postgres createdb --owner cloud --encoding UTF8 --template template0 cloud',
            'cloud server migrate --database-file /etc/cloud/database',
          ],
        },
        'The file contains the URL, such as `postgresql://cloud:PASSWORD@db.example.com/cloud`, and must be readable only by its owner, or also by its group. Write special characters of a password percent-encoded: `@` as `%40`, `#` as `%23`. A password in `--database` is rejected, because every user of the machine could read it. You can also set the variable `CLOUD_SERVER_DATABASE`, or put the password into the file that `PGPASSFILE` names.',
        'As for `psql`, `sslmode` in the URL or the variable `PGSSLMODE` decides about encryption. `prefer`, the default, encrypts if the server offers it, without checking who the server is; `require` refuses a server without encryption; `verify-ca` also checks its certificate by the authority in `sslrootcert=FILE`, and `verify-full` the name of the host too, by default with the authorities that Node.js knows. Use `verify-full` on a network that others can reach:',
        { lines: ['postgresql://cloud:PASSWORD@db.example.com/cloud?sslmode=verify-full&sslrootcert=/etc/cloud/database-ca.pem'] },
        'Acknowledged changes are as durable as PostgreSQL makes them: leave `fsync` and `synchronous_commit` on. To survive the loss of a machine, make the primary wait for a standby (`synchronous_standby_names`). A gateway has one database address. After a failover this address must lead to the new primary, through a virtual address, haproxy or pgbouncer.',
        'pgbouncer needs `ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout`. In transaction mode it delivers no notifications, so gateways and workers poll for new tasks about once a second. Behind a pooler that does not support named prepared statements (`max_prepared_statements` of pgbouncer), none are used.',
      ],
    },
    {
      title: 'Contents',
      blocks: [
        'Objects of up to 16 KiB are stored in the database. Larger contents are files below the folder that `--bytes file:///DIR` names. Gateways on several machines need a file system that all of them mount, such as NFS version 4 or CephFS, and that honours `fsync`; the tests use a local file system.',
        'The first gateway creates a file `.cloud-bytes` in this folder and stores its id in the database. No gateway starts when the file is missing. This prevents writes to the mount point while the file system is not mounted.',
        'Contents can also be objects in an existing bucket:',
        { lines: ['--bytes "s3://BUCKET?endpoint=https://s3.example.com&region=eu-1" --bytes-credentials /etc/cloud/s3'] },
        'The credentials file has the format of the AWS tools: a section `[default]` with `aws_access_key_id` and `aws_secret_access_key`. It must be readable only by its owner. The environment variables `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` work too. The store must support PUT, GET with ranges, DELETE, listings and multipart uploads; the tests use Ceph and Swift. The first gateway marks the bucket with an object `.cloud-bytes`, as it does a folder, and no gateway starts with another bucket. While the bucket does not respond, gateways start without this check.',
        'A gateway or worker that is killed can leave unreferenced contents and unfinished multipart uploads in the bucket. They are removed once they are an hour older than every running gateway and worker, and than the time of `--keep-garbage`. If the key pair is not allowed to list multipart uploads, add a lifecycle rule to the bucket that aborts uploads older than a day.',
        'Contents are written once and never changed. One gateway at a time removes the contents of overwritten and deleted objects, when no gateway reads them and the time of `--keep-garbage` is over. If gateways have different times, the longest applies, also for `cloud server collect`.',
      ],
    },
    {
      title: 'Gateways',
      blocks: [
        'In `/etc/systemd/system/cloud-gateway.service` on each machine:',
        { lines: files.gatewayUnit },
        { lines: ['sudo systemctl enable --now cloud-gateway', 'journalctl -u cloud-gateway -o cat | head'] },
        'With `-j` the log is JSON Lines; the first line shows the addresses. On SIGTERM a gateway finishes its requests in progress and exits; those that take longer than `--drain-timeout`, 30 seconds by default, are cut, and the log says how many. `TimeoutStopSec` must be longer than `--drain-wait` and `--drain-timeout` together. The public URLs are the URLs that clients use, through the load balancer. All gateways use the same certificate, which must be valid for the host of these URLs. Jobs run commands of users, so they are off on a gateway that other machines can reach; `--allow-jobs` turns them on, in a sandbox.',
        'The admin port serves plain HTTP: `/--live` succeeds while the process responds, `/--ready` while the gateway should receive requests, and `/--metrics` is for Prometheus. Only the load balancer and the monitoring should reach this port. A gateway is also not ready while its clock is more than a minute from the clock of the database and those of most gateways and workers are right; `cloud_clock_skew_seconds` is the difference. `/--live` and `/--ready` do not depend on the database: while the database is down, clients get 503 with `Retry-After` instead of broken connections.',
      ],
    },
    {
      title: 'Workers',
      blocks: [
        'Gateways started with `--no-jobs` accept jobs and leave the tasks to workers. Workers are processes on any machines that reach the database and the contents. They share the tasks of all jobs; to add capacity, start another worker. PostgreSQL notifications wake workers when there are tasks. Because a notification can be lost, workers also poll once a second.',
        { lines: ['cloud server worker --database-file /etc/cloud/database --bytes file:///srv/cloud --require-isolation -j'] },
        'In `/etc/systemd/system/cloud-worker.service`:',
        { lines: files.workerUnit },
        'When a worker is lost, another worker runs its tasks again about 15 seconds later. Results that a worker returns after it was cut off are rejected. After each loss the input waits longer, and the worker that runs it runs no other such input at the same time. An input that ends its worker six times fails; the other inputs continue.',
        'Accounts with tasks share the slots equally, and so do the jobs of each account. `--account-tasks N` limits the concurrent tasks of an account, counted over all workers with the same N.',
        'On SIGTERM a worker finishes its running tasks, for up to `--drain-timeout`, and gives the other tasks back; `TimeoutStopSec` must be longer. A worker is ready (`/--ready` of the admin port) while it accepts tasks. `/--metrics` counts its finished tasks, the results rejected because another worker had taken the task over, and the tasks that it took over.',
      ],
    },
    {
      title: 'Load balancer',
      blocks: [
        'haproxy passes TLS through to the gateways. In `/etc/haproxy/haproxy.cfg`, below `global`:',
        { lines: files.balancerConfiguration },
        'Gateways that start, stop or have lost their lease are not ready and get no new connections. `send-proxy-v2` sends the addresses of clients, which gateways use in the log and in rules with `sourceip`. Gateways accept this header only from the addresses that `--proxy-protocol-from` names, here 10.0.0.10.',
      ],
    },
    {
      title: 'Kubernetes',
      blocks: [
        'This example is a starting point; the tests of this project do not run it. You need an image with Node.js and this program and the entry point `cloud`, the secrets, and a volume with the access mode ReadWriteMany. Run `cloud server migrate` as a Job before each update.',
        { lines: files.kubernetesManifest },
      ],
    },
    {
      title: 'Accounts, images and packages',
      blocks: [
        'An operator creates an account with its first key. The owner of the account adds users, roles and more keys.',
        {
          lines: [
            'cloud server accounts create alice --email alice@example.com --public-key alice.pub --database-file /etc/cloud/database',
            'cloud server accounts list --database-file /etc/cloud/database',
            'cloud server accounts disable alice --database-file /etc/cloud/database',
          ],
        },
        '`disable` takes effect on all gateways with the next request: the account, its users and its signed URLs are rejected, and its jobs are cancelled. The data stays until `cloud server accounts delete`; `enable` restores access.',
        'One document, here `cloud.yaml`, describes the offerings: datacenters, services, packages, public images and account limits. `diff` shows what `apply` would change.',
        { lines: files.catalogue },
        {
          lines: [
            'cloud server diff cloud.yaml --database-file /etc/cloud/database',
            'cloud server apply cloud.yaml --database-file /etc/cloud/database',
          ],
        },
        '`file: { compression: gzip, sha1: ..., size: ... }` describes the file of an image. With a `path`, relative to the document, `apply` checks the size and SHA-1 of the file and stores it with the contents of the gateways. It then needs the same `--bytes` as the gateways, and their user when that is a folder. A file that is already stored is not stored again. Files that are no longer referenced are removed like other contents.',
      ],
    },
    {
      title: 'Account limits',
      blocks: [
        '`--limit account-bytes=N` and `--limit account-objects=N` of the gateways limit what each account may store. `cloud server accounts limit` sets other limits for one account; every gateway applies them with the next request:',
        {
          lines: [
            'cloud server accounts limit alice --bytes 100GiB --objects 1000000 --requests 100 --database-file /etc/cloud/database',
            'cloud server accounts list --database-file /etc/cloud/database',
          ],
        },
        'A write that would exceed a limit fails with 507 `NotEnoughSpace`. Deleting and shrinking always work. Bytes are the sizes that listings show, regardless of the number of copies. A link counts as an object of its size, because it keeps the contents when the other name is deleted. The parts of an upload count by their bytes as they arrive, so that a commit can fail only because of the number of objects. Directories are free. The database updates the numbers with each change. Concurrent writers do not see each other: together they can exceed a limit by what they write.',
        'A full account can add no inputs to its jobs. A task whose output does not fit fails with `NotEnoughSpaceError`, and its job continues with the other tasks. Give workers the same `--limit account-bytes=N` and `account-objects=N` as the gateways, for accounts without their own limits. The limit of open uploads, `--limit open-uploads=N` of the gateways, has the same precision: uploads that start concurrently can exceed it by their number.',
        '`--requests` of the same command, or `--limit account-requests=N` of the gateways, limits the requests per second that an account and its users may send to both services; by default there is no limit. The gateways share this limit through the database, where each of them reserves requests for a tenth of a second: few requests wait for that, and rejected requests never wait. A burst of as many requests as the limit allows in a second passes. Requests above the limit get 429 `RequestThrottled`, from the compute service 420, with `Retry-After`; `cloud` retries them. Unsigned requests count for no account.',
        'A gateway responds with 503 and `Retry-After` to new requests while it has 1000 requests in progress (`--limit running-requests=N`), or while it uses 85 % of the memory of its container or machine, or of the JavaScript heap (`--limit memory-percent=N`). It rejects them before any work and finishes the requests in progress. It stays ready, because removing it from the load balancer would only overload the others. `/--metrics` counts the rejections of each limit in `cloud_requests_refused_total`.',
      ],
    },
    {
      title: 'Import from cloud local',
      blocks: [
        'Stop `cloud local`, then import its data into the cluster: accounts, keys, users, roles, images, packages, objects, finished jobs, and uncommitted uploads, which clients can continue. Unfinished jobs are not imported, because a half-done task cannot continue elsewhere; run them again in the cluster. Every content is verified when it is copied. To continue an interrupted import, run the same command again. The local data does not change.',
        {
          lines: [
            'cloud local stop',
            'cloud server import --from ~/.local/share/cloud/local --database-file /etc/cloud/database --bytes file:///srv/cloud',
          ],
        },
      ],
    },
    {
      title: 'Status and checks',
      blocks: [
        '`cloud server status` shows the gateways with the time until their leases expire, the version of the tables, contents that wait for removal, and jobs. Its exit status is 1 when there is a problem, so that a timer can report it. With `--watch` it keeps running: it updates the screen on a terminal, and prints a line for each change otherwise. `cloud server collect --dry-run` lists unreferenced contents, `--verify` checks that every content exists, and `--verify --checksum` also that no disk has damaged it.',
        { lines: ['cloud server status --database-file /etc/cloud/database'] },
      ],
    },
    {
      title: 'Alerts',
      blocks: [
        'Prometheus scrapes `/--metrics` of each admin port. In `prometheus.yml`:',
        { lines: scrapeConfiguration },
        'These rules in `/etc/prometheus/cloud-alerts.yml` describe each problem and what to do first:',
        { lines: alertRules },
      ],
    },
    {
      title: 'Audit log',
      blocks: [
        'The database records each change of keys, users, roles, policies, role tags and accounts in the transaction of the change, and also the changes by `cloud server accounts`, `apply` and `import`. A record has the user, the key, the address, the request id and the new state. Rejected requests are only in the log of the gateways, so that nobody can fill the audit log from outside. Passwords, private data and signatures are never recorded.',
        {
          lines: [
            'cloud server audit --account alice --since 7d --database-file /etc/cloud/database',
            'cloud server audit --follow -o jsonl --database-file /etc/cloud/database >> /var/log/cloud-audit.jsonl',
          ],
        },
        '`cloud local` has no audit log; `cloud local requests` shows its latest 1000 requests.',
      ],
    },
    {
      title: 'Retention',
      blocks: [
        'One gateway at a time removes expired data, once a minute, by the clock of the database. To change these times, give `--limit` to `cloud server gateway`, with the same value on all gateways.',
        {
          terms: [
            ['Changes in the audit log', 'A year; `--limit audit-days=N`. To keep them longer, copy them elsewhere with `--follow`.'],
            [
              'Finished jobs',
              'A year; `--limit job-days=N`. Their inputs, outputs and errors stay as files in `/ACCOUNT/jobs/ID`, which every command then reads.',
            ],
            ['Unfinished multipart uploads', '30 days after their last part; `--limit upload-days=N`. Their parts are removed with them.'],
            [
              'Finished multipart uploads',
              '30 days; `--limit finished-upload-days=N`. Their objects stay; until then a commit or an abort can be repeated.',
            ],
            ['Contents of overwritten and deleted objects', 'Until nobody reads them, or for the time of `--keep-garbage`.'],
            ['Interrupted commands', '14 days, on the machine of each client: `cloud resume`.'],
          ],
        },
      ],
    },
    {
      title: 'Sizing',
      blocks: [
        'A gateway or worker opens at most 14 connections to the database, one of them for notifications. Set `max_connections` of PostgreSQL above 14 for each of them plus the connections of other programs. A gateway uses one core for its services; tasks of jobs use as many cores as `--job-slots` sets.',
      ],
    },
    growth,
    {
      title: 'Backup and restore',
      blocks: [
        'A backup consists of the database and the contents. It must include every content that the database references. Contents never change, and with `--keep-garbage 7d` deleted contents stay for a week. So dump the database first and copy the contents afterwards, while the gateways run. A dump that is less than a week old also matches the current contents.',
        { lines: files.backup },
        'Of the folder of contents, copy only `bytes` and `.cloud-bytes`. To restore, stop the gateways, create an empty database, load the dump, and copy the missing contents back. When `collect --verify` reports that no content is missing, confirm with `--take-over` that this database now removes contents, and start the gateways. Contents that the restored database does not reference are removed when they are older than the time of `--keep-garbage`, so give it to this command too.',
        { lines: files.restore },
        'Until then nothing is removed: a file or object `.cloud-collector` beside the contents names the database that removes them. A restored database is another one, even if it has the same name, and so is a copy of the server, or a server that went back in time, once the other database has collected again; gateways collect once a minute. Such a database serves all requests, and its gateways log why they remove nothing. This protects production while a backup is tried out with the same contents. Objects that are written or deleted through the copy never affect production, but give a copy that shall live longer its own copy of the contents. A failover to a standby needs no confirmation, unless the standby lacked the latest changes.',
      ],
    },
    {
      title: 'Point-in-time recovery',
      blocks: [
        'With an archive of its write-ahead log, PostgreSQL can return to any time since the last base backup, for example to the minute before a mistake. Set this in `postgresql.conf` and restart PostgreSQL. Its user must own the folder `/backup/wal`:',
        { lines: files.archiveSettings },
        'Make a base backup once a day as that user, while everything runs:',
        { lines: files.baseBackup },
        'The contents need no copy for this, because deleted contents stay for the time of `--keep-garbage`. Set it to the longest time that you may want to go back. To recover, stop the gateways, the workers and PostgreSQL. Then, as the user of PostgreSQL, with the time that you want:',
        { lines: files.restoreMoment },
        'Start PostgreSQL. Before you start the gateways, check that every content exists. Then confirm that this database removes contents: until then none are removed, because it is older than the contents, as a copy of the server on another machine would be. On such a copy, leave out the second command.',
        { lines: files.verifyMoment },
      ],
    },
    {
      title: 'Guarantees',
      blocks: [
        {
          terms: [
            [
              'PUT, DELETE, metadata, links',
              'Linearizable for each path, through any gateway. Acknowledged bytes and metadata are on disk. Of concurrent conditional writers exactly one succeeds.',
            ],
            [
              'GET, HEAD',
              'ETag, size and bytes belong to one version, also while the object is replaced or deleted. The connection may break, but bytes of another version are never sent. Gateways do not compare checksums: bytes that a disk or the store changed are sent as they are. `cloud` and other clients that compare `Content-MD5` notice that, and `collect --verify --checksum` finds it.',
            ],
            [
              'Listings',
              'A page shows one point in time. Over all pages in the order of names, an entry that exists throughout appears exactly once.',
            ],
            ['Directories', 'No entry exists without its directory, and a directory that is not empty is never removed.'],
            ['Multipart uploads', 'A commit is atomic and may be repeated: it returns the same ETag.'],
            ['Inputs of jobs', 'A request adds all of its lines or none. Acknowledged lines are not lost.'],
            ['Tasks of jobs', 'A task runs at least once, and its outcome is recorded exactly once, whichever process is killed.'],
            ['Accounts, keys, roles, policies', 'Changes apply immediately on every gateway: a removed key is rejected everywhere.'],
            ['Database down', 'Requests get 503 with `Retry-After` within 8 seconds. No response comes from a cache.'],
            [
              'Contents unavailable',
              'Metadata, listings and small objects keep working. Requests that need other contents fail with 5xx and change nothing.',
            ],
          ],
        },
      ],
    },
    {
      title: 'Measured failures',
      blocks: [
        'Measured with two gateways behind haproxy, six writers and three readers, on 2026-11-23 at commit 6bdfa71, on a machine with two cores and other load. All acknowledged changes were read back, and no read returned wrong bytes. The three figures are: the number of acknowledged changes; the longest time without an acknowledged change; the time from the return of the failed part until every writer continued.',
        {
          terms: [
            ['A gateway killed', '295; 0.3 s; 0.3 s.'],
            ['PostgreSQL crashed, down for 2 s', '298; 2.5 s; 1.5 s.'],
            ['PostgreSQL failed over to a synchronous standby', '316; 0.3 s; 0.3 s.'],
            ['A gateway cut off from the database for 12 s', '945; 0.3 s; 0.4 s.'],
            ['A gateway frozen past its lease', '1279; 0.4 s; 0.4 s. A PUT that it had begun before was rejected when it woke.'],
            ['The folder of contents unavailable for 5 s', '379; 0.8 s; 0.5 s.'],
            ['The S3 store (Ceph) unavailable for 5 s', '323; 4.9 s; 0.2 s.'],
          ],
        },
      ],
    },
    {
      title: 'Update',
      blocks: [
        'Run `cloud server migrate` of the new release first, then restart the gateways one after the other. A migration only adds to the tables, so that running gateways of the previous release keep working. A gateway or worker refuses to start on a database that was not migrated, or that a newer release has migrated, and says what to do. So install the new release everywhere soon after the migration: a gateway of the previous release that stops cannot start again.',
        'You can add and remove gateways and workers at any time. On SIGTERM each of them leaves in order; a client that retries as `cloud` does loses no request. If the load balancer has room for one more gateway, start the new one first.',
      ],
    },
  ],
};
