import { hash } from 'node:crypto';
import { UsageError } from './errors.ts';

/** Hexadecimal digits in pairs, separated by colons. */
export function separatePairs(hexadecimal: string): string {
  return hexadecimal.replace(/..(?!$)/g, '$&:');
}

/** MD5 fingerprint of a public key in OpenSSH's binary form: `aa:bb:...`, 16 bytes. */
export function fingerprintOf(blob: Uint8Array): string {
  return separatePairs(hash('md5', blob, 'hex'));
}

/** MD5 fingerprint of a key in OpenSSH format. @throws {UsageError} when the text is not such a key */
export function computeMd5(openssh: string, where: string): string {
  const [type = '', blob = ''] = openssh.trim().split(/\s+/);
  if (!/^(ssh|ecdsa|sk)-/.test(type) || !/^AAAA[\w+/]+=*$/.test(blob)) {
    throw new UsageError(`${where}: is not a public key in OpenSSH format`, { hint: 'a key is a line such as ssh-rsa AAAA... name' });
  }
  return fingerprintOf(Buffer.from(blob, 'base64'));
}
