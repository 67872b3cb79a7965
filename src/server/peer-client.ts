import { readFile } from 'node:fs/promises';
import { request as requestPlain, type IncomingMessage } from 'node:http';
import { request as requestTls } from 'node:https';
import { join } from 'node:path';
import type { ByteStream } from '../api/message.ts';
import { readAll } from '../api/message.ts';
import { ApiError } from '../errors.ts';
import { peerHeader, peerPath, secretFile, type PeerImage } from './peers.ts';

/** Milliseconds of silence after which another service counts as gone. */
const patience = 15_000;

/** Another local service of this machine, seen as a datacenter. */
export interface Peer {
  /** An image there and the login of its owner; undefined when there is none. */
  findImage(id: string): Promise<PeerImage | undefined>;
  readFile(id: string): Promise<ByteStream>;
}

/** What a running service wrote about itself into its data directory. */
interface Address {
  url: string;
  /** Certificate of its authority, PEM; undefined for plain HTTP. */
  ca: string | undefined;
  secret: string;
}

async function readAddress(dir: string): Promise<Address> {
  const { computeUrl, caFile } = JSON.parse(await readFile(join(dir, 'run.json'), 'utf8')) as { computeUrl: string; caFile?: string };
  const ca = computeUrl.startsWith('https:') && caFile !== undefined ? await readFile(caFile, 'utf8') : undefined;
  return { url: computeUrl, ca, secret: await readFile(secretFile(dir), 'utf8') };
}

function get({ url, ca, secret }: Address, path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = { headers: { [peerHeader]: secret }, timeout: patience };
    const target = new URL(path, url);
    const request = target.protocol === 'https:' ? requestTls(target, { ...options, ca }) : requestPlain(target, options);
    request.on('timeout', () => request.destroy(new Error(`no answer for ${patience / 1000} seconds`)));
    request.on('response', resolve).on('error', reject).end();
  });
}

/** The compute URL of the service that uses a data directory; undefined when none has yet. */
export async function readPeerUrl(dir: string): Promise<string | undefined> {
  return readAddress(dir).then(
    ({ url }) => url,
    () => undefined,
  );
}

/**
 * Opens the local service that uses the data directory `dir`; where it listens is looked up at each request.
 * @throws {ApiError} from its functions: 503 `ServiceUnavailable` when it does not answer.
 */
export function openPeer(name: string, dir: string): Peer {
  const ask = async (path: string): Promise<IncomingMessage> => {
    try {
      const response = await get(await readAddress(dir), `${peerPath}${path}`);
      if (response.statusCode === 200 || response.statusCode === 404) return response;
      response.destroy();
      throw new Error(`it answered ${response.statusCode ?? 'nothing'}`);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new ApiError(503, 'ServiceUnavailable', `datacenter ${name} does not answer: ${reason}`, { cause: error });
    }
  };
  return {
    findImage: async (id) => {
      const response = await ask(encodeURIComponent(id));
      const text = Buffer.from(await readAll(response as ByteStream)).toString();
      return response.statusCode === 404 ? undefined : (JSON.parse(text) as PeerImage);
    },
    readFile: async (id) => (await ask(`${encodeURIComponent(id)}/file`)) as ByteStream,
  };
}
