import {
  balancerConfiguration,
  gatewayUnit,
  kubernetesManifest,
  trialCommands,
  trialEnd,
  trialLook,
  trialUse,
  trialVariables,
} from './cluster-files.ts';
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
        '`cloud local` is one process with its data beside it. `cloud server` runs the same services, unchanged for every client, on engines that an operator has already: PostgreSQL for metadata, and a folder for contents. A gateway keeps nothing itself.',
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
            '        PostgreSQL   contents      file:///srv/cloud, shared by all',
          ],
        },
        'One gateway serves a database at a time in this release. Another one is refused while the first is alive, and takes its place when it has stopped, or at most 15 seconds after it was killed: two machines whose service manager starts the gateway again and again take over from each other.',
      ],
    },
    {
      title: 'Try it on one machine',
      blocks: [
        'On Debian 12, as a user who is not root. The packages start a PostgreSQL and a haproxy of Debian, which are not used here.',
        { lines: ['sudo apt-get install postgresql-15 haproxy', 'ssh-keygen -t rsa -f ~/.ssh/id_rsa   # unless there is one'] },
        'Everything is put into the folder `$DIR`, and listens on this machine alone.',
        { lines: trialVariables },
        'PostgreSQL, its tables and an account, a gateway, and haproxy:',
        { lines: trialCommands },
        'The log of a gateway says when and where it serves:',
        { lines: trialLook },
        'Then the services are those of the account `demo`:',
        { lines: trialUse },
        'To end it and remove everything:',
        { lines: trialEnd },
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
        'The file holds the URL, such as `postgresql://cloud:PASSWORD@db.example.com/cloud`, and is readable for its user alone. A password in `--database` is refused, because every user of the machine could read it; the variable `CLOUD_SERVER_DATABASE` and the file that `PGPASSFILE` names serve too. What was acknowledged is as safe as PostgreSQL makes it: leave `fsync` and `synchronous_commit` on, and where a machine may be lost, let the primary wait for a standby (`synchronous_standby_names`). A gateway has one address of the database: after a failover it must lead to the new primary, by a virtual address, haproxy or pgbouncer.',
      ],
    },
    {
      title: 'Contents',
      blocks: [
        'Objects of up to 8 KiB stand in the database, others are files below the folder that `--bytes file:///DIR` names. Gateways on several machines need a file system that all of them mount, such as NFS version 4 or CephFS, in which `fsync` is honoured; the tests run on a local one.',
      ],
    },
    {
      title: 'Gateways',
      blocks: [
        'In `/etc/systemd/system/cloud-gateway.service` on each machine:',
        { lines: gatewayUnit },
        { lines: ['sudo systemctl enable --now cloud-gateway', 'journalctl -u cloud-gateway -o cat | head'] },
        'With `-j` the log is lines of JSON, of which the first says where it serves. SIGTERM ends a gateway in order: requests under way are finished first. The public URLs are those that clients use, through the balancer; the certificate has to be good for their host, and is the same on all gateways. Jobs run commands of users, so that they are off where others reach a gateway; `--allow-jobs` switches them on, in a sandbox.',
      ],
    },
    {
      title: 'Balancer',
      blocks: [
        'haproxy passes TLS through without ending it. In `/etc/haproxy/haproxy.cfg`, below `global`:',
        { lines: balancerConfiguration },
        'Gateways see the address of the balancer instead of that of the client, in their log and in rules with `sourceip`.',
      ],
    },
    {
      title: 'Kubernetes',
      blocks: [
        'An example to start from, which this project does not run. It needs an image with Node.js and this program, whose entry point is `cloud`, the secrets and a volume that can be mounted by several pods (ReadWriteMany). Run `cloud server migrate` as a Job before each update.',
        { lines: kubernetesManifest },
      ],
    },
    {
      title: 'Accounts',
      blocks: [
        'An account is made with its first key. Everything else its owner does: users, roles, further keys.',
        {
          lines: [
            'cloud server accounts create alice --email alice@example.com --public-key alice.pub --database-file /etc/cloud/database',
            'cloud server accounts list --database-file /etc/cloud/database',
          ],
        },
      ],
    },
    {
      title: 'Sizing',
      blocks: [
        'A gateway has at most 13 connections to the database: `max_connections` of PostgreSQL has to be more than 13 for each gateway, with what others use. A gateway uses one core for its services; tasks of jobs use as many as `--job-slots` says.',
      ],
    },
    {
      title: 'Backup and restore',
      blocks: [
        'A backup is one of the database and one of the contents that fit together: each content that the database names must be among them. Nothing may be removed in between, so stop the gateway for the time of the copy, or take a snapshot of both at the same moment.',
        { lines: ['pg_dump -Fc -f cloud.dump cloud', 'rsync -a --delete /srv/cloud/ backup:/srv/cloud/'] },
        'To restore, make an empty database, restore both, and start a gateway. Contents which the database does not name are removed an hour after they were written.',
        { lines: ['pg_restore --no-owner --role=cloud -d cloud cloud.dump', 'rsync -a backup:/srv/cloud/ /srv/cloud/'] },
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
            ['Accounts, keys, roles, policies', 'Current at once on every gateway: a key that was removed is refused everywhere.'],
            ['No database', 'Requests are answered 503 with `Retry-After` within 8 seconds. Nothing is answered from memory.'],
          ],
        },
      ],
    },
    {
      title: 'Update',
      blocks: [
        'Run `cloud server migrate` of the new release first, then restart the gateways one after the other. Migration only adds, so that gateways of the release before which are running go on working. A gateway that starts refuses a database that was not migrated, or that a newer release has migrated, and says what to do.',
      ],
    },
  ],
};
