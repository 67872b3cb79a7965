import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { createAuthority, createServerCertificate, type CertifiedKey } from '../../auth/authority.ts';
import { isSystemError } from '../../base/errors.ts';
import { withLock, writePrivate } from '../../base/private-files.ts';

/** Certificates are renewed this long before they end: 7 days. */
const renewal = 7 * 24 * 60 * 60 * 1000;

/** TLS of the local service. */
export interface LocalTls extends CertifiedKey {
  /** Certificate of the authority, for clients to trust, PEM. */
  readonly caFile: string;
}

type Files = readonly [certificateFile: string, keyFile: string];

function readPair([certificateFile, keyFile]: Files): CertifiedKey | undefined {
  try {
    return { certificate: readFileSync(certificateFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The key comes first, because a certificate without it is useless. */
function writePair([certificateFile, keyFile]: Files, { certificate, key }: CertifiedKey): void {
  for (const [file, text] of [
    [keyFile, key],
    [certificateFile, certificate],
  ] as const) {
    writePrivate(file, text);
  }
}

function isUsable({ certificate }: CertifiedKey, names: readonly string[], now: number): boolean {
  const parsed = new X509Certificate(certificate);
  return (
    Date.parse(parsed.validTo) - renewal > now &&
    names.every((name) => (isIP(name) === 0 ? parsed.checkHost(name) : parsed.checkIP(name)) !== undefined)
  );
}

function isSignedBy({ certificate }: CertifiedKey, authority: CertifiedKey): boolean {
  return new X509Certificate(certificate).verify(new X509Certificate(authority.certificate).publicKey);
}

/** The names by which what listens at an address is reached on this machine, and that address. */
export function listNames(host = '127.0.0.1'): string[] {
  // An address of the link has the name of its interface after it, which no certificate holds.
  const [reached = host] = host.split('%');
  const isEverywhere = ['0.0.0.0', '::'].includes(reached);
  return [...new Set(['localhost', '127.0.0.1', '::1', ...(isEverywhere ? [] : [reached])])];
}

/** Writes what was made, unless another process that began at the same time was faster. @returns what is there now */
function keepFirst(dir: string, files: Files, made: CertifiedKey, isGood: (kept: CertifiedKey) => boolean): CertifiedKey {
  return withLock(join(dir, 'lock'), () => {
    const kept = readPair(files);
    if (kept !== undefined && isGood(kept)) return kept;
    writePair(files, made);
    return made;
  });
}

/**
 * The certificate of services under an authority of their own; both are kept in `dir` and made when missing, once by any number of
 * processes.
 * @param names DNS names and IP addresses that the certificate must be good for
 * @param now milliseconds since the epoch
 */
export async function prepareTls(dir: string, names: readonly string[], now: number): Promise<LocalTls> {
  const caFile = join(dir, 'ca.pem');
  const authorityFiles = [caFile, join(dir, 'ca.key.pem')] as const;
  const files = [join(dir, 'server.pem'), join(dir, 'server.key.pem')] as const;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const kept = readPair(files);
  const keptAuthority = readPair(authorityFiles);
  if (kept !== undefined && keptAuthority !== undefined && isUsable(kept, names, now)) return { ...kept, caFile };
  const authority = keptAuthority ?? keepFirst(dir, authorityFiles, await createAuthority('cloud local'), () => true);
  const made = await createServerCertificate(authority, names);
  const isGood = (other: CertifiedKey): boolean => isSignedBy(other, authority) && isUsable(other, names, now);
  return { ...keepFirst(dir, files, made, isGood), caFile };
}
