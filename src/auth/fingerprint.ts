import { hash } from 'node:crypto';
import { UsageError } from '../base/errors.ts';
import { fingerprintOf, separatePairs } from '../base/fingerprint.ts';

/** The two fingerprints of a public key. */
export interface Fingerprints {
  /** `aa:bb:...`, 16 bytes in lower-case hexadecimal. */
  md5: string;
  /** `SHA256:` and base64 without padding. */
  sha256: string;
}

/** Fingerprints of a key in OpenSSH's binary form. The services identify keys by MD5, so SHA256 is computed only when it is read. */
export function computeFingerprints(blob: Uint8Array): Fingerprints {
  return {
    md5: fingerprintOf(blob),
    get sha256() {
      return `SHA256:${hash('sha256', blob, 'base64').replace(/=+$/, '')}`;
    },
  };
}

/**
 * Normalizes a fingerprint to the spelling of `Fingerprints`: MD5 with or without `MD5:`, with or without colons, in any case; SHA256 with
 * its prefix. @throws {UsageError} for anything else.
 */
export function readFingerprint(text: string): string {
  const trimmed = text.trim();
  const hexadecimal = /^(?:md5:)?((?:[0-9a-f]{2}:){15}[0-9a-f]{2}|[0-9a-f]{32})$/i.exec(trimmed)?.[1];
  if (hexadecimal !== undefined) return separatePairs(hexadecimal.toLowerCase().replaceAll(':', ''));
  const base64 = /^sha256:([A-Za-z0-9+/]{43})=?$/i.exec(trimmed)?.[1];
  if (base64 !== undefined) return `SHA256:${base64}`;
  throw new UsageError(`"${text}" is not the fingerprint of a key: MD5 (aa:bb:...) or SHA256 (SHA256:...)`, {
    hint: 'see the fingerprints of your keys: cloud keys local',
  });
}

/** True if the fingerprint, as `readFingerprint` returns it, is one of these. */
export function matchFingerprint(wanted: string, { md5, sha256 }: Fingerprints): boolean {
  return wanted === md5 || wanted === sha256;
}
