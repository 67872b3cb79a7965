import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createAgentSigner, listAgentKeys } from '../../../src/auth/agent.ts';
import { chooseAlgorithm, type HashName } from '../../../src/auth/signer.ts';
import { KeyError } from '../../../src/base/errors.ts';
import {
  catchError,
  makeDsaKey,
  makeFolder,
  makeKey,
  run,
  showFingerprint,
  startAgent,
  verifyByLibrary,
  verifyByOpenssl,
} from './witness.ts';

const folder = makeFolder();
const { socket, add } = await startAgent(folder);
const text = 'Sat, 01 Feb 2025 10:11:12 GMT';

const pem = ['-m', 'PEM'];
const paths: Record<string, string> = {
  rsa: makeKey(folder, 'rsa', '-t', 'rsa', '-b', '2048', ...pem),
  p256: makeKey(folder, 'p256', '-t', 'ecdsa', '-b', '256', ...pem),
  p384: makeKey(folder, 'p384', '-t', 'ecdsa', '-b', '384', ...pem),
  p521: makeKey(folder, 'p521', '-t', 'ecdsa', '-b', '521', ...pem),
  dsa: makeDsaKey(folder, 'dsa'),
  ed25519: makeKey(folder, 'ed25519', '-t', 'ed25519'),
};
for (const path of Object.values(paths)) add(path);

async function takeSigner(name: string) {
  const md5 = showFingerprint(paths[name] ?? '', 'md5');
  const key = (await listAgentKeys(socket)).find(({ fingerprints }) => fingerprints.md5 === md5);
  if (key === undefined) throw new Error(`the agent lacks ${name}`);
  return createAgentSigner(socket, key);
}

/** Something that listens like an agent and sends these bytes, or nothing. */
async function pretend(name: string, answer?: Uint8Array): Promise<string> {
  const path = join(folder, name);
  const server = createServer((connection) => void (answer && connection.end(answer)));
  server.listen(path);
  await once(server, 'listening');
  afterAll(() => void server.close());
  return path;
}

/** Something that listens like an agent and sends a byte of a long answer each 100 ms. */
async function trickle(): Promise<string> {
  const path = join(folder, 'slow');
  const server = createServer((connection) => {
    connection.write(Buffer.from('000186a0', 'hex'));
    const timer = setInterval(() => connection.write('x'), 100);
    connection.on('error', () => undefined).on('close', () => clearInterval(timer));
  });
  server.listen(path);
  await once(server, 'listening');
  afterAll(() => void server.close());
  return path;
}

describe('keys of the ssh-agent', () => {
  it('lists them with comments, but no certificates', async () => {
    const certified = makeKey(folder, 'certified', '-t', 'rsa', '-b', '2048');
    run('ssh-keygen', ['-q', '-s', paths['p256'] ?? '', '-I', 'test', `${certified}.pub`]);
    add(certified);
    const keys = await listAgentKeys(socket);
    expect(keys).toHaveLength(7);
    expect(keys.find(({ name }) => name === 'ssh-ed25519')).toMatchObject({ comment: 'ed25519 of a test' });
  });

  it.each([
    ['rsa', 'sha1'],
    ['rsa', 'sha256'],
    ['rsa', 'sha512'],
    ['p256', 'sha256'],
    ['p384', 'sha384'],
    ['p521', 'sha512'],
    ['dsa', 'sha1'],
  ] satisfies [string, HashName][])('signs with %s and %s as openssl verifies', async (name, hash) => {
    const signer = await takeSigner(name);
    expect(signer.source).toBe('ssh-agent');
    // Leading zeros of r and s come up once in some hundred signatures; several make the conversion meet them over time.
    const pem = paths[name] ?? '';
    for (let round = 0; round < 5; round += 1) {
      const signature = await signer.sign(`${text} ${round}`, hash);
      expect(verifyByLibrary(pem, hash, `${text} ${round}`, signature), `round ${round}`).toBe(true);
      if (round === 0) expect(verifyByOpenssl(folder, pem, hash, `${text} ${round}`, signature)).toBe(true);
    }
  });

  it('uses the algorithm that goes with each key', async () => {
    for (const name of ['rsa', 'p256', 'p384', 'p521', 'dsa']) {
      const signer = await takeSigner(name);
      await expect(signer.sign(text, chooseAlgorithm(signer).hash)).resolves.toBeInstanceOf(Uint8Array);
    }
  });

  it.each([
    ['rsa', 'sha384'],
    ['p256', 'sha512'],
    ['dsa', 'sha256'],
    ['ed25519', 'sha512'],
  ] satisfies [string, HashName][])('refuses %s with %s', async (name, hash) => {
    expect(await catchError((await takeSigner(name)).sign(text, hash))).toBeInstanceOf(KeyError);
  });

  it('says that a locked agent refuses', async () => {
    const signer = await takeSigner('rsa');
    const askpass = join(folder, 'askpass');
    writeFileSync(askpass, '#!/bin/sh\necho secret\n', { mode: 0o700 });
    const env = { SSH_AUTH_SOCK: socket, SSH_ASKPASS: askpass, SSH_ASKPASS_REQUIRE: 'force' };
    run('ssh-add', ['-x'], { env });
    expect((await catchError(signer.sign(text, 'sha256'))).message).toContain('the ssh-agent refuses to sign with the key');
    run('ssh-add', ['-X'], { env });
    await expect(signer.sign(text, 'sha256')).resolves.toBeInstanceOf(Uint8Array);
  });
});

describe('agents that do not work', () => {
  it.each([
    ['nobody', async () => join(folder, 'nobody'), /nothing listens on/],
    ['one that hangs up', () => pretend('silent', Buffer.alloc(0)), /closed the connection without a response/],
    ['one that answers nonsense', () => pretend('chatty', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')), /invalid response/],
    ['one whose answer is cut', () => pretend('short', Buffer.from('000000050c000000ff', 'hex')), /invalid response/],
    ['one that refuses', () => pretend('refusing', Buffer.from('0000000105', 'hex')), /refuses to list/],
    ['one that never answers', () => pretend('stuck'), /did not respond within 3 s/],
    ['one that goes on answering', trickle, /did not respond within 3 s/],
  ])('explains %s', async (_, prepare, message) => {
    const error = await catchError(listAgentKeys(await prepare()));
    expect(error).toBeInstanceOf(KeyError);
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(/^(?:check the agent|unlock it)/);
  });
});
