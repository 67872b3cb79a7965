import { BlockList, isIP } from 'node:net';
import { UsageError } from '../../base/errors.ts';
import { showAddress } from './request-log.ts';

/**
 * Returns a function that checks whether an address is in one of these ranges.
 * @param ranges addresses, or `ADDRESS/BITS`
 * @throws {UsageError} for any other text
 */
export function readAddressRanges(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/u.exec(range) ?? [];
    const [family, most] = isIP(address) === 4 ? (['ipv4', 32] as const) : (['ipv6', 128] as const);
    if (isIP(address) === 0 || Number(bits ?? most) > most) {
      throw new UsageError(`${range}: is not a range of addresses`, { hint: 'for example 10.0.0.0/8, 192.0.2.7 or 2001:db8::/32' });
    }
    list.addSubnet(address, Number(bits ?? most), family);
  }
  return (given) => {
    const address = showAddress({ remoteAddress: given });
    return isIP(address) !== 0 && list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
  };
}
