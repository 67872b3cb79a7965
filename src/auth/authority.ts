import { randomBytes } from 'node:crypto';
import type { Certificate, Key, PrivateKey } from 'sshpk';
import { readAddressBytes } from '../base/addresses.ts';
import { writeDerSequence, writeElement } from './der.ts';

/** A certificate and its private key, both PEM. */
export interface CertifiedKey {
  certificate: string;
  key: string;
}

const day = 24 * 60 * 60 * 1000;

/** From one day ago, for clocks that differ, to `days` from now. */
function chooseValidity(days: number): { validFrom: Date; validUntil: Date } {
  const now = Date.now();
  return { validFrom: new Date(now - day), validUntil: new Date(now + days * day) };
}

/** Positive and unique: programs that store certificates reject two with the same serial number. */
function chooseSerial(): Buffer {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  return serial;
}

/** Object identifiers of the extensions that certificates get (RFC 5280, section 4.2.1). */
const extensions = {
  subjectKey: '2.5.29.14',
  keyUsage: '2.5.29.15',
  // The leading zero hides the identifier from sshpk, whose own writer of this extension omits IP addresses.
  names: '2.5.29.017',
  constraints: '2.5.29.19',
  issuerKey: '2.5.29.35',
  purposes: '2.5.29.37',
} as const;

interface Extension {
  oid: string;
  critical?: boolean;
  /** Content of extensions that sshpk does not write itself. */
  data?: Buffer;
}

/** The key identifier, by which verifiers build the chain from a certificate to its authority. */
function identifyKey(key: Key | PrivateKey): Buffer {
  return key.hash('sha256').subarray(0, 20);
}

/** The subject alternative names of a server certificate (RFC 5280, section 4.2.1.6). */
function writeNames(names: readonly string[]): Buffer {
  const written = names.map((name) => {
    const address = readAddressBytes(name);
    return address ? writeElement(0x87, Buffer.from(address)) : writeElement(0x82, Buffer.from(name));
  });
  return writeDerSequence(...written);
}

/** The default extensions of sshpk lack key identifiers, and strict verifiers (Python 3.13) reject certificates without them. */
function signStrictly(certificate: Certificate, issuerKey: PrivateKey, own: Extension): void {
  const exts: Extension[] = [
    own,
    { oid: extensions.keyUsage, critical: true },
    { oid: extensions.purposes },
    { oid: extensions.subjectKey, data: Buffer.concat([Buffer.of(0x04, 20), identifyKey(certificate.subjectKey)]) },
    { oid: extensions.issuerKey, data: Buffer.concat([Buffer.of(0x30, 22, 0x80, 20), identifyKey(issuerKey)]) },
  ];
  Object.assign(certificate.signatures, { x509: { extras: { exts } } });
  certificate.signWith(issuerKey);
}

function writePem(certificate: Certificate, key: PrivateKey): CertifiedKey {
  return { certificate: certificate.toString('pem'), key: key.toString('pkcs8') };
}

/** Creates an authority for the TLS of the local service: ECDSA P-256, valid for ten years. @param name common name, shown by browsers */
export async function createAuthority(name: string): Promise<CertifiedKey> {
  const { default: sshpk } = await import('sshpk');
  const key = sshpk.generatePrivateKey('ecdsa', { curve: 'nistp256' });
  const subject = sshpk.identityFromArray([{ name: 'cn', value: name }]);
  const certificate = sshpk.createSelfSignedCertificate(subject, key, {
    ...chooseValidity(3650),
    serial: chooseSerial(),
    // Node.js reports INVALID_PURPOSE when the authority itself does not have the purposes of the certificates that it issues.
    purposes: ['ca', 'crl', 'signature', 'keyAgreement', 'serverAuth'],
  });
  signStrictly(certificate, key, { oid: extensions.constraints, critical: true });
  return writePem(certificate, key);
}

/** Issues a server certificate, valid for two years. @param names DNS names and IP addresses; the first, a DNS name, is the subject */
export async function createServerCertificate(authority: CertifiedKey, names: readonly string[]): Promise<CertifiedKey> {
  const { default: sshpk } = await import('sshpk');
  const key = sshpk.generatePrivateKey('ecdsa', { curve: 'nistp256' });
  const issuer = sshpk.parseCertificate(authority.certificate, 'pem');
  const issuerKey = sshpk.parsePrivateKey(authority.key, 'pkcs8');
  const [issuerName] = issuer.subjects;
  if (issuerName === undefined) throw new TypeError('the certificate of the authority has no subject');
  const subject = sshpk.identityForHost(names[0] ?? 'localhost');
  const certificate = sshpk.createCertificate(subject, key, issuerName, issuerKey, {
    ...chooseValidity(730),
    serial: chooseSerial(),
    purposes: ['signature', 'keyAgreement', 'serverAuth'],
  });
  signStrictly(certificate, issuerKey, { oid: extensions.names, data: writeNames(names) });
  return writePem(certificate, key);
}
