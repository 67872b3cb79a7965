import { isIPv4, isIPv6 } from 'node:net';

/** The bytes of an IP address: 4 or 16. */
export type Address = readonly number[];

/** A network: its address and the length of its prefix in bits. */
export interface Network {
  address: Address;
  bits: number;
}

const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

function readBytes4(text: string): number[] {
  return text.split('.').map(Number);
}

/** The bytes of one half of an IPv6 address; the last group may be an IPv4 address. */
function readGroups(half: string): number[] {
  if (half === '') return [];
  return half.split(':').flatMap((group) => {
    if (group.includes('.')) return readBytes4(group);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

function readBytes16(text: string): number[] {
  const [head = '', tail] = text.split('::');
  const first = readGroups(head);
  if (tail === undefined) return first;
  const last = readGroups(tail);
  return [...first, ...Array.from({ length: 16 - first.length - last.length }, () => 0), ...last];
}

function readRaw(text: string): number[] | undefined {
  if (isIPv4(text)) return readBytes4(text);
  return isIPv6(text) && !text.includes('%') ? readBytes16(text) : undefined;
}

function isMapped(bytes: readonly number[]): boolean {
  return bytes.length === 16 && mappedPrefix.every((byte, index) => bytes[index] === byte);
}

/** Reads an IPv4 or IPv6 address. An IPv4-mapped IPv6 address is read as IPv4; a zone after `%` is ignored. */
export function readAddress(text: string): Address | undefined {
  const bytes = readRaw(text.replace(/%[^%]*$/, ''));
  return bytes && isMapped(bytes) ? bytes.slice(12) : bytes;
}

/** Reads an address or `address/bits`. */
export function readNetwork(text: string): Network | undefined {
  const [written = '', size, more] = text.split('/', 3);
  const bytes = readRaw(written);
  if (!bytes || more !== undefined || (size !== undefined && !/^\d{1,3}$/.test(size))) return undefined;
  const bits = size === undefined ? bytes.length * 8 : Number(size);
  if (bits > bytes.length * 8) return undefined;
  return isMapped(bytes) && bits >= 96 ? { address: bytes.slice(12), bits: bits - 96 } : { address: bytes, bits };
}

/** True if the network contains the address. IPv6 networks see IPv4 addresses as `::ffff:a.b.c.d`; IPv4 networks contain no IPv6 ones. */
export function containsAddress({ address, bits }: Network, given: Address): boolean {
  const candidate = given.length === 4 && address.length === 16 ? [...mappedPrefix, ...given] : given;
  if (address.length !== candidate.length) return false;
  return address.every((byte, index) => {
    const counted = Math.min(8, Math.max(0, bits - index * 8));
    return byte >> (8 - counted) === (candidate[index] ?? 0) >> (8 - counted);
  });
}
