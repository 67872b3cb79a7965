import type { Context } from '../../cli/command.ts';
import { readInput } from '../../cli/input.ts';
import { filePath, text, type Values, withTopic } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import type { World } from '../../base/world.ts';
import type { S3Credentials, S3Options } from '../../server/store/s3/options.ts';
import { assertSecret } from './secret-file.ts';

/** Options for the place of contents, for the commands of `server` that need it. */

const variable = 'CLOUD_SERVER_BYTES';
const [idVariable, secretVariable, tokenVariable] = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'] as const;

export const bytesOptions = withTopic('engines', {
  bytes: text(
    `Store of object contents: file:///DIR, or s3://BUCKET?endpoint=URL, with &region=NAME if the store has regions; ${variable} by default`,
    {
      placeholder: 'URL',
    },
  ),
  bytesCredentials: filePath(
    `Read the key pair of s3:// from this file in the format of AWS tools; ${idVariable} and ${secretVariable} by default`,
  ),
});

/** A directory, or a bucket with the credentials for its requests. */
export type BytesPlace = string | S3Options;

const bucketExample = 'for example --bytes "s3://cloud?endpoint=https://s3.example.com&region=eu-1"';

/** Reads the endpoint of a store. @throws {UsageError} whose message does not show the URL, because it may contain a secret */
function readEndpoint(given: string, endpoint: string | null): string {
  const url = endpoint !== null && URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (!url || !/^https?:$/u.test(url.protocol) || url.search !== '' || url.hash !== '' || url.pathname !== '/')
    throw new UsageError(`${given}: endpoint must be the http or https URL of the store, without a path`, { hint: bucketExample });
  refuseUser(given, url);
  return url.origin;
}

function refuseUser(given: string, { username, password }: URL): void {
  if (username === '' && password === '') return;
  throw new UsageError(`${given} contains a key, which every user of this machine can read`, {
    hint: `set ${idVariable} and ${secretVariable}, or give --bytes-credentials FILE`,
  });
}

function readBucket(given: string, url: URL): Omit<S3Options, 'credentials'> {
  refuseUser(given, url);
  const { hostname: bucket, pathname, searchParams } = url;
  const unknown = [...searchParams.keys()].find((name) => !['endpoint', 'region'].includes(name));
  if (unknown !== undefined) throw new UsageError(`${given}: ${unknown} is not a parameter of s3://`, { hint: bucketExample });
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/u.test(bucket))
    throw new UsageError(`${given}: a bucket name must have 3 to 63 lower-case letters, digits, dots and hyphens`, {
      hint: bucketExample,
    });
  const folder = pathname.replaceAll(/^\/|\/$/gu, '');
  if (!/^[\w.-]*(?:\/[\w.-]+)*$/u.test(folder) || /(?:^|\/)\.\.?(?:\/|$)/u.test(folder))
    throw new UsageError(`${given}: a folder in the bucket may contain only letters, digits, dots, hyphens, underscores and slashes`);
  const region = searchParams.get('region') ?? 'us-east-1';
  if (!/^[\w-]+$/u.test(region)) throw new UsageError(`${given}: region may contain only letters, digits and hyphens`);
  return { endpoint: readEndpoint(given, searchParams.get('endpoint')), bucket, region, prefix: folder === '' ? '' : `${folder}/` };
}

/** Reads the section `default`, or the only section, of a credentials file of AWS tools. */
function readSection(content: string): ReadonlyMap<string, string> {
  const sections = new Map<string, Map<string, string>>();
  let current = new Map<string, string>();
  for (const line of content.split(/\r?\n/u)) {
    const header = /^\s*\[([^\]]*)\]/u.exec(line)?.[1];
    const [, name, value] = /^\s*([\w-]+)\s*=\s*(.*?)\s*$/u.exec(line) ?? [];
    if (header !== undefined) sections.set(header.trim(), (current = new Map()));
    else if (name !== undefined && value !== undefined) current.set(name.toLowerCase(), value);
  }
  const [only] = sections.size === 1 ? sections.values() : [];
  return sections.get('default') ?? only ?? new Map();
}

async function readCredentialsFile(world: World, file: string): Promise<S3Credentials> {
  assertSecret(world, '--bytes-credentials', file);
  const values = readSection((await readInput(world, file)).toString());
  const [accessKeyId = '', secretAccessKey = ''] = [values.get('aws_access_key_id'), values.get('aws_secret_access_key')];
  const sessionToken = values.get('aws_session_token');
  if (accessKeyId !== '' && secretAccessKey !== '')
    return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
  throw new UsageError(`--bytes-credentials ${file}: contains no key pair`, {
    hint: 'write a section [default] with the lines aws_access_key_id = ... and aws_secret_access_key = ...',
  });
}

async function readCredentials(world: World, file: string | undefined): Promise<S3Credentials> {
  if (file !== undefined) return readCredentialsFile(world, file);
  const { [idVariable]: accessKeyId = '', [secretVariable]: secretAccessKey = '', [tokenVariable]: sessionToken = '' } = world.env;
  if (accessKeyId !== '' && secretAccessKey !== '') return { accessKeyId, secretAccessKey, ...(sessionToken !== '' && { sessionToken }) };
  throw new UsageError('no key pair is given for the store of object contents', {
    hint: `set ${idVariable} and ${secretVariable}, or give --bytes-credentials FILE`,
  });
}

/** Reads the place of contents. @throws {UsageError} unless it is a folder, or a bucket with a key pair */
export async function readBytes({ world }: Context, { bytes, bytesCredentials }: Values<typeof bytesOptions>): Promise<BytesPlace> {
  const url = bytes ?? world.env[variable] ?? '';
  if (url === '')
    throw new UsageError('no store for object contents is given', {
      hint: `--bytes file:///DIR, --bytes "s3://BUCKET?endpoint=URL", or the variable ${variable}`,
    });
  const given = bytes === undefined ? variable : '--bytes';
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === 's3:') return { ...readBucket(given, parsed), credentials: await readCredentials(world, bytesCredentials) };
  if (bytesCredentials !== undefined) throw new UsageError('--bytes-credentials works only with s3://');
  if (parsed?.protocol === 'file:' && parsed.host === '' && parsed.pathname !== '/') return decodeURIComponent(parsed.pathname);
  throw new UsageError(`${given}: must be the URL of a folder or a bucket`, {
    hint: 'for example --bytes file:///srv/cloud, on a file system that all gateways share; or --bytes "s3://cloud?endpoint=https://s3.example.com"',
  });
}
