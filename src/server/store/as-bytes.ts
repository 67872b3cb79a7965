/** Converts the bytes of a row: one of the database engines returns an ArrayBuffer. */
export function asBytes(bytes: Uint8Array | ArrayBuffer): Uint8Array {
  return bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
}
