import { X509Certificate } from 'node:crypto';
import type { PublicKey } from '../../auth/public-key.ts';
import { ApiError } from '../../errors.ts';
import type { Call } from '../handler.ts';

/** What is kept of an attestation: JSON of the certificates and, where the chain is believed, of the factors. */
export interface Attestation {
  attestation: string | null;
  multifactor: string | null;
}

function refuse(message: string): ApiError {
  return new ApiError(409, 'InvalidArgument', `attestation: ${message}`, {
    errors: [{ field: 'attestation', code: 'InvalidArgument', message }],
  });
}

function parseCertificate(pem: string, index: number): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw refuse(`certificate ${index + 1} cannot be read: send a list of certificates in PEM`);
  }
}

function checkDates(certificate: X509Certificate, index: number, now: number): void {
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  if (now < from) throw refuse(`certificate ${index + 1} is not valid before ${new Date(from).toISOString()}`);
  if (now > to) throw refuse(`certificate ${index + 1} expired on ${new Date(to).toISOString()}`);
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

/** Whether each certificate is issued by the next one, and the last one by the authority, or is it. */
function isBelieved(chain: readonly X509Certificate[], pem: string | undefined): boolean {
  if (pem === undefined) return false;
  const authority = new X509Certificate(pem);
  const last = chain.at(-1);
  const ends = last !== undefined && (last.fingerprint256 === authority.fingerprint256 || isIssuedBy(last, authority));
  return ends && chain.slice(0, -1).every((certificate, index) => isIssuedBy(certificate, chain[index + 1] ?? authority));
}

/** 1.3.6.1.4.1.41482.3.8: when the device that holds the key wants a PIN and a touch, one byte each, of which 1 means never. */
const policyIdentifier = Buffer.from('060a2b0601040182c40a0308', 'hex');

function readFactors({ raw }: X509Certificate): string[] {
  const at = raw.indexOf(policyIdentifier);
  if (at === -1) return [];
  const after = raw.subarray(at + policyIdentifier.length);
  // A mark of being critical may come between.
  const value = after[0] === 0x01 ? after.subarray(3) : after;
  const [tag, length, pin = 0, touch = 0] = value;
  if (tag !== 0x04 || length !== 2) return [];
  return [...(pin > 1 ? ['pin'] : []), ...(touch > 1 ? ['touch'] : [])];
}

/**
 * Reads the attestation certificates of a key. They attest only where the service was given an authority that they lead to.
 * @throws {ApiError} 409 `InvalidArgument` for what is no certificate, not valid now, or about another key.
 */
export function readAttestation(pems: readonly string[] | undefined, key: PublicKey, { settings, now }: Call): Attestation {
  const chain = (pems ?? []).map(parseCertificate);
  const [first] = chain;
  if (first === undefined) return { attestation: null, multifactor: null };
  for (const [index, certificate] of chain.entries()) checkDates(certificate, index, now());
  if (!first.publicKey.equals(key.keyObject)) throw refuse('the first certificate is not about this key');
  const multifactor = isBelieved(chain, settings.attestationAuthority) ? JSON.stringify(readFactors(first)) : null;
  return { attestation: JSON.stringify(pems), multifactor };
}
