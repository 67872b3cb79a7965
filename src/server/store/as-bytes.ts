/** Converts the bytes of a row: one of the database engines returns an ArrayBuffer. */
export function asBytes(bytes: Uint8Array | ArrayBuffer): Buffer {
  return bytes instanceof Uint8Array ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) : Buffer.from(bytes);
}
