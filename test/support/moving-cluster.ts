import { execFile } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createDatabase } from './cluster-database.ts';
import { findPorts } from './free-ports.ts';
import { startGatewayProcess, type RunningGateway } from './gateways.ts';
import { startHaproxy, type GatewayPorts } from './haproxy.ts';
import { usualIsolation } from './job-sandboxes.ts';
import { createSandbox, type LocalInfo, type Sandbox } from './sandbox.ts';
import { createRsaKey } from './service.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';

/** Gateways that come and go behind haproxy, and workers beside them, of one build of the program or another. */
export interface MovingCluster {
  readonly sandbox: Sandbox;
  /** Runs a command of `server` of one build on the database. */
  run(program: string, ...words: string[]): Promise<{ code: number; stderr: string }>;
  /** How clients of the account `demo` reach the services through the balancer. */
  readonly client: Pick<LocalInfo, 'computeUrl' | 'storUrl' | 'account' | 'keyFile' | 'caFile'>;
  /** Starts a gateway at one of the places that the balancer knows, and waits until it serves. */
  startGateway(place: number, program?: string): Promise<RunningGateway>;
  startWorker(program?: string): Promise<WorkerProcess>;
  close(): Promise<void>;
}

/** This build. */
export const builtProgram = resolve(import.meta.dirname, '../../bin/cloud');
const isolation = usualIsolation() === 'none' ? ['--isolation', 'none'] : [];

/** Runs a program to its end; what it printed. */
function runProgram({ home, env }: Sandbox, program: string, words: readonly string[]): Promise<{ code: number; stderr: string }> {
  return new Promise((done) => {
    execFile(process.execPath, [program, ...words], { cwd: home, env }, (error, _stdout, stderr) =>
      done({ code: Number(error?.code ?? 0), stderr }),
    );
  });
}

/**
 * Makes a database with the account `demo`, and a balancer over so many places for gateways.
 * @param words further options of gateways
 * @param first the program that makes the tables
 */
export async function openMovingCluster(places: number, words: readonly string[], first = builtProgram): Promise<MovingCluster> {
  const { sandbox, remove } = createSandbox();
  const { home } = sandbox;
  const { url, drop } = await createDatabase({ isEmpty: true });
  const key = createRsaKey();
  const keyFile = sandbox.write('key.pem', key.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  chmodSync(keyFile, 0o600);
  chmodSync(sandbox.write('database', `${url}\n`), 0o600);
  const named = ['--database-file', join(home, 'database')];
  const owner = ['demo', '--email', 'demo@example.com', '--public-key', sandbox.write('key.pub', key.line)];
  const run: MovingCluster['run'] = (program, ...given) => runProgram(sandbox, program, ['server', ...given, ...named]);
  for (const line of [['migrate'], ['accounts', 'create', ...owner]]) {
    const { code, stderr } = await run(first, ...line);
    if (code !== 0) throw new Error(`cloud server ${line.join(' ')}: ${stderr}`);
  }
  const lowest = await findPorts(places * 3);
  const ports = Array.from({ length: places }, (_, at): GatewayPorts => [lowest + at * 3, lowest + at * 3 + 1, lowest + at * 3 + 2]);
  const balancer = await startHaproxy(ports);
  const engines = [...named, '--bytes', `file://${home}/bytes`];
  const running: { end(): void }[] = [];
  const publicUrls = [`https://localhost:${balancer.computePort}`, `https://localhost:${balancer.storPort}`] as const;
  return {
    sandbox,
    run,
    client: { computeUrl: publicUrls[0], storUrl: publicUrls[1], account: 'demo', keyFile, caFile: join(home, 'tls/ca.pem') },
    async startGateway(place, program = builtProgram) {
      const [compute, stor, admin] = ports[place] ?? [0, 0, 0];
      const listen = ['--compute-port', `${compute}`, '--stor-port', `${stor}`, '--admin-port', `${admin}`, '--tls-dir', join(home, 'tls')];
      const shown = ['--public-url', publicUrls[0], '--stor-public-url', publicUrls[1], '--proxy-protocol-from', '127.0.0.1'];
      const gateway = await startGatewayProcess(sandbox, [...engines, ...listen, ...shown, ...isolation, ...words], program);
      running.push({ end: () => gateway.child.kill('SIGKILL') });
      return gateway;
    },
    async startWorker(program = builtProgram) {
      const worker = await startWorkerProcess({ sandbox, places: engines, program }, '--slots', '2');
      running.push({ end: () => worker.child.kill('SIGKILL') });
      return worker;
    },
    async close() {
      for (const each of running) each.end();
      await balancer.stop();
      await drop();
      remove();
    },
  };
}
