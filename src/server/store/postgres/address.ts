import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { LocalError } from '../../../base/errors.ts';

/**
 * URLs of databases, as libpq reads them. Encryption is decided here and not by `pg`, which treats `require` as `verify-full`, has no
 * `prefer`, and ignores parameters that it does not know.
 */

const modes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
type Mode = (typeof modes)[number];

const parameters: ReadonlySet<string> = new Set([
  'host',
  'port',
  'user',
  'password',
  'options',
  'application_name',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
]);

/** Parameters of libpq that change nothing about who may read or connect: they are accepted and ignored. */
const ignored: ReadonlySet<string> = new Set([
  'channel_binding',
  'client_encoding',
  'connect_timeout',
  'gssencmode',
  'keepalives',
  'keepalives_count',
  'keepalives_idle',
  'keepalives_interval',
  'target_session_attrs',
  'tcp_user_timeout',
]);

/** Says that the certificates which Node.js trusts are used. */
const systemRoots = 'system';

function isMode(text: string): text is Mode {
  return modes.some((mode) => mode === text);
}

/** What is wrong with the URL of a database, without any of its secrets; undefined if nothing is. */
export function findAddressProblem(url: string): { problem: string; hint: string } | undefined {
  const [, beforePath = '', path = ''] = /^\w+:\/\/([^/?#]*)(.*)$/su.exec(url) ?? [];
  if (url.includes('#') || beforePath.split('@').length > 2 || path.includes('@'))
    return {
      problem: 'special characters in a user or password must be percent-encoded',
      hint: '@ is %40, # is %23, / is %2F, ? is %3F, : is %3A, % is %25',
    };
  if (!URL.canParse(url) || !['postgresql:', 'postgres:'].includes(new URL(url).protocol))
    return {
      problem: 'must be the URL of a PostgreSQL database',
      hint: 'for example postgresql://cloud@db.example.com/cloud, or postgresql:///cloud?host=/run/postgresql for a socket',
    };
  const { searchParams } = new URL(url);
  const known = `parameters are ${[...parameters].join(', ')}`;
  const unknown = [...searchParams.keys()].find((name) => !parameters.has(name) && !ignored.has(name));
  if (unknown !== undefined) return { problem: `${unknown} is not a known parameter`, hint: known };
  const mode = searchParams.get('sslmode') ?? 'prefer';
  if (!isMode(mode)) return { problem: `sslmode=${mode} is not known`, hint: `sslmode is one of ${modes.join(', ')}` };
  if (mode === 'verify-ca' && [null, systemRoots].includes(searchParams.get('sslrootcert')))
    return {
      problem: 'sslmode=verify-ca needs sslrootcert',
      hint: 'give the certificate of its authority as sslrootcert=FILE, or use sslmode=verify-full',
    };
  return undefined;
}

function readCertificate(parameters: URLSearchParams, name: string): string | undefined {
  const file = parameters.get(name);
  if (file === null || file === systemRoots) return undefined;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new LocalError(`${name}=${file} in the URL of the database cannot be read: ${(error as Error).message}`, {
      hint: 'is the path right, and may this user read the file?',
      cause: error,
    });
  }
}

function chooseTls(mode: Mode, parameters: URLSearchParams): ConnectionOptions {
  const [ca, cert, key] = ['sslrootcert', 'sslcert', 'sslkey'].map((name) => readCertificate(parameters, name));
  // As in libpq, an authority that is given is not ignored.
  const isChecked = mode.startsWith('verify') || (mode === 'require' && ca !== undefined);
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(!isChecked && { rejectUnauthorized: false }),
    ...(isChecked && mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
  };
}

/** How to connect to a database. */
export interface Address {
  /** The URL without what concerns encryption, which `pg` would read differently. */
  readonly connectionString: string;
  /** False for no encryption. */
  readonly ssl: ConnectionOptions | false;
  /** True if a server without encryption is accepted. */
  readonly isOptional: boolean;
}

/** @throws {LocalError} if a certificate cannot be read */
export function readAddress(url: string): Address {
  const parsed = new URL(url);
  const given = new URLSearchParams(parsed.searchParams);
  for (const name of ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', ...ignored]) parsed.searchParams.delete(name);
  const mode = given.get('sslmode') ?? 'prefer';
  const host = given.get('host') ?? decodeURIComponent(parsed.hostname);
  // As in libpq, a socket of this machine is never encrypted.
  const isPlain = mode === 'disable' || host.startsWith('/');
  return { connectionString: parsed.href, ssl: !isPlain && isMode(mode) && chooseTls(mode, given), isOptional: mode === 'prefer' };
}

/** True for the error of a connection to a server that does not offer encryption. */
export function lacksTls(error: unknown): boolean {
  return error instanceof Error && error.message === 'The server does not support SSL connections';
}

/** Describes why no connection was possible, and what to do. */
export function explainConnection(error: unknown): { reason: string; hint: string } {
  const message = error instanceof Error ? error.message : String(error);
  if (/password must be a/u.test(message))
    return {
      reason: 'a password is required',
      hint: 'put it into the URL in the file of --database-file, or into the file that PGPASSFILE names',
    };
  if (lacksTls(error))
    return {
      reason: 'the server offers no encryption',
      hint: 'set ssl = on in its postgresql.conf, or sslmode=prefer or disable in the URL',
    };
  if (/certificate|altnames/iu.test(message))
    return {
      reason: message,
      hint: 'give the certificate of its authority as sslrootcert=FILE, and with sslmode=verify-full a host for which its certificate is valid',
    };
  if (/unsupported startup parameter/u.test(message))
    return {
      reason: message,
      hint: 'in pgbouncer.ini: ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout',
    };
  return {
    reason: message === '' ? 'no connection' : message,
    hint: 'is PostgreSQL running there, and may this user connect? Try: psql with the same URL',
  };
}
