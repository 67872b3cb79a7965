import { isIPv4, isIPv6 } from 'node:net';

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
  return [...first, ...new Uint8Array(16 - first.length - last.length), ...last];
}

/** The bytes of an IP address, 4 or 16; undefined for other text, and for an address with a zone. */
export function readAddressBytes(text: string): number[] | undefined {
  if (isIPv4(text)) return readBytes4(text);
  return isIPv6(text) && !text.includes('%') ? readBytes16(text) : undefined;
}
