import { X509Certificate, type KeyObject } from 'node:crypto';
import type { PublicKey } from '../../auth/public-key.ts';
import type { ApiError } from '../../base/errors.ts';
import type { Call } from '../http/handler.ts';
import { isCheap } from '../access/key-strength.ts';
import { assertWithinLimit } from '../limit.ts';
import { readExtensions, type CertificateExtensions } from './certificate-extensions.ts';
import { createFieldError } from './names.ts';

/** The stored parts of an attestation: JSON of the certificates and, if the chain is trusted, JSON of the factors. */
export interface Attestation {
  attestation: string | null;
  multifactor: string | null;
}

/** A certificate and its extensions. */
interface Certified extends CertificateExtensions {
  readonly certificate: X509Certificate;
}

function createAttestationError(message: string): ApiError {
  return createFieldError('attestation', message, `attestation: ${message}`);
}

function parseCertificate(pem: string, index: number): Certified {
  try {
    const certificate = new X509Certificate(pem);
    if (!isCheap(certificate.publicKey)) throw new RangeError('verification with this key takes too long');
    return { certificate, ...readExtensions(certificate) };
  } catch {
    throw createAttestationError(`certificate ${index + 1} cannot be read: send a list of certificates in PEM`);
  }
}

function findDateProblem({ certificate }: Certified, now: number): string | undefined {
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  if (now < from) return `is not valid before ${new Date(from).toISOString()}`;
  return now > to ? `expired on ${new Date(to).toISOString()}` : undefined;
}

function isIssuedBy({ certificate }: Certified, { certificate: issuer }: Certified): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

/**
 * The chain up to the authority, in which each certificate is issued by the next one. Undefined if the chain does not lead to the
 * authority.
 */
function completeChain(chain: readonly Certified[], authority: Certified): Certified[] | undefined {
  const isWhole = chain.at(-1)?.certificate.fingerprint256 === authority.certificate.fingerprint256;
  const whole = isWhole ? [...chain] : [...chain, authority];
  const isLinked = whole.every((each, index) => {
    const issuer = whole[index + 1];
    return issuer === undefined || isIssuedBy(each, issuer);
  });
  return isLinked ? whole : undefined;
}

function isSelfIssued({ certificate }: Certified): boolean {
  return certificate.subject === certificate.issuer;
}

/** Why a certificate may not issue the certificates below it (RFC 5280, 6.1.4 k, l, n), as a message. */
function findIssuerProblem(issuer: Certified, below: readonly Certified[], isAnchor: boolean): string | undefined {
  const { constraints, signsCertificates, version } = issuer;
  // A trust anchor may be older than basic constraints.
  const isOld = isAnchor && version < 3 && isSelfIssued(issuer);
  if (constraints?.isAuthority !== true && !isOld) return 'is not a CA certificate and cannot issue certificates';
  if (signsCertificates === false) return 'has a key usage that does not allow signing certificates';
  const between = below.filter((each) => !isSelfIssued(each)).length;
  const { pathLength } = constraints ?? {};
  return pathLength !== undefined && between > pathLength ? `allows ${pathLength} intermediate certificates, not ${between}` : undefined;
}

/** 1.3.6.1.4.1.41482.3.8: whether the device that holds the key requires a PIN and a touch, one byte each; 1 means never. */
const policyIdentifier = '2b0601040182c40a0308';

/** Extensions that are processed here, or that do not affect a chain: basic constraints, key usage, extended key usage, names. */
const understood: ReadonlySet<string> = new Set(['551d13', '551d0f', '551d25', '551d11', policyIdentifier]);

function findExtensionProblem({ critical }: Certified): string | undefined {
  return critical.some((identifier) => !understood.has(identifier)) ? 'has an unknown critical extension' : undefined;
}

/** What is wrong with a chain that leads to the authority, as a message with the number of the certificate. */
function findChainProblem(chain: readonly Certified[]): string | undefined {
  for (const [index, each] of chain.entries()) {
    const isAnchor = index === chain.length - 1;
    const problem = findExtensionProblem(each) ?? (index === 0 ? undefined : findIssuerProblem(each, chain.slice(1, index), isAnchor));
    if (problem !== undefined) return `certificate ${index + 1} ${problem}`;
  }
  return undefined;
}

function readFactors({ contents }: Certified): string[] {
  const value = contents.get(policyIdentifier);
  if (value?.length !== 2) return [];
  const [pin = 0, touch = 0] = value;
  return [...(pin > 1 ? ['pin'] : []), ...(touch > 1 ? ['touch'] : [])];
}

/** True if the chain leads to the authority and is valid. @throws {ApiError} if it leads to the authority but is not valid */
function isBelieved(chain: readonly Certified[], pem: string | undefined, now: number): boolean {
  if (pem === undefined) return false;
  const certificate = new X509Certificate(pem);
  const authority = { certificate, ...readExtensions(certificate) };
  const whole = completeChain(chain, authority);
  if (whole === undefined || findDateProblem(authority, now) !== undefined) return false;
  const problem = findChainProblem(whole);
  if (problem !== undefined) throw createAttestationError(problem);
  return true;
}

/** True for the same public key. Of different types `equals` says false too, but then the next call of OpenSSL fails with its error. */
function isSameKey(one: KeyObject, other: KeyObject): boolean {
  return one.asymmetricKeyType === other.asymmetricKeyType && one.equals(other);
}

/**
 * Reads the attestation certificates of a key. They attest only if the service has an authority that they lead to.
 * @throws {ApiError} 409 `InvalidArgument` for a certificate that is malformed, not valid now, about another key, or issued without
 * permission
 */
export function readAttestation(pems: readonly string[] | undefined, key: PublicKey, { settings, now }: Call): Attestation {
  const subject = { has: 'attestation may have', counted: 'certificates', field: 'attestation' };
  assertWithinLimit(settings, 'attestationCertificates', pems?.length ?? 0, subject);
  const chain = (pems ?? []).map(parseCertificate);
  const [first] = chain;
  if (first === undefined) return { attestation: null, multifactor: null };
  for (const [index, each] of chain.entries()) {
    const problem = findDateProblem(each, now());
    if (problem !== undefined) throw createAttestationError(`certificate ${index + 1} ${problem}`);
  }
  if (!isSameKey(first.certificate.publicKey, key.keyObject)) throw createAttestationError('the first certificate is not for this key');
  const multifactor = isBelieved(chain, settings.attestationAuthority, now()) ? JSON.stringify(readFactors(first)) : null;
  return { attestation: JSON.stringify(pems), multifactor };
}
