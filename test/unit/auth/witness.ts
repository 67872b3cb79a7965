import { execFileSync, spawn } from 'node:child_process';
import { createPublicKey, verify } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { removeHome } from '../../support/end-service.ts';
import { writeRsaKeyFile } from '../../support/rsa-keys.ts';

/** A directory that is removed after the tests of the file. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'cloud-auth-'));
  // An ssh-agent that was ended removes its socket meanwhile.
  afterAll(() => removeHome(folder));
  return folder;
}

/** Runs a program and gives what it wrote. */
export function run(
  program: string,
  args: readonly string[],
  options: { env?: Record<string, string>; input?: string | Uint8Array } = {},
): Buffer {
  const env = { ...process.env, ...options.env };
  return execFileSync(program, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env,
    ...(options.input !== undefined && { input: options.input }),
  });
}

/** Runs openssl. */
export function runOpenssl(...args: string[]): Buffer {
  return run('openssl', args);
}

/** Makes a key by ssh-keygen and gives its path; it generates no RSA key of 2048 bits, but writes one that the run shares. */
export function makeKey(folder: string, name: string, ...args: string[]): string {
  const path = join(folder, name);
  if (args.includes('2048')) writeRsaKeyFile(path, { comment: `${name} of a test`, pem: args.includes('PEM') });
  else run('ssh-keygen', ['-q', '-f', path, '-N', '', '-C', `${name} of a test`, ...args]);
  return path;
}

/** Writes a private file and gives its path. */
export function writePrivate(folder: string, name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

/** Makes a DSA key by openssl (ssh-keygen may no longer), of the only size that OpenSSH takes, and gives the path of its PEM file. */
export function makeDsaKey(folder: string, name: string): string {
  const parameters = join(folder, `${name}.parameters`);
  const sizes = ['dsa_paramgen_bits:1024', 'dsa_paramgen_q_bits:160'].flatMap((size) => ['-pkeyopt', size]);
  runOpenssl('genpkey', '-genparam', '-algorithm', 'DSA', ...sizes, '-out', parameters);
  const pkcs8 = runOpenssl('genpkey', '-paramfile', parameters);
  rmSync(parameters);
  return writePrivate(folder, name, run('openssl', ['pkey', '-traditional'], { input: pkcs8 }));
}

/** Whether openssl takes the signature for that of the text by the key in this private file (PEM). */
export function verifyByOpenssl(folder: string, pem: string, hash: string, text: string, signature: Uint8Array): boolean {
  const file = join(folder, 'witness-signature');
  writeFileSync(file, signature);
  try {
    return run('openssl', ['dgst', `-${hash}`, '-prverify', pem, '-signature', file], { input: text })
      .toString()
      .includes('OK');
  } catch {
    return false;
  } finally {
    rmSync(file);
  }
}

/** The same by the library of openssl, which is in this process: for signatures beside one that the program has verified. */
export function verifyByLibrary(pem: string, hash: string, text: string, signature: Uint8Array): boolean {
  return verify(hash, Buffer.from(text), createPublicKey(readFileSync(pem)), signature);
}

/** The base64 signature that openssl makes of the text. */
export function signByOpenssl(pem: string, hash: string, text: string): string {
  return run('openssl', ['dgst', `-${hash}`, '-sign', pem], { input: text }).toString('base64');
}

/** A key's fingerprint as ssh-keygen shows it, without a prefix for MD5. */
export function showFingerprint(path: string, hash: 'md5' | 'sha256'): string {
  const [, fingerprint = ''] = run('ssh-keygen', ['-l', '-E', hash, '-f', path]).toString().split(' ');
  return fingerprint.replace(/^MD5:/, '');
}

/**
 * Starts a real ssh-agent and gives its socket. It is ended after the tests of the file, and ends by itself when the process
 * of the tests is gone: it lives no longer than its child, which lives no longer than our end of the pipe.
 */
export async function startAgent(folder: string): Promise<{ socket: string; add: (path: string) => void }> {
  const socket = join(folder, 'agent.socket');
  const child = spawn('ssh-agent', ['-a', socket, 'sh', '-c', 'echo $SSH_AGENT_PID; exec cat'], { stdio: ['pipe', 'pipe', 'ignore'] });
  const [announced] = (await once(child.stdout, 'data')) as [Buffer];
  afterAll(() => {
    process.kill(Number(announced.toString()));
    child.stdin.end();
  });
  return { socket, add: (path) => void run('ssh-add', ['-q', path], { env: { SSH_AUTH_SOCK: socket } }) };
}

/** What a promise is rejected with. */
export async function catchError(promise: Promise<unknown>): Promise<Error & { hint?: string }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('this was expected to fail');
}
