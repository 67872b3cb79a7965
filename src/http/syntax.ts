/** Syntax of request and response headers (RFC 9110, section 5). */

/** Pattern of a `token`. */
export const token = String.raw`[!#$%&'*+\-.^_\x60|~\da-zA-Z]+`;

const wholeToken = new RegExp(`^${token}$`);

/** True if a text is a valid header name or method. */
export function isToken(text: string): boolean {
  return wholeToken.test(text);
}

/** Lower-case forms of valid header names: every message has the same few. */
const names = new Map<string, string>();
const mostNames = 200;

/** A header name in lower case; undefined if it is invalid. */
export function readName(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || !isToken(text)) return known;
  const name = text.toLowerCase();
  if (names.size < mostNames) names.set(text, name);
  return name;
}

/** True if a text, one character per byte, is a valid header value. */
export function isFieldValue(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text);
}
