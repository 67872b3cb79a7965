import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import { createAuthority, createServerCertificate } from '../../../src/auth/authority.ts';
import { makePlainKey } from '../../../src/auth/make-key.ts';
import { readPublicKey } from '../../../src/auth/public-key.ts';
import { catchError, makeFolder, run, runOpenssl, writePrivate } from './witness.ts';

const folder = makeFolder();
const authority = await createAuthority('cloud local');
const server = await createServerCertificate(authority, ['localhost', 'cloud.test']);

async function startServer(): Promise<number> {
  const listener = createServer({ cert: server.certificate, key: server.key }, (socket) => void socket.end('hello'));
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  afterAll(() => void listener.close());
  return (listener.address() as AddressInfo).port;
}

async function greet(port: number, servername: string, ca?: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, servername, ...(ca !== undefined && { ca }) });
  const [data] = (await once(socket, 'data')) as [Buffer];
  return data.toString();
}

describe('the authority of the local service', () => {
  it("makes certificates that Node.js's TLS accepts by name, and only under that authority", async () => {
    const port = await startServer();
    expect(await greet(port, 'localhost', authority.certificate)).toBe('hello');
    expect(await greet(port, 'cloud.test', authority.certificate)).toBe('hello');
    expect((await catchError(greet(port, 'example.test', authority.certificate))).message).toContain('does not match');
    expect((await catchError(greet(port, 'localhost'))).message).toMatch(/unable to (verify|get)/);
    const other = await createAuthority('cloud local');
    await catchError(greet(port, 'localhost', other.certificate));
  });

  it('makes certificates that openssl accepts, also under its strict rules', async () => {
    const [ca, certificate] = ['ca.pem', 'server.pem'].map((name) => join(folder, name)) as [string, string];
    writeFileSync(ca, authority.certificate);
    writeFileSync(certificate, server.certificate);
    const verified = runOpenssl(
      'verify',
      '-x509_strict',
      '-purpose',
      'sslserver',
      '-verify_hostname',
      'localhost',
      '-CAfile',
      ca,
      certificate,
    );
    expect(verified.toString()).toContain('OK');
  });

  it('is valid from a day ago, for ten and two years, with numbers of its own', async () => {
    const [root, leaf] = [authority, server].map(({ certificate }) => new X509Certificate(certificate)) as [
      X509Certificate,
      X509Certificate,
    ];
    const days = (from: string, to: string): number => Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000);
    expect(days(root.validFrom, root.validTo)).toBe(3651);
    expect(days(leaf.validFrom, leaf.validTo)).toBe(731);
    expect(Date.parse(leaf.validFrom)).toBeLessThan(Date.now() - 86_000_000);
    expect(root.ca).toBe(true);
    expect(leaf.ca).toBe(false);
    expect(leaf.subjectAltName).toBe('DNS:localhost, DNS:cloud.test');
    expect(new Set([root.serialNumber, leaf.serialNumber]).size).toBe(2);
    expect(leaf.verify(root.publicKey)).toBe(true);
  });
});

describe('making a key', () => {
  it('makes an RSA key that ssh-keygen reads', async () => {
    const { privateKey, publicKey } = await makePlainKey('demo');
    const path = writePrivate(folder, 'seed', privateKey);
    expect(publicKey.endsWith(' demo')).toBe(true);
    expect(readPublicKey(publicKey)).toMatchObject({ type: 'rsa', bits: 2048 });
    expect(run('ssh-keygen', ['-y', '-f', path]).toString().trim()).toBe(readPublicKey(publicKey).openssh);
  });
});
