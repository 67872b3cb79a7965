import type { Headers } from '../../api/message.ts';
import { redactTarget } from '../http/redact-target.ts';

/** What stands where a secret stood. */
const redacted = '(redacted)';

/** Names of values that let somebody in, wherever they stand. */
const secretName = /pass(?:word|phrase|wd)|secret|token|credential|private.?key|authori[sz]ation|cookie|signature|api.?key|_pw$/iu;

/** A private key in PEM or OpenSSH format, or a signature of a request, in a text. */
const secretText = /PRIVATE KEY-----|[?&]signature=[A-Za-z0-9+/=%_-]{16,}|Signature keyId=/iu;

/** Parameters of the signature of a pre-signed URL, which are others in each run. */
const signatureNames: ReadonlySet<string> = new Set(['signature', 'keyid', 'algorithm', 'expires']);

/** True for a text that holds a private key or a signature. */
export function holdsSecret(text: string): boolean {
  return secretText.test(text);
}

/** A JSON value whose secrets, by the names of their fields or their content, are replaced. */
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

/** Headers without those whose names promise a secret; a URL in one loses its signature. */
export function redactHeaders(headers: Headers): Headers {
  const kept = Object.entries(headers).filter(([name]) => !secretName.test(name));
  return Object.fromEntries(
    kept.flatMap(([name, value]) => {
      const shown = /^(?:https?:|\/)/u.test(value) ? redactTarget(value) : value;
      return holdsSecret(shown) ? [] : [[name, shown]];
    }),
  );
}

/** The query of a request, sorted, without its signature and secrets: the same in each run. */
export function normaliseQuery(target: string): string {
  const mark = target.indexOf('?');
  if (mark === -1) return '';
  const pairs = [...new URLSearchParams(target.slice(mark + 1))].filter(([name]) => !signatureNames.has(name.toLowerCase()));
  const shown = pairs.map(([name, value]): [string, string] => [name, secretName.test(name) || holdsSecret(value) ? redacted : value]);
  return new URLSearchParams(shown.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))).toString();
}
