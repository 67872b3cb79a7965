import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect } from 'node:net';
import { connect as secure } from 'node:tls';
import { resolve } from 'node:path';
import type { Sandbox } from './sandbox.ts';

/** Gateways as an operator runs them: the built program, in processes of their own. */

/** The first line of a gateway's log. */
export interface ToldByGateway {
  readonly computeUrl: string;
  readonly storUrl: string;
  readonly adminUrl: string;
  readonly caFile: string;
  readonly gateway: string;
}

/** A gateway that runs. */
export interface RunningGateway {
  readonly child: ChildProcess;
  readonly told: ToldByGateway;
  /** Lines of its log so far. */
  lines(): readonly string[];
  /** Ends it by a signal; its exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

const builtProgram = resolve(import.meta.dirname, '../../bin/cloud');

/** Starts a gateway, which ends with this process. @param words its options, without `-j` */
export function startGatewayProcess(
  { home, env }: Pick<Sandbox, 'home' | 'env'>,
  words: readonly string[],
  program = builtProgram,
): Promise<RunningGateway> {
  const all = ['--pdeathsig', 'KILL', process.execPath, program, 'server', 'gateway', '-j', ...words];
  const child = spawn('setpriv', all, { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stderr.on('data', (piece: Buffer) => (stderr += piece.toString()));
  const ended = new Promise<number | null>((done) => child.once('close', done));
  return new Promise((done, failed) => {
    child.stdout.on('data', (piece: Buffer) => {
      const isFirst = !stdout.includes('\n');
      stdout += piece.toString();
      if (!isFirst || !stdout.includes('\n')) return;
      const end = (signal: NodeJS.Signals): Promise<number | null> => {
        child.kill(signal);
        return ended;
      };
      const [first = ''] = stdout.split('\n');
      done({ child, told: JSON.parse(first) as ToldByGateway, lines: () => stdout.trim().split('\n'), end });
    });
    void ended.then((code) => failed(new Error(`the gateway ended with ${code}: ${stderr}${stdout}`)));
  });
}

/** Begins a PUT of ten bytes to one gateway, as a balancer passes it on, and sends half of them when the gateway wants them. */
export async function beginPut(
  { told }: RunningGateway,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ finish(): Promise<number | 'broken'> }> {
  const { port } = new URL(told.storUrl);
  const ca = readFileSync(told.caFile, 'utf8');
  const all = { ...headers, 'content-length': '10', 'content-type': 'text/plain', expect: '100-continue' };
  const put: ClientRequest = request({
    method: 'PUT',
    path,
    headers: all,
    createConnection: () => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.write(`PROXY TCP4 127.0.0.1 127.0.0.1 1 ${port}\r\n`);
      return secure({ socket, ca, servername: 'localhost' });
    },
  });
  const answered = new Promise<number | 'broken'>((done) => {
    put.on('response', (response: IncomingMessage) => {
      response.resume();
      done(response.statusCode ?? 0);
    });
    put.on('error', () => done('broken'));
  });
  const wanted = new Promise<void>((done) => void put.once('continue', done));
  put.flushHeaders();
  await Promise.race([wanted, answered]);
  put.write('12345');
  return {
    finish: () => {
      put.end('67890');
      return answered;
    },
  };
}
