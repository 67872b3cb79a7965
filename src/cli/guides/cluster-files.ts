/**
 * Commands and files to copy from the guide to clusters. Tests run the commands unchanged, check each file except that of Kubernetes with
 * the program that reads it, and run haproxy with haproxy.cfg.
 */

/** What runs where. */
export const diagram = [
  '                clients',
  '                   |  TLS',
  '                haproxy            TCP pass-through, health checks',
  '                 |   |',
  '         gateway 1   gateway 2     both services, stateless',
  '            |    \\   /    |',
  '            |     \\ /     |',
  '            |      X      |',
  '            |     / \\     |',
  '        PostgreSQL   contents      a shared folder, or a bucket',
];

/** Variables of the trial: a folder, the first port, and a key. */
export const trialVariables = [
  'export DIR=$HOME/cloud-try PORT=${PORT:-7443} KEY=$HOME/.ssh/id_rsa',
  'export CLOUD_SERVER_DATABASE="postgresql:///cloud?host=$DIR&user=cloud" CLOUD_SERVER_BYTES=file://$DIR/bytes',
  'export PATH=$PATH:/usr/lib/postgresql/15/bin:/usr/sbin',
];

/** Starts all but haproxy on one machine. */
export const trialCommands = [
  'mkdir -m 700 $DIR && initdb -D $DIR/db -U cloud -A trust -E UTF8 --no-locale &&',
  '  pg_ctl -D $DIR/db -l $DIR/db.log -o "-k $DIR -h \'\'" -w start && createdb -h $DIR -U cloud cloud',
  '',
  'cloud server migrate &&',
  '  cloud server accounts create demo --email demo@example.com --public-key $KEY.pub',
  '',
  'cloud server gateway --compute-port $((PORT + 10)) --stor-port $((PORT + 11)) --tls-dir $DIR/tls \\',
  '  --public-url https://localhost:$PORT --stor-public-url https://localhost:$((PORT + 1)) \\',
  '  >$DIR/gateway1.log 2>&1 & echo $! >$DIR/gateway1.pid',
  '',
  'cloud server gateway --compute-port $((PORT + 20)) --stor-port $((PORT + 21)) --tls-dir $DIR/tls \\',
  '  --public-url https://localhost:$PORT --stor-public-url https://localhost:$((PORT + 1)) \\',
  '  >$DIR/gateway2.log 2>&1 & echo $! >$DIR/gateway2.pid',
];

/** Shows the address of each gateway, once it is ready. */
export const trialLook = ['head -n 1 $DIR/gateway*.log'];

/** Starts haproxy when the gateways are ready: what it finds closed, it uses some seconds later. */
export const trialBalancer = [
  'cat >$DIR/haproxy.cfg <<END && haproxy -f $DIR/haproxy.cfg -D -p $DIR/haproxy.pid',
  'defaults',
  '  mode tcp',
  '  timeout connect 2s',
  '  timeout client 5m',
  '  timeout server 5m',
  '  option redispatch 1',
  'listen compute',
  '  bind 127.0.0.1:$PORT',
  '  server gateway1 127.0.0.1:$((PORT + 10)) check check-ssl verify none',
  '  server gateway2 127.0.0.1:$((PORT + 20)) check check-ssl verify none',
  'listen stor',
  '  bind 127.0.0.1:$((PORT + 1))',
  '  server gateway1 127.0.0.1:$((PORT + 11)) check check-ssl verify none',
  '  server gateway2 127.0.0.1:$((PORT + 21)) check check-ssl verify none',
  'END',
];

/** Connects by a profile of its own. */
export const trialUse = [
  'cloud profile create try --account demo --key-file $KEY --ca $DIR/tls/ca.pem \\',
  '  --url https://localhost:$PORT --stor-url https://localhost:$((PORT + 1))',
  'cloud --profile try ping',
];

/** Stops everything and deletes it. */
export const trialEnd = ['kill $(cat $DIR/*.pid)', 'pg_ctl -D $DIR/db -m fast stop', 'rm -r $DIR', 'cloud profile delete try --yes'];

/** `cloud.yaml`: the offerings of a cloud. */
export const catalogue = [
  'version: "1"',
  'packages:',
  '  - { name: small, memory: 1024, disk: 25600, vcpus: 1 }',
  'images:',
  '  - { name: debian-12, version: 1.0.0, os: linux, type: lx-dataset }',
];

/** `/etc/systemd/system/cloud-gateway.service` */
export const gatewayUnit = [
  '[Unit]',
  'Description=Gateway of the cloud services',
  'Wants=network-online.target',
  'After=network-online.target',
  'StartLimitIntervalSec=0',
  '',
  '[Service]',
  'User=cloud',
  'StateDirectory=cloud',
  'Environment=HOME=/var/lib/cloud',
  'LoadCredential=database:/etc/cloud/database',
  'ExecStart=/usr/bin/cloud server gateway -j --host 0.0.0.0 \\',
  '  --database-file ${CREDENTIALS_DIRECTORY}/database --bytes file:///srv/cloud \\',
  '  --tls-cert /etc/cloud/tls/cert.pem --tls-key /etc/cloud/tls/key.pem \\',
  '  --public-url https://cloud.example.com:7443 \\',
  '  --stor-public-url https://cloud.example.com:7444 \\',
  '  --admin-port 7445 --admin-host 0.0.0.0 --proxy-protocol-from 10.0.0.10 \\',
  '  --keep-garbage 7d',
  'Restart=always',
  'RestartSec=2',
  'TimeoutStopSec=60',
  'LimitNOFILE=65536',
  'NoNewPrivileges=yes',
  'ProtectSystem=strict',
  'ReadWritePaths=/srv/cloud',
  'ProtectHome=yes',
  'PrivateTmp=yes',
  'UMask=0077',
  '',
  '[Install]',
  'WantedBy=multi-user.target',
];

/** The part after `global` in `/etc/haproxy/haproxy.cfg`. */
export const balancerConfiguration = [
  'defaults',
  '  mode tcp',
  '  timeout connect 2s',
  '  timeout client 5m',
  '  timeout server 5m',
  '  option redispatch 1',
  '  balance leastconn',
  '  option httpchk GET /--ready',
  '  default-server check port 7445 inter 1s fall 2 rise 1 send-proxy-v2',
  '',
  'listen compute',
  '  bind :7443',
  '  server gateway1 10.0.0.11:7443',
  '  server gateway2 10.0.0.12:7443',
  '',
  'listen stor',
  '  bind :7444',
  '  server gateway1 10.0.0.11:7444',
  '  server gateway2 10.0.0.12:7444',
];

/** A worker under systemd. It creates sandboxes, so the unit must not restrict what they need. */
export const workerUnit = [
  '[Unit]',
  'Description=Worker for jobs of the cloud services',
  'Wants=network-online.target',
  'After=network-online.target',
  'StartLimitIntervalSec=0',
  '',
  '[Service]',
  'User=cloud',
  'StateDirectory=cloud',
  'Environment=HOME=/var/lib/cloud',
  'LoadCredential=database:/etc/cloud/database',
  'ExecStart=/usr/bin/cloud server worker -j --require-isolation \\',
  '  --database-file ${CREDENTIALS_DIRECTORY}/database --bytes file:///srv/cloud \\',
  '  --admin-port 7446 --admin-host 0.0.0.0 --drain-timeout 5m',
  'Restart=always',
  'RestartSec=2',
  'TimeoutStopSec=6min',
  'KillMode=mixed',
  'LimitNOFILE=65536',
  'UMask=0077',
  '',
  '[Install]',
  'WantedBy=multi-user.target',
];

/** A Deployment with its dependencies. */
export const kubernetesManifest = [
  'apiVersion: apps/v1',
  'kind: Deployment',
  'metadata: { name: cloud-gateway }',
  'spec:',
  '  replicas: 2',
  '  selector: { matchLabels: { app: cloud-gateway } }',
  '  template:',
  '    metadata: { labels: { app: cloud-gateway } }',
  '    spec:',
  '      terminationGracePeriodSeconds: 60',
  '      containers:',
  '        - name: gateway',
  '          image: registry.example.com/cloud:0.2.0',
  '          args: [server, gateway, -j, --host, 0.0.0.0,',
  '            --database-file, /etc/cloud/database, --bytes, "file:///srv/cloud",',
  '            --tls-cert, /etc/cloud/tls/tls.crt, --tls-key, /etc/cloud/tls/tls.key,',
  '            --public-url, "https://cloud.example.com:7443",',
  '            --stor-public-url, "https://cloud.example.com:7444",',
  '            --admin-port, "7445", --admin-host, 0.0.0.0]',
  '          ports: [{ containerPort: 7443 }, { containerPort: 7444 }, { containerPort: 7445 }]',
  '          livenessProbe: { httpGet: { port: 7445, path: /--live } }',
  '          readinessProbe: { httpGet: { port: 7445, path: /--ready } }',
  '          volumeMounts:',
  '            - { name: database, mountPath: /etc/cloud }',
  '            - { name: tls, mountPath: /etc/cloud/tls }',
  '            - { name: contents, mountPath: /srv/cloud }',
  '      volumes:',
  '        - { name: database, secret: { secretName: cloud-database, defaultMode: 0400 } }',
  '        - { name: tls, secret: { secretName: cloud-tls } }',
  '        - { name: contents, persistentVolumeClaim: { claimName: cloud-contents } }',
  '---',
  'apiVersion: v1',
  'kind: Service',
  'metadata: { name: cloud }',
  'spec:',
  '  type: LoadBalancer',
  '  selector: { app: cloud-gateway }',
  '  ports: [{ name: compute, port: 7443 }, { name: stor, port: 7444 }]',
];

/** While the services are running. */
export const backup = ['pg_dump -Fc -f cloud.dump cloud', 'cp -au /srv/cloud/bytes /srv/cloud/.cloud-bytes /backup/'];

/** Into a newly created database. */
export const restore = [
  'pg_restore --no-owner -d cloud cloud.dump',
  'cp -au /backup/bytes /backup/.cloud-bytes /srv/cloud/',
  'cloud server collect --verify --database-file /etc/cloud/database --bytes file:///srv/cloud',
  'cloud server collect --take-over --keep-garbage 7d --database-file /etc/cloud/database --bytes file:///srv/cloud',
];

/** Settings in `postgresql.conf` that archive the write-ahead log. */
export const archiveSettings = [
  'archive_mode = on',
  "archive_command = 'test ! -f /backup/wal/%f && cp %p /backup/wal/%f'",
  'archive_timeout = 60',
];

/** A base copy of the server, to which the archive is applied; made while the services are running. */
export const baseBackup = ['pg_basebackup -c fast -D /backup/base'];

/** Replaces the server by its state at a point in time; PostgreSQL must be stopped. */
export const restoreMoment = [
  'cd /var/lib/postgresql/15 && mv main main.before && cp -a /backup/base main',
  'cat >>main/postgresql.auto.conf <<END',
  "restore_command = 'cp /backup/wal/%f %p'",
  "recovery_target_time = '2026-11-23 11:00:00+00'",
  "recovery_target_action = 'promote'",
  'END',
  'touch main/recovery.signal',
];

/** After PostgreSQL has been started again. */
export const verifyMoment = [
  'cloud server collect --verify --database-file /etc/cloud/database --bytes file:///srv/cloud',
  'cloud server collect --take-over --keep-garbage 7d --database-file /etc/cloud/database --bytes file:///srv/cloud',
];
