/** What heads of requests and replies consist of (RFC 9110, section 5). */

/** A name, as the source of a pattern. */
export const token = String.raw`[!#$%&'*+\-.^_\x60|~\da-zA-Z]+`;

const wholeToken = new RegExp(`^${token}$`);

/** Whether a text can be the name of a header or of a method. */
export function isToken(text: string): boolean {
  return wholeToken.test(text);
}

/** Whether a text, one character for each byte, can be the value of a header. */
export function isFieldValue(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text);
}
