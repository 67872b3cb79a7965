import { createPrivateKey, randomUUID, X509Certificate } from 'node:crypto';
import { linkSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { createAuthority, createServerCertificate, type CertifiedKey } from '../../auth/authority.ts';
import { unlessNoEntry, isSystemError } from '../../base/errors.ts';
import { withLock } from '../../base/lock.ts';
import { removeQuietly, writePrivate } from '../../base/private-files.ts';

/** Certificates are renewed this many milliseconds before they expire: 7 days. */
const renewal = 7 * 24 * 60 * 60 * 1000;

/** TLS certificate and key of the local service. */
export interface LocalTls extends CertifiedKey {
  /** PEM file with the certificate of the authority, which clients have to trust. */
  readonly caFile: string;
}

const certificateMark = '-----BEGIN CERTIFICATE-----';

function readOptional(file: string): string | undefined {
  return unlessNoEntry(() => readFileSync(file, 'utf8'));
}

/** Reads a key and its certificate: both from the key file, or from two files, as earlier releases and other tools write them. */
function readPair(certificateFile: string, keyFile: string): CertifiedKey | undefined {
  const text = readOptional(keyFile);
  const mark = text?.indexOf(certificateMark) ?? -1;
  if (text === undefined) return undefined;
  if (mark !== -1) return { key: text.slice(0, mark), certificate: text.slice(mark) };
  const certificate = readOptional(certificateFile);
  return certificate === undefined ? undefined : { key: text, certificate };
}

/** Joins key and certificate: if two processes write to the same folder, no reader gets a key and a certificate that do not match. */
function joinPair({ certificate, key }: CertifiedKey): string {
  return key.endsWith('\n') ? key + certificate : `${key}\n${certificate}`;
}

/** Creates a file if it does not exist. @returns false when another process created it first */
function claimFile(file: string, text: string): boolean {
  const temporary = `${file}.${randomUUID()}`;
  writePrivate(temporary, text);
  try {
    linkSync(temporary, file);
    return true;
  } catch (error) {
    if (isSystemError(error) && error.code === 'EEXIST') return false;
    // A file system without hard links.
    writePrivate(file, text);
    return true;
  } finally {
    removeQuietly(temporary);
  }
}

/** The authority of a folder; processes that create one concurrently all get the same. */
async function openAuthority(caFile: string, keyFile: string): Promise<CertifiedKey> {
  const kept = readPair(caFile, keyFile);
  if (kept !== undefined) {
    // The process that created it may have been killed before writing this file.
    if (readOptional(caFile) === undefined) writePrivate(caFile, kept.certificate);
    return kept;
  }
  const made = await createAuthority('cloud local');
  const authority = claimFile(keyFile, joinPair(made)) ? made : readPair(caFile, keyFile);
  // The key file that another process left there has no certificate.
  if (authority === undefined) writePrivate(keyFile, joinPair(made));
  const used = authority ?? made;
  writePrivate(caFile, used.certificate);
  return used;
}

function isUsable({ certificate, key }: CertifiedKey, authority: CertifiedKey, names: readonly string[], now: number): boolean {
  const parsed = new X509Certificate(certificate);
  return (
    Date.parse(parsed.validTo) - renewal > now &&
    parsed.checkIssued(new X509Certificate(authority.certificate)) &&
    parsed.checkPrivateKey(createPrivateKey(key)) &&
    names.every((name) => (isIP(name) === 0 ? parsed.checkHost(name) : parsed.checkIP(name)) !== undefined)
  );
}

/** The names for which a certificate is valid. */
function readNames({ certificate }: CertifiedKey): string[] {
  const { subjectAltName = '' } = new X509Certificate(certificate);
  return subjectAltName.split(', ').flatMap((name) => /^(?:DNS|IP Address):(.+)$/u.exec(name)?.[1] ?? []);
}

/** The names under which a service listening at `host` is reached on this machine, and that address itself. */
export function listNames(host = '127.0.0.1'): string[] {
  // A link-local address ends with the name of its interface, which no certificate contains.
  const [reached = host] = host.split('%');
  const isEverywhere = ['0.0.0.0', '::'].includes(reached);
  return [...new Set(['localhost', '127.0.0.1', '::1', ...(isEverywhere ? [] : [reached])])];
}

/**
 * The certificate of the local service, issued by its own authority; both are kept in `dir` and created if missing. Any number of processes
 * may share the folder: they have one authority, and a renewed certificate keeps the names of the previous one.
 * @param names DNS names and IP addresses for which the certificate must be valid
 * @param now milliseconds since the epoch
 */
export async function prepareTls(dir: string, names: readonly string[], now: number): Promise<LocalTls> {
  const caFile = join(dir, 'ca.pem');
  const [certificateFile, keyFile] = [join(dir, 'server.pem'), join(dir, 'server.key.pem')];
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const authority = await openAuthority(caFile, join(dir, 'ca.key.pem'));
  const kept = readPair(certificateFile, keyFile);
  if (kept !== undefined && isUsable(kept, authority, names, now)) return { ...kept, caFile };
  const before = kept === undefined ? [] : readNames(kept);
  const made = await createServerCertificate(authority, [...new Set([...names, ...before])]);
  // A lock works on one machine only: processes on several machines may each create a certificate, issued by the same authority.
  return withLock(join(dir, 'lock'), () => {
    const other = readPair(certificateFile, keyFile);
    if (other !== undefined && isUsable(other, authority, names, now)) return { ...other, caFile };
    writePrivate(keyFile, joinPair(made));
    writePrivate(certificateFile, made.certificate);
    return { ...made, caFile };
  });
}
