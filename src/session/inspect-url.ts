import type { ServiceName } from '../api/operation.ts';
import { listAgentKeys } from '../auth/agent.ts';
import { checkPresigned, type KnownKey, type PresignedCheck } from '../auth/check-presigned.ts';
import { readKeyFolder } from '../auth/key-folder.ts';
import { isPresignedTarget } from '../auth/presign.ts';
import { inspectKeyFile } from '../auth/private-key.ts';
import { readPublicBlob, type KeyLine } from '../auth/public-key.ts';
import { KeyError, UsageError, quietly } from '../base/errors.ts';
import type { Context, InspectedUrl, UrlQuestion } from '../cli/command.ts';

type InspectOptions = Pick<Context, 'world' | 'paths' | 'settings'>;

/** Parses public keys; leaves out types that no service accepts. */
function readKeys(lines: readonly (KeyLine & { path?: string })[]): KnownKey[] {
  return lines.flatMap(({ blob, path }) => {
    return quietly(() => [{ publicKey: readPublicBlob(blob), source: path ?? 'ssh-agent' }], []);
  });
}

/** The public halves of this user's keys: verifying needs no passphrase. */
async function listKnownKeys({ world, paths, settings }: InspectOptions): Promise<KnownKey[]> {
  const socket = world.env['SSH_AUTH_SOCK'];
  const file = settings().keyFile?.value;
  const known = file === undefined ? undefined : await inspectKeyFile(file).catch(() => undefined);
  const { keys } = await readKeyFolder(paths.ssh);
  const held = socket === undefined || socket === '' ? [] : await listAgentKeys(socket).catch(ignoreAgent);
  const named = known?.publicKey === undefined ? [] : [{ publicKey: known.publicKey, source: known.path }];
  return [...named, ...readKeys(keys), ...readKeys(held)];
}

/** An agent that fails counts as empty. */
function ignoreAgent(error: unknown): KeyLine[] {
  if (error instanceof KeyError) return [];
  throw error;
}

function readAddress(value: string | undefined): URL | undefined {
  return value !== undefined && URL.canParse(value) ? new URL(value) : undefined;
}

/** The service of a URL: by its host, or by its path where the hosts do not decide. */
function tellService({ host, pathname }: URL, compute: URL | undefined, storage: URL | undefined): ServiceName {
  const [isCompute, isStorage] = [compute?.host === host, storage?.host === host];
  if (isCompute !== isStorage) return isCompute ? 'compute' : 'storage';
  const below = pathname.slice((storage?.host === host ? storage.pathname : '/').replace(/\/+$/, '').length);
  return /^\/[^/]+\/(?:stor|public|jobs|uploads|reports)(?:\/|$)/.test(below) ? 'storage' : 'compute';
}

/** Other host names for this machine and port that the signer may have used. */
function listHosts({ protocol, hostname, host, port }: URL, known: readonly (URL | undefined)[]): string[] {
  const usual = protocol === 'https:' ? '443' : '80';
  const names = new Set([hostname, ...known.flatMap((url) => url?.hostname ?? []), 'localhost', '127.0.0.1', '[::1]']);
  const hosts = [...names].flatMap((name) => [name, `${name}:${port === '' ? usual : port}`, `${name}:443`, `${name}:80`]);
  const all = new Set([...known.flatMap((url) => url?.host ?? []), ...hosts]);
  return [...all].filter((each) => each !== host);
}

/** A URL, and its target exactly as written: `URL` would normalize parts of it. */
function readTarget(text: string): { url: URL; target: string } {
  const [, target = ''] = /^https?:\/\/[^/?#]+([^#]*)/i.exec(text) ?? [];
  if (!URL.canParse(text) || !target.startsWith('/')) {
    throw new UsageError('this is not a URL with a path (https://HOST/PATH?...)', {
      hint: 'put the URL in quotes, or the shell interprets & and ?',
    });
  }
  if (isPresignedTarget(target)) return { url: new URL(text), target };
  throw new UsageError('this URL is not signed: its query has neither signature nor keyId', {
    hint: ['put the URL in quotes, or the shell interprets &', 'to create a signed URL: cloud stor sign PATH, cloud api sign PATH'],
  });
}

/**
 * Explains a signed URL without a request.
 * @throws {UsageError} for other URLs; the message never repeats the URL
 */
export async function inspectUrl({ url: text, service: given, method }: UrlQuestion, options: InspectOptions): Promise<InspectedUrl> {
  const { url, target } = readTarget(text);
  const { url: computeUrl, storUrl } = options.settings();
  const [compute, storage] = [readAddress(computeUrl?.value), readAddress(storUrl?.value)];
  const service = given ?? tellService(url, compute, storage);
  const base = service === 'compute' ? compute : storage;
  const prefix = base?.host === url.host ? base.pathname.replace(/\/+$/, '') : '';
  const [path = ''] = target.split('?');
  const request = { service, target, host: url.host, method, otherHosts: listHosts(url, [compute, storage]) };
  const check: PresignedCheck = checkPresigned(request, await listKnownKeys(options), options.world.now());
  return { ...check, service, origin: url.origin, path, prefix, query: [...new URLSearchParams(url.search)] };
}
