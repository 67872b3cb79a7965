import { createHash } from 'node:crypto';
import { UsageError } from './errors.ts';

/** MD5 fingerprint of a key in OpenSSH format. @throws {UsageError} when the text is not such a key */
export function computeMd5(openssh: string, where: string): string {
  const [type = '', blob = ''] = openssh.trim().split(/\s+/);
  if (!/^(ssh|ecdsa|sk)-/.test(type) || !/^AAAA[\w+/]+=*$/.test(blob)) {
    throw new UsageError(`${where}: is not a public key in OpenSSH format`, { hint: 'a key is a line such as ssh-rsa AAAA... name' });
  }
  const digest = createHash('md5').update(Buffer.from(blob, 'base64')).digest('hex');
  return digest.replaceAll(/..(?=.)/g, '$&:');
}
