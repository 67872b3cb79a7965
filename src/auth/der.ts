import { padPositive } from './wire.ts';

/** The DER encodings that signatures, DSA keys and certificates need. */

/** A value (X.690): tag, length, content. */
export function writeElement(tag: number, content: Uint8Array): Buffer {
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content]);
  const digits = Buffer.from(length.toString(16).padStart(length > 0xff ? 4 : 2, '0'), 'hex');
  return Buffer.concat([Buffer.of(tag, 0x80 | digits.length), digits, content]);
}

/** An INTEGER from a big-endian magnitude. */
export function writeDerInteger(magnitude: Buffer): Buffer {
  return writeElement(0x02, padPositive(magnitude));
}

/** A SEQUENCE of elements; up to 64 KiB. */
export function writeDerSequence(...elements: Uint8Array[]): Buffer {
  return writeElement(0x30, Buffer.concat(elements));
}

/** A BIT STRING of whole bytes. */
export function writeDerBits(content: Uint8Array): Buffer {
  return writeElement(0x03, Buffer.concat([Buffer.of(0), content]));
}

/** The two numbers of a DSA or ECDSA signature in the form that `openssl dgst -verify` reads. */
export function writeDerSignature(r: Buffer, s: Buffer): Buffer {
  return writeDerSequence(writeDerInteger(r), writeDerInteger(s));
}
