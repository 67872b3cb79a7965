import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { makeBucket } from './byte-stores.ts';
import { startCeph } from './ceph.ts';
import { runStatement, startPostgres } from './postgres.ts';

/** `npm run try:ceph`: PostgreSQL, Ceph and two gateways on this machine, until Ctrl-C. Nothing stays. */

const program = resolve('bin/cloud');
const folder = mkdtempSync(join(tmpdir(), 'cloud-try-'));
const [postgres, ceph] = await Promise.all([startPostgres(), startCeph()]);
await makeBucket({ ...ceph, bucket: 'cloud', prefix: '' });
await runStatement(postgres.url('postgres'), 'create database cloud');
const { accessKeyId, secretAccessKey } = ceph.credentials;
const env = {
  ...process.env,
  CLOUD_SERVER_DATABASE: postgres.url('cloud'),
  CLOUD_SERVER_BYTES: `s3://cloud?endpoint=${ceph.endpoint}`,
  AWS_ACCESS_KEY_ID: accessKeyId,
  AWS_SECRET_ACCESS_KEY: secretAccessKey,
};
spawnSync(program, ['server', 'migrate', '-q'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
const words = ['server', 'gateway', '--compute-port', '0', '--stor-port', '0', '--tls-dir', join(folder, 'tls'), '-j'];
const gateways = [1, 2].map(() =>
  spawn('setpriv', ['--pdeathsig', 'KILL', program, ...words], { env, stdio: ['ignore', 'pipe', 'inherit'] }),
);
for (const gateway of gateways) createInterface(gateway.stdout).once('line', (line) => void process.stdout.write(`${line}\n`));
const variables = `CLOUD_SERVER_DATABASE='${env.CLOUD_SERVER_DATABASE}'`;
process.stdout.write(`an account: ${variables} bin/cloud server accounts create NAME --email ADDRESS --public-key FILE\n`);
await new Promise((done) => {
  process.once('SIGINT', done);
  process.once('SIGTERM', done);
});
for (const gateway of gateways) {
  const ended = new Promise((done) => gateway.once('exit', done));
  gateway.kill('SIGTERM');
  await ended;
}
await Promise.all([postgres.stop(), ceph.stop()]);
rmSync(folder, { recursive: true, force: true });
