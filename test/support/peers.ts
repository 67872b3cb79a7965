import { spawn, type ChildProcess } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Pool } from 'undici';
import type { Sandbox } from './sandbox.ts';

/**
 * Emulators of other object storages, to be measured next to the local service: over TLS with its certificate, each request signed as they
 * verify it. They are installed beside the project: `npm i --prefix DIR azurite s3rver`, then `CLOUD_PEERS=DIR`.
 */

/** What a peer answers; each gives the status. */
export interface Peer {
  readonly get: (path: string) => Promise<number>;
  readonly put: (path: string, content: Buffer) => Promise<number>;
  /** Makes what holds objects. */
  readonly make: (folder: string) => Promise<number>;
  readonly list: (folder: string) => Promise<number>;
  readonly stop: () => Promise<void>;
}

/** A peer that can be started. */
export interface PeerProgram {
  readonly name: string;
  readonly isInstalled: boolean;
  /** Share of its rate that this project promises at least; absent where nothing is promised. */
  readonly least?: number;
  /** @throws when it is not installed */
  readonly readVersion: () => string;
  /** @param connections that are open at once, at most */
  readonly start: (user: Sandbox, connections: number) => Promise<Peer>;
}

type Headers = Readonly<Record<string, string>>;

/** Sends one request and reads its answer. */
type Send = (method: string, target: string, headers: Headers, body?: Buffer) => Promise<number>;

/** Starts a program of Node.js. @returns the part of its output that the expression finds */
async function startProgram(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  found: RegExp,
): Promise<{ child: ChildProcess; said: string }> {
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const said = await new Promise<string>((resolve, reject) => {
    let output = '';
    child.once('exit', (code) => reject(new Error(`${words[0]} ended with ${code}: ${output}`)));
    child.stdout?.on('data', (piece: Buffer) => {
      output += piece.toString();
      const [match] = found.exec(output) ?? [];
      if (match !== undefined) resolve(match);
    });
  });
  return { child, said };
}

function openSend(url: string, caFile: string, connections: number): { send: Send; close: () => Promise<void> } {
  const pool = new Pool(url, { connections, pipelining: 1, connect: { ca: readFileSync(caFile, 'utf8') } });
  const send: Send = async (method, path, headers, body) => {
    const length = body === undefined ? undefined : { 'content-length': String(body.length) };
    const { statusCode, body: answer } = await pool.request({ method, path, headers: { ...headers, ...length }, body: body ?? null });
    await answer.arrayBuffer();
    return statusCode;
  };
  return { send, close: () => pool.destroy() };
}

const modules = join(process.env['CLOUD_PEERS'] ?? '', 'node_modules');

function describeProgram(name: string, folder: string, program: string): Omit<PeerProgram, 'start'> & { readonly program: string } {
  const readVersion = (): string =>
    (JSON.parse(readFileSync(join(modules, folder, 'package.json'), 'utf8')) as { version: string }).version;
  const path = join(modules, folder, program);
  return { name, program: path, isInstalled: process.env['CLOUD_PEERS'] !== undefined && existsSync(path), readVersion };
}

const azurite = describeProgram('Azurite', 'azurite', 'dist/src/blob/main.js');

async function startAzurite(user: Sandbox, connections: number): Promise<Peer> {
  const account = 'demo';
  const secret = randomBytes(32);
  const location = join(user.home, 'azurite');
  mkdirSync(location);
  const tls = join(user.local.dataDir, 'tls');
  const options = ['--blobPort', '0', '--location', location, '--disableTelemetry', '--skipApiVersionCheck', '--silent'];
  const { child, said } = await startProgram(
    [azurite.program, ...options, '--cert', join(tls, 'server.pem'), '--key', join(tls, 'server.key.pem')],
    { PATH: process.env['PATH'], HOME: user.home, AZURITE_ACCOUNTS: `${account}:${secret.toString('base64')}` },
    /https:\/\/[\d.]+:\d+/u,
  );
  const { send, close } = openSend(said, user.local.caFile, connections);

  /** @param query sorted by name */
  function ask(method: string, path: string, query: readonly (readonly [string, string])[] = [], body?: Buffer): Promise<number> {
    const own = { 'x-ms-date': new Date().toUTCString(), 'x-ms-version': '2021-12-02' };
    const headers: Headers = body && path.includes('/') ? { 'x-ms-blob-type': 'BlockBlob', ...own } : own;
    const resource = `/${account}/${account}/${path}${query.map(([name, value]) => `\n${name}:${value}`).join('')}`;
    const length = body === undefined || body.length === 0 ? '' : String(body.length);
    const signedHeaders = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
    const text = `${method}\n\n\n${length}\n\n\n\n\n\n\n\n\n${signedHeaders.join('')}${resource}`;
    const signature = createHmac('sha256', secret).update(text).digest('base64');
    const target = query.length === 0 ? '' : `?${query.map((pair) => pair.join('=')).join('&')}`;
    return send(method, `/${account}/${path}${target}`, { ...headers, authorization: `SharedKey ${account}:${signature}` }, body);
  }
  return {
    get: (path) => ask('GET', path),
    put: (path, content) => ask('PUT', path, [], content),
    make: (folder) => ask('PUT', folder, [['restype', 'container']]),
    list: (folder) =>
      ask('GET', folder, [
        ['comp', 'list'],
        ['restype', 'container'],
      ]),
    stop: async () => {
      child.kill();
      await close();
    },
  };
}

const s3rver = describeProgram('s3rver', 's3rver', 'bin/s3rver.js');

/** The one account that it has. */
const s3rverKey = 'S3RVER';

async function startS3rver(user: Sandbox, connections: number): Promise<Peer> {
  const tls = join(user.local.dataDir, 'tls');
  const options = ['-d', join(user.home, 's3rver'), '-a', '127.0.0.1', '-p', '0', '--silent', '--no-vhost-buckets'];
  const { child, said } = await startProgram(
    [s3rver.program, ...options, '--cert', join(tls, 'server.pem'), '--key', join(tls, 'server.key.pem')],
    { PATH: process.env['PATH'], HOME: user.home },
    /127\.0\.0\.1:\d+/u,
  );
  const { send, close } = openSend(`https://${said}`, user.local.caFile, connections);

  /** Signed by version 2: of version 4 it verifies nothing. */
  function ask(method: string, path: string, body?: Buffer): Promise<number> {
    const date = new Date().toUTCString();
    const text = `${method}\n\n\n\nx-amz-date:${date}\n/${path}`;
    const signature = createHmac('sha1', s3rverKey).update(text).digest('base64');
    return send(method, `/${path}`, { 'x-amz-date': date, authorization: `AWS ${s3rverKey}:${signature}` }, body);
  }
  return {
    get: (path) => ask('GET', path),
    put: (path, content) => ask('PUT', path, content),
    make: (folder) => ask('PUT', folder),
    list: (folder) => ask('GET', folder),
    stop: async () => {
      child.kill();
      await close();
    },
  };
}

/** The best known emulator of another object storage, and one of the S3 protocol. */
export const peerPrograms: readonly PeerProgram[] = [
  { ...azurite, least: 1, start: startAzurite },
  { ...s3rver, start: startS3rver },
];
