import { inspectKeyFile, unlockKeyFile, type AskPassphrase } from '../../src/auth/private-key.ts';
import type { Signer } from '../../src/auth/signer.ts';

/** Creates a signer from a private key file. */
export async function loadPrivateKey(path: string, askPassphrase?: AskPassphrase): Promise<Signer> {
  return unlockKeyFile(await inspectKeyFile(path), askPassphrase);
}
