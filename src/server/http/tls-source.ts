import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { LocalError } from '../../base/errors.ts';
import { prepareTls } from './certificates.ts';

/** Where certificate and key come from: PEM files, or a folder in which both are created. */
export type TlsPlace = { readonly certificate: string; readonly key: string } | { readonly dir: string };

/** A certificate that is valid now. */
export interface TlsPair {
  readonly certificate: string;
  readonly key: string;
  /** Certificate file of the authority that clients have to trust, if it was created here. */
  readonly caFile?: string;
  /** When the certificate expires, milliseconds since the epoch. */
  readonly end: number;
}

/** Milliseconds between two reads of the files. */
const usualPeriod = 5000;

async function attempt<T>(name: string, use: 'read' | 'used', work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new LocalError(`${name}: cannot be ${use}: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Reads certificate and key.
 * @param names for which a certificate that is created here must be valid
 * @throws {LocalError} when they cannot be read, do not belong together, or the certificate has expired
 */
export async function readTls(place: TlsPlace, names: readonly string[], now: number): Promise<TlsPair> {
  const made = 'dir' in place ? await prepareTls(place.dir, names, now) : undefined;
  const [certificateName, keyName] = 'dir' in place ? [place.dir, place.dir] : [place.certificate, place.key];
  const certificate = made?.certificate ?? (await attempt(certificateName, 'read', () => readFile(certificateName, 'utf8')));
  const key = made?.key ?? (await attempt(keyName, 'read', () => readFile(keyName, 'utf8')));
  const parsed = await attempt(certificateName, 'used', () => new X509Certificate(certificate));
  const parsedKey = await attempt(keyName, 'used', () => createPrivateKey(key));
  if (!parsed.checkPrivateKey(parsedKey)) throw new LocalError(`${keyName}: does not match the certificate ${certificateName}`);
  const end = Date.parse(parsed.validTo);
  if (end <= now) throw new LocalError(`${certificateName}: the certificate expired on ${new Date(end).toISOString()}`);
  return { certificate, key, end, ...(made !== undefined && { caFile: made.caFile }) };
}

/** A certificate and key that follow the changes of their files. */
export interface TlsSource {
  current(): TlsPair;
  /** Reads the files immediately. */
  reload(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Reads a certificate and key periodically, and passes each new pair on. A pair that cannot be used is only logged; the same problem is
 * logged once.
 * @param use starts using a pair; if it throws, the pair cannot be used
 */
export function followTls(
  read: () => Promise<TlsPair>,
  first: TlsPair,
  { use, log, period = usualPeriod }: { use: (pair: TlsPair) => void; log: (line: string) => void; period?: number },
): TlsSource {
  let pair = first;
  let problem: string | undefined;
  const look = async (): Promise<void> => {
    try {
      const next = await read();
      problem = undefined;
      if (next.certificate === pair.certificate && next.key === pair.key) return;
      use(next);
      pair = next;
      log(`the certificate was replaced; the new one expires on ${new Date(next.end).toISOString()}`);
    } catch (error) {
      const { message } = error as Error;
      if (message === problem) return;
      problem = message;
      log(`the certificate was not replaced: ${message}`);
    }
  };
  let looking: Promise<void> = Promise.resolve();
  const reload = (): Promise<void> => (looking = looking.then(look));
  const timer = setInterval(() => void reload(), period);
  timer.unref();
  return {
    current: () => pair,
    reload,
    stop: () => {
      clearInterval(timer);
      return looking;
    },
  };
}
