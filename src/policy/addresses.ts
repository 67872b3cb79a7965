import { readAddressBytes } from '../base/addresses.ts';

/** The bytes of an IP address: 4 or 16. */
export type Address = readonly number[];

/** A network: its address and the length of its prefix in bits. */
export interface Network {
  address: Address;
  bits: number;
}

const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

function isMapped(bytes: readonly number[]): boolean {
  return bytes.length === 16 && mappedPrefix.every((byte, index) => bytes[index] === byte);
}

/** Reads an IPv4 or IPv6 address. An IPv4-mapped IPv6 address is read as IPv4; a zone after `%` is ignored. */
export function readAddress(text: string): Address | undefined {
  const bytes = readAddressBytes(text.replace(/%[^%]*$/, ''));
  return bytes && isMapped(bytes) ? bytes.slice(12) : bytes;
}

/** Reads an address or `address/bits`. */
export function readNetwork(text: string): Network | undefined {
  const [written = '', size, more] = text.split('/', 3);
  const bytes = readAddressBytes(written);
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
