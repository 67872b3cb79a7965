import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, readFileSync } from 'node:fs';
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { join, resolve } from 'node:path';
import { createDatabase } from './cluster-database.ts';
import { usualIsolation } from './job-sandboxes.ts';
import { createSandbox, type Sandbox } from './sandbox.ts';
import { createRsaKey, signHeaders, type TestKey } from './service.ts';

/** Gateways as an operator runs them: processes of the built program over one database, with an account `alice`. */

/** The line that a gateway prints when it serves. */
export interface Told {
  readonly computeUrl: string;
  readonly storUrl: string;
  readonly adminUrl?: string;
  readonly caFile?: string;
  readonly pid: number;
  readonly gateway: string;
}

export interface GatewayProcess {
  readonly child: ChildProcess;
  readonly told: Told;
  /** Whole lines of its log so far. */
  readonly lines: () => readonly string[];
  /** Exit code, or the name of the signal that ended it. */
  readonly ended: Promise<number | string | null>;
}

/** Where gateways run. */
export interface GatewayHome {
  readonly sandbox: Sandbox;
  readonly url: string;
  readonly key: TestKey;
  /** Database and contents, as options. */
  readonly places: readonly string[];
  start(...words: string[]): Promise<GatewayProcess>;
  /** Ends what still runs and removes everything. */
  remove(): Promise<void>;
}

const program = resolve(import.meta.dirname, '../../bin/cloud');
const isolation = usualIsolation() === 'none' ? ['--isolation', 'none'] : [];

/** Starts a process of `cloud server gateway`, and waits until it serves. */
function startProcess(sandbox: Sandbox, words: readonly string[], running: ChildProcess[]): Promise<GatewayProcess> {
  const child = spawn(process.execPath, [program, 'server', 'gateway', ...words], { cwd: sandbox.home, env: sandbox.env });
  running.push(child);
  let [stdout, stderr] = ['', ''];
  child.stderr.on('data', (piece: Buffer) => (stderr += piece.toString()));
  const ended = new Promise<number | string | null>((done) => child.once('close', (code, signal) => done(code ?? signal)));
  return new Promise((done, failed) => {
    child.stdout.on('data', (piece: Buffer) => {
      stdout += piece.toString();
      const line = stdout.split('\n').find((each) => each.startsWith('{"computeUrl"') && each.endsWith('}'));
      if (line === undefined) return;
      done({ child, ended, told: JSON.parse(line) as Told, lines: () => stdout.split('\n').slice(0, -1) });
    });
    void ended.then((code) => failed(new Error(`the gateway ended with ${code}: ${stderr}`)));
  });
}

/** Makes an account and a home for gateways, in a database of their own unless one is given. */
export async function openGatewayHome(given?: Awaited<ReturnType<typeof createDatabase>>): Promise<GatewayHome> {
  const { sandbox, remove } = createSandbox();
  const { url, drop } = given ?? (await createDatabase());
  const key = createRsaKey();
  const running: ChildProcess[] = [];
  chmodSync(sandbox.write('key.pem', key.privateKey.export({ type: 'pkcs8', format: 'pem' })), 0o600);
  sandbox.write('key.pub', key.line);
  chmodSync(sandbox.write('database', `${url}\n`), 0o600);
  const database = ['--database-file', join(sandbox.home, 'database')];
  const places = [...database, '--bytes', `file://${sandbox.home}/bytes`];
  const owner = ['alice', '--email', 'alice@example.com', '--public-key', join(sandbox.home, 'key.pub')];
  await sandbox.json('server', 'accounts', 'create', ...owner, ...database);
  return {
    sandbox,
    url,
    key,
    places,
    start: (...words) =>
      startProcess(sandbox, [...places, '--compute-port', '0', '--stor-port', '0', '-j', ...isolation, ...words], running),
    remove: async () => {
      for (const child of running) child.kill('SIGKILL');
      await drop();
      remove();
    },
  };
}

/** Begins a signed request of `alice` to the object storage, and gives what it can be written to. */
export function beginRequest(
  { key }: Pick<GatewayHome, 'key'>,
  told: Told,
  method: string,
  path: string,
  options: RequestOptions = {},
): ClientRequest {
  const url = `${told.storUrl}${path}`;
  const headers = { ...signHeaders('storage', { key, keyId: `/alice/keys/${key.fingerprint}` }), ...(options.headers as object) };
  const ca = told.caFile === undefined ? {} : { ca: readFileSync(told.caFile) };
  return (url.startsWith('https:') ? httpsRequest : httpRequest)(url, { ...ca, ...options, method, headers });
}

/** The response of a request. */
export function awaitResponse(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => request.once('response', resolve).once('error', reject));
}

/** Reads a response to its end. */
export async function readText(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of response.setEncoding('utf8')) text += String(piece);
  return text;
}
