import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { createEngine, type TestS3 } from './engine.ts';
import { findPorts } from './free-ports.ts';

/** OpenStack Swift with its S3 interface, one process of each kind, its data in a temporary folder, reached on loopback. */

const [accessKeyId, secretAccessKey] = ['cloud:cloud', 'secretsecret'];

const kinds = ['account', 'container', 'object'] as const;

/** What all four servers have. Without workers a server answers by itself: a worker would outlive it. */
function describeServer(folder: string, port: number): string {
  // As root the programs are started for nobody.
  const user = process.getuid?.() === 0 ? 'nobody' : userInfo().username;
  return `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = ${user}
swift_dir = ${folder}
devices = ${folder}/devices
mount_check = false
disable_fallocate = true
log_address = ${folder}/none
log_level = ERROR
`;
}

function describeStorage(kind: (typeof kinds)[number], folder: string): string {
  return `[pipeline:main]
pipeline = ${kind}-server
[app:${kind}-server]
use = egg:swift#${kind}
fallocate_reserve = 0
recon_cache_path = ${folder}
`;
}

function describeProxy(cache: number): string {
  return `[pipeline:main]
pipeline = catch_errors cache s3api tempauth container_quotas slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:${cache}
[filter:s3api]
use = egg:swift#s3api
s3_acl = false
location = us-east-1
check_bucket_owner = false
[filter:tempauth]
use = egg:swift#tempauth
user_cloud_cloud = ${secretAccessKey} .admin
[filter:container_quotas]
use = egg:swift#container_quotas
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
`;
}

/** Where each kind of server is: what swift-ring-builder does in nine runs, each of which loads all of Python's libraries again. */
const makeRings = `
import sys
from swift.common.ring import RingBuilder
for at, kind in enumerate(${JSON.stringify(kinds)}):
    port = int(sys.argv[1]) + at
    builder = RingBuilder(4, 1, 1)
    place = {'ip': '127.0.0.1', 'port': port, 'replication_ip': '127.0.0.1', 'replication_port': port}
    builder.add_dev({**place, 'region': 1, 'zone': 1, 'device': 'one', 'weight': 1, 'meta': ''})
    builder.rebalance()
    builder.get_ring().save(kind + '.ring.gz')
`;

export interface TestSwift extends TestS3 {
  /** Limits the bytes of a bucket from now on; what has been counted so far is counted again. */
  limitBytes(bucket: string, bytes: number): Promise<void>;
}

/** Limits a bucket by Swift's own interface: that of S3 cannot. */
async function limitBucket(endpoint: string, bucket: string, bytes: number): Promise<void> {
  const opened = await fetch(`${endpoint}/auth/v1.0`, { headers: { 'x-auth-user': accessKeyId, 'x-auth-key': secretAccessKey } });
  const headers = { 'x-auth-token': opened.headers.get('x-auth-token') ?? '', 'x-container-meta-quota-bytes': String(bytes) };
  const changed = await fetch(`${opened.headers.get('x-storage-url')}/${bucket}`, { method: 'POST', headers });
  if (!changed.ok) throw new Error(`${bucket} cannot be limited: ${changed.status} ${await changed.text()}`);
}

/** Starts it with nothing in it. It ends with this process, however that dies. */
export async function startSwift(): Promise<TestSwift> {
  const engine = createEngine('cloud-swift-');
  const { folder, run } = engine;
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  try {
    const first = await findPorts(kinds.length + 2);
    const [proxy, cache] = [first + kinds.length, first + kinds.length + 1];
    run('mkdir', '-p', join(folder, 'devices/one'));
    write(
      'swift.conf',
      '[swift-hash]\nswift_hash_path_suffix = test\nswift_hash_path_prefix = test\n[storage-policy:0]\nname = one\ndefault = yes\n',
    );
    run('/usr/bin/python3', '-c', makeRings, String(first));
    for (const [index, kind] of kinds.entries()) {
      const port = first + index;
      write(`${kind}.conf`, describeServer(folder, port) + describeStorage(kind, folder));
      engine.start(kind, `swift-${kind}-server`, join(folder, `${kind}.conf`));
    }
    write('proxy.conf', describeServer(folder, proxy) + describeProxy(cache));
    engine.start('memcached', 'memcached', '-l', '127.0.0.1', '-p', String(cache), '-m', '64');
    engine.start('proxy', 'swift-proxy-server', join(folder, 'proxy.conf'));
    const endpoint = `http://127.0.0.1:${proxy}`;
    // Whatever they answer: the proxy gives up servers that it does not reach for a minute.
    const addresses = [...kinds.map((_, index) => `http://127.0.0.1:${first + index}`), endpoint];
    for (const address of addresses) await engine.wait(async () => (await fetch(address)).status > 0);
    return {
      endpoint,
      region: 'us-east-1',
      credentials: { accessKeyId, secretAccessKey },
      limitBytes: (bucket, bytes) => limitBucket(endpoint, bucket, bytes),
      stop: () => engine.stop(),
    };
  } catch (error) {
    await engine.stop();
    throw error;
  }
}
