/** Syntax of request and response headers (RFC 9110, section 5). */

/** Pattern of a `token`. */
export const token = String.raw`[!#$%&'*+\-.^_\x60|~\da-zA-Z]+`;

/** Pattern of a header value without blanks around it, one character per byte; it may be empty. */
export const fieldContent = String.raw`(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?`;

const wholeToken = new RegExp(`^${token}$`);

/** True if a text is a valid header name or method. */
export function isToken(text: string): boolean {
  return wholeToken.test(text);
}

/** True if a text, one character per byte, is a valid header value. */
export function isFieldValue(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text);
}
