import type { X509Certificate } from 'node:crypto';

/** Properties of a certificate that RFC 5280 needs to check a chain and that Node.js does not provide. */
export interface CertificateExtensions {
  /** 1 to 3; only certificates of version 3 have extensions. */
  readonly version: number;
  /** Basic constraints (4.2.1.9); undefined if there are none. */
  readonly constraints: { readonly isAuthority: boolean; readonly pathLength: number | undefined } | undefined;
  /** True if the key usage (4.2.1.3) allows signing certificates; undefined if there is no key usage. */
  readonly signsCertificates: boolean | undefined;
  /** Content of each extension, by its object identifier (DER without tag and length, hexadecimal). */
  readonly contents: ReadonlyMap<string, Buffer>;
  /** Object identifiers of the critical extensions. */
  readonly critical: readonly string[];
}

const tags = { boolean: 0x01, integer: 0x02, bits: 0x03, octets: 0x04, identifier: 0x06, sequence: 0x30, version: 0xa0, extensions: 0xa3 };

/** Object identifiers 2.5.29.19 and 2.5.29.15. */
const identifiers = { constraints: '551d13', keyUsage: '551d0f' };

/** `keyCertSign`, bit number 5 of a key usage. */
const certificateSigning = 0x04;

interface Element {
  readonly tag: number;
  readonly content: Buffer;
}

/** Parses consecutive DER elements. @throws {RangeError} if `bytes` is not DER */
function readElements(bytes: Buffer): Element[] {
  const elements: Element[] = [];
  for (let at = 0; at < bytes.length;) {
    const tag = bytes.readUInt8(at);
    const first = bytes.readUInt8(at + 1);
    const digits = first < 0x80 ? 0 : first & 0x7f;
    if (first === 0x80 || digits > 4) throw new RangeError('a length that is not valid DER');
    const length = digits === 0 ? first : bytes.readUIntBE(at + 2, digits);
    const start = at + 2 + digits;
    if (start + length > bytes.length) throw new RangeError('an incomplete element');
    elements.push({ tag, content: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return elements;
}

function readFirst(bytes: Buffer): Buffer {
  return readElements(bytes)[0]?.content ?? Buffer.alloc(0);
}

function isTrue(element: Element | undefined): boolean {
  return element?.tag === tags.boolean && element.content[0] !== 0;
}

function readConstraints(content: Buffer): CertificateExtensions['constraints'] {
  const [first, ...rest] = readElements(readFirst(content));
  const length = [first, ...rest].find((element) => element?.tag === tags.integer)?.content;
  const pathLength = length === undefined || length.length > 6 ? undefined : length.readUIntBE(0, length.length);
  return { isAuthority: isTrue(first), pathLength };
}

/** Reads the extensions of a certificate. @throws {RangeError} if its DER is damaged */
export function readExtensions({ raw }: X509Certificate): CertificateExtensions {
  // Certificate ::= SEQUENCE { tbsCertificate SEQUENCE { [0] version, ..., [3] extensions }, ... }
  const body = readElements(readFirst(readFirst(raw)));
  const version = body.find(({ tag }) => tag === tags.version)?.content;
  const list = body.find(({ tag }) => tag === tags.extensions)?.content;
  const contents = new Map<string, Buffer>();
  const critical: string[] = [];
  for (const { content } of list === undefined ? [] : readElements(readFirst(list))) {
    const [name, ...rest] = readElements(content);
    const value = rest.find(({ tag }) => tag === tags.octets);
    if (name?.tag !== tags.identifier || value === undefined) throw new RangeError('an extension without name or value');
    const identifier = name.content.toString('hex');
    // RFC 5280, 4.2: at most one extension of each kind.
    if (contents.has(identifier)) throw new RangeError('a repeated extension');
    contents.set(identifier, value.content);
    if (isTrue(rest[0])) critical.push(identifier);
  }
  const [constraints, usage] = [contents.get(identifiers.constraints), contents.get(identifiers.keyUsage)];
  return {
    version: version === undefined ? 1 : readFirst(version).readUInt8(0) + 1,
    constraints: constraints && readConstraints(constraints),
    // The first byte of a bit string is the number of unused bits.
    signsCertificates: usage && ((readFirst(usage)[1] ?? 0) & certificateSigning) !== 0,
    contents,
    critical,
  };
}
