import { X509Certificate } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { createAuthority, createServerCertificate, type CertifiedKey } from '../../auth/authority.ts';
import { isSystemError } from '../../base/errors.ts';
import { writePrivate } from '../../base/private-files.ts';

/** Certificates are renewed this long before they end: 7 days. */
const renewal = 7 * 24 * 60 * 60 * 1000;

/** TLS of the local service. */
export interface LocalTls extends CertifiedKey {
  /** Certificate of the authority, for clients to trust, PEM. */
  readonly caFile: string;
}

async function readPair(certificateFile: string, keyFile: string): Promise<CertifiedKey | undefined> {
  try {
    const [certificate, key] = await Promise.all([readFile(certificateFile, 'utf8'), readFile(keyFile, 'utf8')]);
    return { certificate, key };
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The key comes first, because a certificate without it is useless. */
function writePair(certificateFile: string, keyFile: string, { certificate, key }: CertifiedKey): void {
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

/** The names by which what listens at an address is reached on this machine, and that address. */
export function listNames(host = '127.0.0.1'): string[] {
  // An address of the link has the name of its interface after it, which no certificate holds.
  const [reached = host] = host.split('%');
  const isEverywhere = ['0.0.0.0', '::'].includes(reached);
  return [...new Set(['localhost', '127.0.0.1', '::1', ...(isEverywhere ? [] : [reached])])];
}

/**
 * The certificate of the local service under an authority of its own; both are kept in `dir` and made when missing.
 * @param names DNS names and IP addresses that the certificate must be good for
 * @param now milliseconds since the epoch
 */
export async function prepareTls(dir: string, names: readonly string[], now: number): Promise<LocalTls> {
  const caFile = join(dir, 'ca.pem');
  const caKeyFile = join(dir, 'ca.key.pem');
  const files = [join(dir, 'server.pem'), join(dir, 'server.key.pem')] as const;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const kept = await readPair(...files);
  const keptAuthority = await readPair(caFile, caKeyFile);
  if (kept !== undefined && keptAuthority !== undefined && isUsable(kept, names, now)) return { ...kept, caFile };
  const authority = keptAuthority ?? (await createAuthority('cloud local'));
  if (keptAuthority === undefined) writePair(caFile, caKeyFile, authority);
  const made = await createServerCertificate(authority, names);
  writePair(...files, made);
  return { ...made, caFile };
}
