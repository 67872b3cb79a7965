/** The FNV-1a hash of a text, an unsigned 32-bit number: for short names, a digest of `node:crypto` would cost more. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** The same in eight hexadecimal digits. */
export function digestText(text: string): string {
  return hashText(text).toString(16).padStart(8, '0');
}
