/** Data types of the SSH protocol (RFC 4251, section 5), used in public keys, OpenSSH key files and agent messages. */

/** Reads the fields of an SSH message in order; each method throws `RangeError` when the message is too short. */
export interface WireReader {
  readByte(): number;
  readUint32(): number;
  /** The bytes of a `string` field. */
  readBytes(): Buffer;
  /** A `string` field as UTF-8. */
  readText(): string;
  /** The magnitude of an `mpint` field, big-endian, without leading zeros. @throws {RangeError} when it is negative or zero. */
  readInteger(): Buffer;
  readFixed(length: number): Buffer;
  atEnd(): boolean;
}

export function createWireReader(bytes: Uint8Array): WireReader {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let offset = 0;
  const readFixed = (length: number): Buffer => {
    if (offset + length > buffer.length) throw new RangeError('the data ends too early');
    offset += length;
    return buffer.subarray(offset - length, offset);
  };
  const readUint32 = (): number => readFixed(4).readUInt32BE(0);
  const readBytes = (): Buffer => readFixed(readUint32());
  const readInteger = (): Buffer => {
    const bytes = readBytes();
    if ((bytes[0] ?? 0x80) >= 0x80) throw new RangeError('a number is not positive');
    const magnitude = stripZeros(bytes);
    if (magnitude.length === 0) throw new RangeError('a number is not positive');
    return magnitude;
  };
  return {
    readByte: () => readFixed(1).readUInt8(0),
    readUint32,
    readBytes,
    readText: () => readBytes().toString('utf8'),
    readInteger,
    readFixed,
    atEnd: () => offset === buffer.length,
  };
}

/** Removes leading zero bytes of a big-endian number. */
export function stripZeros(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  return first === -1 ? bytes.subarray(bytes.length) : bytes.subarray(first);
}

/** A magnitude as a positive two's complement number: with a leading zero byte when its highest bit is set. */
export function padPositive(magnitude: Buffer): Buffer {
  const stripped = stripZeros(magnitude);
  return (stripped[0] ?? 0x80) >= 0x80 ? Buffer.concat([Buffer.of(0), stripped]) : stripped;
}

/** A `string` field. */
export function writeField(value: Uint8Array | string): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  return Buffer.concat([writeUint32(bytes.length), bytes]);
}

/** An `mpint` field from a big-endian magnitude. */
export function writeInteger(magnitude: Buffer): Buffer {
  return writeField(padPositive(magnitude));
}

/** A `uint32` field. */
export function writeUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
