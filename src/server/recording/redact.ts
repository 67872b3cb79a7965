import type { Headers } from '../../api/message.ts';
import { redactTarget } from '../http/redact-target.ts';

/** Replacement of a secret. */
const redacted = '(redacted)';

/** Names of values that grant access. */
const secretName = /pass(?:word|phrase|wd)|secret|token|credential|private.?key|authori[sz]ation|cookie|signature|api.?key|_pw$/iu;

/** A private key in PEM or OpenSSH format, or a request signature, within a text. */
const secretText = /PRIVATE KEY-----|[?&]signature=[A-Za-z0-9+/=%_-]{16,}|Signature keyId=/iu;

/** Query parameters of the signature of a pre-signed URL, which differ in each run. */
const signatureNames: ReadonlySet<string> = new Set(['signature', 'keyid', 'algorithm', 'expires']);

/** True if a text contains a private key or a signature. */
export function holdsSecret(text: string): boolean {
  return secretText.test(text);
}

/** Replaces secrets in a JSON value, by field name or content. */
export function redactValue(value: unknown): unknown {
  if (typeof value === 'string') return holdsSecret(value) ? redacted : value;
  if (Array.isArray(value)) return value.map(redactValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => {
      const isSecret = secretName.test(name) && each !== null && typeof each !== 'boolean';
      return [name, isSecret ? redacted : redactValue(each)];
    }),
  );
}

/** Removes headers whose names suggest a secret; URLs in other headers lose their signatures. */
export function redactHeaders(headers: Headers): Headers {
  const kept = Object.entries(headers).filter(([name]) => !secretName.test(name));
  return Object.fromEntries(
    kept.flatMap(([name, value]) => {
      const shown = /^(?:https?:|\/)/u.test(value) ? redactTarget(value) : value;
      return holdsSecret(shown) ? [] : [[name, shown]];
    }),
  );
}

/** The sorted query of a request, without signature and secrets: the same in each run. */
export function normalizeQuery(target: string): string {
  const mark = target.indexOf('?');
  if (mark === -1) return '';
  const pairs = [...new URLSearchParams(target.slice(mark + 1))].filter(([name]) => !signatureNames.has(name.toLowerCase()));
  const shown = pairs.map(([name, value]): [string, string] => [name, secretName.test(name) || holdsSecret(value) ? redacted : value]);
  return new URLSearchParams(shown.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))).toString();
}
