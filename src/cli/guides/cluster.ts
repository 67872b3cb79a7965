import { alertRules, scrapeConfiguration } from './cluster-alerts.ts';
import * as files from './cluster-files.ts';
import { growth } from './cluster-growth.ts';
import type { Guide } from './guide.ts';

/** The services on PostgreSQL, for more than one machine. */
export const cluster: Guide = {
  page: 'cloud-cluster',
  topic: 'cluster',
  summary: 'the services on PostgreSQL behind a balancer, for a team',
  sections: [
    {
      title: 'Description',
      blocks: [
        '`cloud local` is one process with its data beside it. `cloud server` runs the same services, unchanged for every client, on engines that an operator has already: PostgreSQL for metadata, and for contents a folder or any store that speaks the S3 protocol. A gateway keeps nothing itself.',
        {
          lines: [
            '                clients',
            '                   |  TLS',
            '                haproxy            TCP pass-through, health checks',
            '                 |   |',
            '         gateway 1   gateway 2     both services; nothing is kept here',
            '            |    \\   /    |',
            '            |     \\ /     |',
            '            |      X      |',
            '            |     / \\     |',
            '        PostgreSQL   contents      a folder that all share, or a bucket',
          ],
        },
        'Any number of gateways serve one database and one place of contents. They find each other in the database, where each says every 5 seconds that it is alive. One that could not for 15 seconds, because it was frozen or cut off, commits nothing of what it began before, and goes on under a new lease.',
      ],
    },
    {
      title: 'Try it on one machine',
      blocks: [
        'On Debian 12, as a user who is not root. The packages start a PostgreSQL and a haproxy of Debian, which are not used here.',
        { lines: ['sudo apt-get install postgresql-15 haproxy', 'ssh-keygen -t rsa -f ~/.ssh/id_rsa   # unless there is one'] },
        'Everything is put into the folder `$DIR`, and listens on this machine alone.',
        { lines: files.trialVariables },
        'Five commands: PostgreSQL, its tables and an account, two gateways, and haproxy.',
        { lines: files.trialCommands },
        'The log of each gateway says where it serves, when it does:',
        { lines: files.trialLook },
        'Then the services are those of the account `demo`:',
        { lines: files.trialUse },
        'To end it and remove everything:',
        { lines: files.trialEnd },
      ],
    },
    {
      title: 'Database',
      blocks: [
        'A database whose encoding is UTF8, and a user who owns it. The tests of this program run on PostgreSQL 15. `cloud server migrate` makes the tables. Run it once before the first gateway and once before each update.',
        {
          lines: [
            'sudo -u postgres createuser --pwprompt cloud',
            'sudo -u postgres createdb --owner cloud --encoding UTF8 --template template0 cloud',
            'cloud server migrate --database-file /etc/cloud/database',
          ],
        },
        'The file holds the URL, such as `postgresql://cloud:PASSWORD@db.example.com/cloud`, and is readable for its user alone. A password in `--database` is refused, because every user of the machine could read it; the variable `CLOUD_SERVER_DATABASE` and the file that `PGPASSFILE` names serve too. What was acknowledged is as safe as PostgreSQL makes it: leave `fsync` and `synchronous_commit` on, and where a machine may be lost, let the primary wait for a standby (`synchronous_standby_names`). A gateway has one address of the database: after a failover it must lead to the new primary, by a virtual address, haproxy or pgbouncer. A pooler that shares connections by transactions needs `ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout`, and delivers no notices: new tasks are then found by asking, about once a second. Statements are not prepared by name behind one that does not keep them (`max_prepared_statements` of pgbouncer).',
      ],
    },
    {
      title: 'Contents',
      blocks: [
        'Objects of up to 16 KiB stand in the database. Others are files below the folder that `--bytes file:///DIR` names: gateways on several machines need a file system that all of them mount, such as NFS version 4 or CephFS, in which `fsync` is honoured; the tests run on a local one. The first gateway puts a file `.cloud-bytes` there, whose id the database knows, and where that is missing none starts: so a file system that is not mounted yet is not written to by way of its mount point. The contents may also be objects in a bucket, which has to be there:',
        { lines: ['--bytes "s3://BUCKET?endpoint=https://s3.example.com&region=eu-1" --bytes-credentials /etc/cloud/s3'] },
        'The file has the key pair as AWS tools write it, in a section `[default]` with `aws_access_key_id` and `aws_secret_access_key`, and is readable for its user alone; the environment serves too (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`). Of the store no more is asked than PUT, GET of ranges, DELETE, listings and multipart uploads; the tests run on Ceph and on Swift. What a gateway or worker that is killed leaves there, contents that no object names and multipart uploads that are unfinished, is removed when it is an hour older than all that runs; where the key pair may not list multipart uploads, let a lifecycle rule of the bucket abort those that are older than a day. Contents are written once and never changed. What was overwritten or deleted is removed by one of the gateways at a time, when none of them reads it any more and `--keep-garbage` is over.',
      ],
    },
    {
      title: 'Gateways',
      blocks: [
        'In `/etc/systemd/system/cloud-gateway.service` on each machine:',
        { lines: files.gatewayUnit },
        { lines: ['sudo systemctl enable --now cloud-gateway', 'journalctl -u cloud-gateway -o cat | head'] },
        'With `-j` the log is lines of JSON, of which the first says where it serves. SIGTERM ends a gateway in order: requests under way are finished first. The public URLs are those that clients use, through the balancer; the certificate has to be good for their host, and is the same on all gateways. Jobs run commands of users, so that they are off where others reach a gateway; `--allow-jobs` switches them on, in a sandbox.',
        'The admin port tells how a gateway does, over plain HTTP: `/--live` while the process answers, `/--ready` while it should get requests, `/--metrics` for Prometheus. It is not for clients: let only the balancer and the monitoring reach it. Neither of the first two asks the database: while that is away, clients get 503 with `Retry-After` instead of connections that break.',
      ],
    },
    {
      title: 'Workers',
      blocks: [
        'Gateways that are started with `--no-jobs` accept jobs, and leave their tasks to workers: processes on any machines that reach the database and the contents. They share the tasks of all jobs; start one more, and it takes its part. Notices of PostgreSQL wake them when there is something to do; as a notice may be lost, they also ask once a second.',
        { lines: ['cloud server worker --database-file /etc/cloud/database --bytes file:///srv/cloud --require-isolation -j'] },
        'In `/etc/systemd/system/cloud-worker.service`:',
        { lines: files.workerUnit },
        'A task whose worker is lost is done by another about 15 seconds later, and what a worker that was cut off comes back with is refused. An input that ends its worker six times fails alone: after each loss it waits longer, and a worker does no other such input beside it. Accounts with tasks get the same share of the slots, and so do the jobs of each; `--account-tasks N` keeps an account from more at once, counted over all workers that have the same number. SIGTERM has a worker finish the tasks under way, for up to `--drain-timeout`, and give back the others; `TimeoutStopSec` has to be longer. It is ready (`/--ready` of the admin port) while it takes tasks; `/--metrics` counts what it did, what was refused because others had taken it, and what it took over.',
      ],
    },
    {
      title: 'Balancer',
      blocks: [
        'haproxy passes TLS through without ending it. In `/etc/haproxy/haproxy.cfg`, below `global`:',
        { lines: files.balancerConfiguration },
        'Gateways that start, end or have lost their lease are not ready, and get no new connections. `send-proxy-v2` tells them the addresses of clients, for their log and for rules with `sourceip`; gateways take that from the addresses that `--proxy-protocol-from` names, here 10.0.0.10, and from nobody else.',
      ],
    },
    {
      title: 'Kubernetes',
      blocks: [
        'An example to start from, which this project does not run. It needs an image with Node.js and this program, whose entry point is `cloud`, the secrets and a volume that can be mounted by several pods (ReadWriteMany). Run `cloud server migrate` as a Job before each update.',
        { lines: files.kubernetesManifest },
      ],
    },
    {
      title: 'Accounts, images and packages',
      blocks: [
        'An account is made with its first key. Everything else its owner does: users, roles, further keys.',
        {
          lines: [
            'cloud server accounts create alice --email alice@example.com --public-key alice.pub --database-file /etc/cloud/database',
            'cloud server accounts list --database-file /etc/cloud/database',
            'cloud server accounts disable alice --database-file /etc/cloud/database',
          ],
        },
        'A disabled account, its users and its signed URLs are refused everywhere with the next request, and its jobs are cancelled; its data stays until `cloud server accounts delete`, and `enable` gives it back.',
        'What the cloud offers is one document, here `cloud.yaml`: datacenters, services, packages, public images and limits of accounts. `diff` shows what `apply` would change.',
        { lines: files.catalogue },
        {
          lines: [
            'cloud server diff cloud.yaml --database-file /etc/cloud/database',
            'cloud server apply cloud.yaml --database-file /etc/cloud/database',
          ],
        },
        'The file of an image is described by `file: { compression: gzip, sha1: ..., size: ... }`. With a `path` too, which counts from where the document is, `apply` compares the file with size and SHA-1 and stores it among the contents of the gateways: it needs `--bytes` as they have it then, and, where that is a folder, their user. A file that the cloud has is not stored again; one that nothing refers to any more goes like every other content.',
      ],
    },
    {
      title: 'Limits of accounts',
      blocks: [
        'What an account may store is limited by `--limit account-bytes=N` and `--limit account-objects=N` of the gateways, for every account, or for one account by its own limits, which every gateway knows with the next request:',
        {
          lines: [
            'cloud server accounts limit alice --bytes 100GiB --objects 1000000 --requests 100 --database-file /etc/cloud/database',
            'cloud server accounts list --database-file /etc/cloud/database',
          ],
        },
        'What would go beyond is answered 507 `NotEnoughSpace`; what makes less of it never is. Bytes are the sizes that listings show, whatever the number of copies: a link counts as an object of its size, because it keeps the content when the other name goes. Parts of an upload count as they arrive, by their bytes, so that a commit is refused for the number of objects alone. Directories are free. The numbers are kept by the database with each change. Writers that are under way at the same moment do not see each other: together they may exceed a limit by what they write. An account that is full gets no further inputs into its jobs; a task whose output does not fit fails with `NotEnoughSpaceError`, and its job goes on with the others. What the gateways have as `--limit account-bytes=N` and `account-objects=N`, for all accounts without limits of their own, workers have to be given, too. The limit of open uploads, `--limit open-uploads=N` of the gateways, is as exact: uploads that are begun at the same moment may pass it by their number.',
        'How many requests a second an account and its users may send to both services is `--requests` of the same command, or `--limit account-requests=N` of the gateways; by default any number. The gateways share it by the database, in which each takes what a tenth of a second gives: few requests wait for that, and none that is refused. As many as a second gives pass at once. What is more is answered 429 `RequestThrottled`, by the compute service 420, with `Retry-After`; `cloud` tries again by itself. Requests without a signature belong to no account.',
        'A gateway refuses with 503 and `Retry-After` what comes while it has 1000 requests under way (`--limit running-requests=N`), or uses 85 % of the memory of its container or machine, or of that of JavaScript (`--limit memory-percent=N`), before it does anything for them; those under way are finished. It stays ready all the while: a balancer that took it out would only overload the others. `/--metrics` counts what each limit refused in `cloud_requests_refused_total`.',
      ],
    },
    {
      title: 'From one machine to many',
      blocks: [
        'What a `cloud local` holds, stopped before, goes into the cluster with its accounts, keys, users, roles, images, packages and objects, uploads that are not committed yet, which clients go on with, and jobs that are done. Jobs that are not done stay behind, to be run again in the cluster: half of what a task has done cannot be gone on with elsewhere. Every content is compared when it is copied; what was interrupted goes on by the same command, and the local data stays as it is.',
        {
          lines: [
            'cloud local stop',
            'cloud server import --from ~/.local/share/cloud/local --database-file /etc/cloud/database --bytes file:///srv/cloud',
          ],
        },
      ],
    },
    {
      title: 'Look at it',
      blocks: [
        '`cloud server status` shows the gateways and how long each is still taken for alive, the version of the tables, contents that wait to be removed, and jobs. Its exit status is 1 when something is wrong, so that a timer can tell; with `--watch` it goes on, in its place at a terminal, and as a line for each change elsewhere. `cloud server collect --dry-run` lists what nothing refers to, and `--verify` looks whether every content is there.',
        { lines: ['cloud server status --database-file /etc/cloud/database'] },
      ],
    },
    {
      title: 'Alerts',
      blocks: [
        'Prometheus reads `/--metrics` of each admin port. In its `prometheus.yml`:',
        { lines: scrapeConfiguration },
        'These rules, `/etc/prometheus/cloud-alerts.yml`, say what is wrong and what to do first:',
        { lines: alertRules },
      ],
    },
    {
      title: 'Who changed what',
      blocks: [
        'Each change of keys, users, roles, policies, role tags and accounts is noted in the database, in the transaction of the change, and so is what `cloud server accounts`, `apply` and `import` did: who, by which key, from which address, under which request id, and what is there now. What was refused changes nothing and is in the log of the gateways alone, so that nobody fills the audit log from outside. Passwords, private data and signatures are never in it.',
        {
          lines: [
            'cloud server audit --account alice --since 7d --database-file /etc/cloud/database',
            'cloud server audit --follow -o jsonl --database-file /etc/cloud/database >> /var/log/cloud-audit.jsonl',
          ],
        },
        'A `cloud local` keeps no such log: `cloud local requests` shows its latest 1000 requests.',
      ],
    },
    {
      title: 'What is kept for how long',
      blocks: [
        'Gateways remove what has become too old, one of them at a time, once a minute; `--limit` of `cloud server gateway`, the same on all of them, sets other times.',
        {
          terms: [
            [
              'Changes in the audit log',
              'A year; `--limit audit-days=N`. Who needs them for longer copies them elsewhere with `--follow`.',
            ],
            [
              'Jobs that are done',
              'A year; `--limit job-days=N`. Their inputs, outputs and errors stay as files in `/ACCOUNT/jobs/ID`, which every command reads then.',
            ],
            ['Multipart uploads that nobody ends', 'Ten years; `--limit upload-days=N`. Their parts go with them.'],
            ['Contents that were overwritten or deleted', 'Until nobody reads them any more, or for `--keep-garbage`.'],
            ['Interrupted commands', '14 days, by each client on its own machine: `cloud resume`.'],
          ],
        },
      ],
    },
    {
      title: 'Sizing',
      blocks: [
        'A gateway or worker has at most 14 connections to the database, of which one waits for notices: `max_connections` of PostgreSQL has to be more than 14 for each of them, with what others use. A gateway uses one core for its services; tasks of jobs use as many as `--job-slots` says.',
      ],
    },
    growth,
    {
      title: 'Backup and restore',
      blocks: [
        'A backup is one of the database and one of the contents that fit together: each content that the database names must be among them. Contents never change, and with `--keep-garbage 7d` on every gateway what is deleted stays for a week. So dump the database first and copy the contents afterwards, while the gateways go on; a dump that is younger than that also fits the contents as they are now.',
        { lines: files.backup },
        'Of a folder of contents only `bytes` and `.cloud-bytes` are needed. To restore, stop the gateways, make an empty database, fill it, bring back the contents that are missing, and start the gateways again when `collect --verify` finds that none is missing. Contents that the restored database does not name are removed in time.',
        { lines: files.restore },
      ],
    },
    {
      title: 'Restore to a moment',
      blocks: [
        'With its archive PostgreSQL goes back to any moment since the last copy of the server, say to the one before a mistake. In `postgresql.conf`, with a restart; the folder `/backup/wal` belongs to the user of PostgreSQL:',
        { lines: files.archiveSettings },
        'Copy the server once a day, while everything goes on, as that user:',
        { lines: files.baseBackup },
        'The contents need no copy for this: what the database named at a moment is still there when it was deleted less than `--keep-garbage` ago. So that option has to be longer than the time that passes until somebody goes back, and the same on every gateway; `cloud server collect` by hand needs it too. To go back, stop gateways, workers and PostgreSQL. As the user of PostgreSQL, with the moment that is wanted:',
        { lines: files.restoreMoment },
        'Start PostgreSQL, and look whether every content is there, before the gateways start:',
        { lines: files.verifyMoment },
      ],
    },
    {
      title: 'What each operation promises',
      blocks: [
        {
          terms: [
            [
              'PUT, DELETE, metadata, links',
              'Linearizable for each path, through any gateway. What was acknowledged is on the disk: its bytes and its row. Of conditional writers exactly one wins.',
            ],
            [
              'GET, HEAD',
              'One version: ETag, size and bytes belong together, also while the object is replaced or deleted. At worst the connection breaks; other bytes never come.',
            ],
            ['Listings', 'A page is one moment. Over all pages in the order of names, what exists throughout appears exactly once.'],
            ['Directories', 'Nothing is left without its directory, and no directory is removed with something in it.'],
            ['Multipart uploads', 'A commit is atomic and may be repeated: it gives one ETag.'],
            ['Inputs of jobs', 'A request adds all of its lines or none. Lines that were acknowledged are not lost.'],
            ['Tasks of jobs', 'A task runs at least once, and its outcome is recorded exactly once, whatever is killed meanwhile.'],
            ['Accounts, keys, roles, policies', 'Current immediately on every gateway: a key that was removed is refused everywhere.'],
            ['No database', 'Requests are answered 503 with `Retry-After` within 8 seconds. Nothing is answered from memory.'],
            ['No contents', 'Metadata, listings and small objects go on. What needs a content fails with 5xx, and is as it was.'],
          ],
        },
      ],
    },
    {
      title: 'When something fails',
      blocks: [
        'What two gateways behind haproxy did with six writers and three readers, on 2026-11-23 at commit 6bdfa71, on a machine of two cores that did other work too. All that was acknowledged was read back, and no read found other bytes. The first figure counts acknowledged changes; the second is the longest time in which none was acknowledged, the third the time from the return of what had failed until each of the writers went on.',
        {
          terms: [
            ['A gateway killed', '295; 0.3 s; 0.3 s.'],
            ['PostgreSQL crashed, away for 2 s', '298; 2.5 s; 1.5 s.'],
            ['PostgreSQL failed over to a synchronous standby', '316; 0.3 s; 0.3 s.'],
            ['A gateway cut off from the database for 12 s', '945; 0.3 s; 0.4 s.'],
            ['A gateway frozen past its lease', '1279; 0.4 s; 0.4 s. A PUT that it had begun before was refused when it woke.'],
            ['The folder of contents away for 5 s', '379; 0.8 s; 0.5 s.'],
            ['The S3 store (Ceph) away for 5 s', '323; 4.9 s; 0.2 s.'],
          ],
        },
      ],
    },
    {
      title: 'Update',
      blocks: [
        'Run `cloud server migrate` of the new release first, then restart the gateways one after the other. Migration only adds, so that gateways of the release before which are running go on working. A gateway or worker that starts refuses a database that was not migrated, or that a newer release has migrated, and says what to do: so install the new release everywhere soon after the migration, since one of the release before that ends by itself does not come back.',
        'Gateways and workers may be added and removed at any time. SIGTERM has each leave in order; a client that tries again as `cloud` does loses no request. Where the balancer has room for one more gateway, start the new one first.',
      ],
    },
  ],
};
