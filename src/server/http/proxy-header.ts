import { isIPv4, isIPv6 } from 'node:net';

/**
 * The header in which a load balancer sends the address of its client: PROXY protocol, versions 1 and 2, of HAProxy's `proxy-protocol.txt`.
 * Parsing is strict: everything that a receiver may reject is rejected.
 */

/** A parsed header. */
export interface ProxyHeader {
  /** Length of the header in bytes. */
  readonly length: number;
  /** IP address of the client; undefined if the connection is the load balancer's own, or if the load balancer does not know the client. */
  readonly address: string | undefined;
}

/** Thrown for an invalid header. */
export class InvalidProxyHeader extends Error {}

const firstPrefix = Buffer.from('PROXY ');
const firstEnd = Buffer.from('\r\n');
/** Maximum length of a version 1 header in bytes (section 2.1). */
const firstLimit = 107;

const secondPrefix = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** True if bytes of a connection begin as a header does, which need not be valid. */
export function beginsAsProxied(bytes: Uint8Array): boolean {
  return [firstPrefix, secondPrefix].some((prefix) => prefix.equals(bytes.subarray(0, prefix.length)));
}

const secondHead = 16;
/** Maximum size in bytes of addresses and further fields in version 2. Load balancers send certificate names at most. */
const secondLimit = 4096;

const commands = { local: 0x20, proxy: 0x21 } as const;
/** Address family and transport (section 2.2), and the size of two addresses and two ports in bytes. */
const unspecified = 0x00;
const tcpFamilies: ReadonlyMap<number, { readonly addressBytes: number; readonly total: number }> = new Map([
  [0x11, { addressBytes: 4, total: 12 }],
  [0x21, { addressBytes: 16, total: 36 }],
]);

/** The canonical form of an address, as used in policies and logs. */
function normalize(address: string): string {
  if (isIPv4(address)) return address;
  const text = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/u.exec(text) ?? [];
  if (high === undefined || low === undefined) return text;
  const bits = Number.parseInt(high, 16) * 0x1_00_00 + Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 0xff).join('.');
}

function isPort(text: string): boolean {
  return /^(?:0|[1-9]\d{0,4})$/u.test(text) && Number(text) <= 65_535;
}

function readFirst(bytes: Buffer): ProxyHeader | undefined {
  const end = bytes.subarray(0, firstLimit).indexOf(firstEnd);
  if (end === -1) {
    if (bytes.length >= firstLimit) throw new InvalidProxyHeader('no end of line');
    return undefined;
  }
  const length = end + firstEnd.length;
  const line = bytes.subarray(0, end).toString('latin1');
  if (line === 'PROXY UNKNOWN' || line.startsWith('PROXY UNKNOWN ')) return { length, address: undefined };
  const [, family, ...words] = line.split(' ');
  const [source = '', target = '', ...ports] = words;
  const isAddress = family === 'TCP4' ? isIPv4 : (text: string) => family === 'TCP6' && isIPv6(text) && !text.includes('%');
  if (words.length !== 4 || ![source, target].every((each) => isAddress(each)) || !ports.every(isPort)) {
    throw new InvalidProxyHeader('addresses or ports');
  }
  return { length, address: normalize(source) };
}

/** Throws unless the fields after the addresses end exactly at the end of the header (section 2.2: type, length, value). */
function checkFields(fields: Buffer): void {
  let at = 0;
  while (at < fields.length) {
    if (at + 3 > fields.length) throw new InvalidProxyHeader('an incomplete field');
    at += 3 + fields.readUInt16BE(at + 1);
  }
  if (at !== fields.length) throw new InvalidProxyHeader('a field is longer than the header');
}

function writeAddress(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16));
  return normalize(groups.join(':'));
}

function readSecond(bytes: Buffer): ProxyHeader | undefined {
  if (bytes.length < secondHead) return undefined;
  const [command, family, size] = [bytes.readUInt8(12), bytes.readUInt8(13), bytes.readUInt16BE(14)];
  if (command !== commands.local && command !== commands.proxy) throw new InvalidProxyHeader('version or command');
  if (size > secondLimit) throw new InvalidProxyHeader(`more than ${secondLimit} bytes`);
  const length = secondHead + size;
  const known = tcpFamilies.get(family);
  if (command === commands.proxy && family !== unspecified && (known === undefined || size < known.total)) {
    throw new InvalidProxyHeader('addresses');
  }
  if (bytes.length < length) return undefined;
  if (command === commands.local || known === undefined) return { length, address: undefined };
  checkFields(bytes.subarray(secondHead + known.total, length));
  return { length, address: writeAddress(bytes.subarray(secondHead, secondHead + known.addressBytes)) };
}

/** True if the bytes so far are the start of the prefix, or begin with it. */
function mayBegin(bytes: Buffer, prefix: Buffer): boolean {
  const size = Math.min(bytes.length, prefix.length);
  return bytes.subarray(0, size).equals(prefix.subarray(0, size));
}

/**
 * Reads the header at the beginning of a connection.
 * @returns undefined while more bytes are needed
 * @throws {InvalidProxyHeader} as soon as the bytes cannot be a header
 */
export function readProxyHeader(bytes: Buffer): ProxyHeader | undefined {
  if (mayBegin(bytes, firstPrefix)) return readFirst(bytes);
  if (mayBegin(bytes, secondPrefix)) return readSecond(bytes);
  throw new InvalidProxyHeader('neither version');
}
