import { quietly } from '../../base/errors.ts';

/** Parameters whose values grant access: whoever reads the signature of a pre-signed URL can use it. */
const secrets: ReadonlySet<string> = new Set(['signature', 'password', 'password_confirmation']);

function isSecret(name: string): boolean {
  return quietly(() => secrets.has(decodeURIComponent(name.replaceAll('+', ' ')).trim().toLowerCase()), false);
}

function redactPair(pair: string): string {
  const [name = '', ...value] = pair.split('=');
  return value.length > 0 && isSecret(name) ? `${name}=...` : pair;
}

/** A request target for the log, without secrets, however their names are encoded. Bytes that could control a terminal are escaped. */
export function redactTarget(target: string): string {
  const shown = target.replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent);
  const mark = shown.indexOf('?');
  if (mark === -1) return shown;
  const query = shown.slice(mark + 1).replaceAll(/[^&?]+/gu, redactPair);
  return shown.slice(0, mark + 1) + query;
}
