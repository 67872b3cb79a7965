import { quietly } from './errors.ts';

const passwords: ReadonlySet<string> = new Set(['password', 'password_confirmation']);

/** Parameters whose values grant access: whoever reads the signature of a pre-signed URL can use it. */
const secrets: ReadonlySet<string> = new Set([...passwords, 'signature']);

const redacted = '(redacted)';

function isNamed(names: ReadonlySet<string>, name: unknown): boolean {
  return typeof name === 'string' && names.has(name.trim().toLowerCase());
}

/** The name in `name=value` if it is one of the given names, however it is encoded. */
function findSecretName(pair: string, names: ReadonlySet<string>): string | undefined {
  const [name = '', ...value] = pair.split('=');
  const decoded = quietly(() => decodeURIComponent(name.replaceAll('+', ' ')), name);
  return value.length > 0 && isNamed(names, decoded) ? name : undefined;
}

/**
 * Redacts the value of `name=value` if the name is one of the given names, also behind a semicolon: `&amp;signature=` of a URL that was
 * copied from a web page contains a valid signature.
 */
function redactPair(pair: string, names: ReadonlySet<string>): string {
  const pieces = pair.split(';');
  for (const [index, piece] of pieces.entries()) {
    const name = findSecretName(piece, names);
    // A value may contain semicolons itself.
    if (name !== undefined) return [...pieces.slice(0, index), `${name}=${redacted}`].join(';');
  }
  return pair;
}

/** Redacts signatures and passwords in a query without its question mark, or in a form. */
export function redactPairs(query: string, names = secrets): string {
  return query.replaceAll(/[^&?\r\n]+/gu, (pair) => redactPair(pair, names));
}

/** Redacts signatures and passwords in the query of a URL or request target. */
export function redactQuery(target: string, names = secrets): string {
  const mark = target.indexOf('?');
  return mark === -1 ? target : target.slice(0, mark + 1) + redactPairs(target.slice(mark + 1), names);
}

/** Redacts the passwords in the query of a URL or request target, and no signature: for a request that is printed to be sent again. */
export function redactPasswords(target: string): string {
  return redactQuery(target, passwords);
}

/** Redacts signatures and passwords in the URLs of a text. */
export function redactUrls(text: string): string {
  return text.replaceAll(/(?<=[?&])[^=&?\s'"]+=[^&\s'"]+/gu, (pair) => redactPair(pair, secrets));
}

/** The strings of a JSON text and what is between them; in truncated text, the last string may lack its end. */
const jsonPieces = /"(?:[^"\\]|\\.)*(?:"|\\?$)|[^"]+/gsu;

function isPasswordName(json: string): boolean {
  return quietly(() => isNamed(passwords, JSON.parse(json)), false);
}

/** Redacts the passwords in JSON, even if it is truncated, however their names are escaped. */
function redactJson(json: string): string {
  /** True after the name of a password, until its value. */
  let isExpected = false;
  return json.replaceAll(jsonPieces, (piece) => {
    const wasExpected = isExpected;
    if (!piece.startsWith('"')) {
      isExpected = wasExpected && /^\s*:[\s[]*$/u.test(piece);
      return wasExpected && !isExpected ? piece.replace(/^(\s*:[\s[]*)[-+.\w]+/u, `$1"${redacted}"`) : piece;
    }
    isExpected = !wasExpected && isPasswordName(piece);
    return wasExpected ? `"${redacted}"` : piece;
  });
}

/** Redacts the passwords in a multipart form, even if it is truncated. */
function redactParts(form: string): string {
  const boundary = /^--[^\r\n]+/mu.exec(form)?.[0];
  if (boundary === undefined) return form;
  const parts = form.split(boundary).map((part) => {
    const head = /^[^]*?\r?\n\r?\n/u.exec(part)?.[0] ?? '';
    const name = /^content-disposition:.*?\bname="?([^"\r\n;]*)/imu.exec(head)?.[1];
    return isNamed(passwords, name) ? `${head}${redacted}\r\n` : part;
  });
  return parts.join(boundary);
}

/** Redacts the passwords in the body of a request or response: JSON or a form, even if it is truncated. */
export function redactBody(text: string): string {
  return /^\s*[[{"]/u.test(text) ? redactJson(text) : redactPairs(redactParts(redactJson(text)), passwords);
}
