import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createEngine, type TestS3 } from './engine.ts';
import { findPorts } from './free-ports.ts';

/** Ceph with its S3 gateway: a monitor, one store in memory and the gateway, reached on loopback. */

const [accessKeyId, secretAccessKey] = ['cloudcloud', 'secretsecret'];

/** Waits of a cluster that has one member alone: for others that might say something too. */
const alone = `
paxos propose interval = 0.02
paxos min wait = 0.01
mon tick interval = 1
osd heartbeat interval = 1
`;

function writeSettings(folder: string, fsid: string, monitor: number, gateway: number): string {
  return `[global]
fsid = ${fsid}
mon host = v2:127.0.0.1:${monitor}
mon initial members = a
public network = 127.0.0.0/8
cluster network = 127.0.0.0/8
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
auth allow insecure global id reclaim = false
keyring = ${folder}/keyring
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon max pg per osd = 1000
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 2147483648
osd memory target = 939524096
run dir = ${folder}
admin socket =
pid file =
log file =
log to stderr = false
mon data = ${folder}/mon
osd data = ${folder}/osd
mon cluster log file = ${folder}/cluster.log
ms bind ipv6 = false
ms bind msgr1 = false
${alone}
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:${gateway}
rgw data = ${folder}/rgw
rgw enable usage log = false
rgw gc obj min wait = 60
`;
}

/** Ceph of the tests' own. */
export interface TestCeph extends TestS3 {
  /** Runs `radosgw-admin` for its user. @returns what it printed */
  administer(...words: string[]): string;
}

/** Starts it with nothing in it but one user. It ends with this process, however that dies. */
export async function startCeph(): Promise<TestCeph> {
  const engine = createEngine('cloud-ceph-');
  const { folder, run } = engine;
  const at = (name: string): string => join(folder, name);
  try {
    const monitor = await findPorts(2);
    const gateway = monitor + 1;
    const fsid = randomUUID();
    writeFileSync(at('ceph.conf'), writeSettings(folder, fsid, monitor, gateway));
    const conf = ['-c', at('ceph.conf')];
    run('mkdir', at('mon'), at('osd'), at('rgw'));
    const key = (name: string, ...caps: string[]): void => {
      run('ceph-authtool', at('keyring'), '--gen-key', '-n', name, ...caps.flatMap((cap) => ['--cap', ...cap.split('=')]));
    };
    run('ceph-authtool', '-C', at('keyring'));
    key('mon.', 'mon=allow *');
    key('client.admin', 'mon=allow *', 'osd=allow *', 'mgr=allow *');
    key('osd.0', 'mon=allow profile osd', 'osd=allow *');
    key('client.rgw', 'mon=allow rwx', 'osd=allow rwx');
    run('monmaptool', '--create', '--fsid', fsid, '--addv', 'a', `v2:127.0.0.1:${monitor}`, at('monmap'));
    run('ceph-mon', ...conf, '--mkfs', '-i', 'a', '--monmap', at('monmap'), '--keyring', at('keyring'));
    engine.start('monitor', 'ceph-mon', ...conf, '-f', '-i', 'a');
    const uuid = randomUUID();
    run('ceph', ...conf, 'osd', 'new', uuid);
    run('ceph-osd', ...conf, '-i', '0', '--mkfs', '--osd-uuid', uuid);
    engine.start('store', 'ceph-osd', ...conf, '-f', '-i', '0');
    engine.start('gateway', 'radosgw', ...conf, '-f', '-n', 'client.rgw');
    const endpoint = `http://127.0.0.1:${gateway}`;
    await engine.wait(async () => (await fetch(endpoint)).ok);
    const administer = (...words: string[]): string => run('radosgw-admin', ...conf, '-n', 'client.rgw', ...words, '--uid=cloud');
    administer('user', 'create', '--display-name=cloud', `--access-key=${accessKeyId}`, `--secret-key=${secretAccessKey}`);
    const credentials = { accessKeyId, secretAccessKey };
    return { endpoint, region: 'us-east-1', credentials, administer, stop: () => engine.stop() };
  } catch (error) {
    await engine.stop();
    throw error;
  }
}
