import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readAll, type ByteStream, type HttpResponse } from '../../api/message.ts';
import { assertOwnDataDirectory } from '../../base/data-directory.ts';
import { ApiError } from '../../base/errors.ts';
import { undoOnFailure } from '../../base/undo-on-failure.ts';
import { readPeerImage } from './read-image.ts';
import { peerHeader, peerPath, secretFile, type PeerImage } from './peers.ts';

/** Timeout in milliseconds for connecting to another service, and for its silence. */
const idleTimeout = 15_000;

/** Maximum bytes of a response that is not a file. */
const largestRecord = 1024 * 1024;

/** Another local service of this machine, which appears as a datacenter. */
export interface Peer {
  /** Finds an image in the other service and the login of its owner; undefined if there is none. */
  findImage(id: string): Promise<PeerImage | undefined>;
  /** The file of an image; the stream fails with an error of this service: 501 `NotAvailable` if the other one has no such file. */
  readFile(id: string): ByteStream;
}

/** The address that a running service has written to its data directory. */
interface Address {
  url: string;
  /** PEM certificate of its authority; undefined for plain HTTP. */
  ca: string | undefined;
  secret: string;
}

/** @throws {UsageError} for a data directory that another user could have written */
async function readAddress(dir: string): Promise<Address> {
  assertOwnDataDirectory(dir);
  const { computeUrl, caFile } = JSON.parse(await readFile(join(dir, 'run.json'), 'utf8')) as { computeUrl: string; caFile?: string };
  const ca = computeUrl.startsWith('https:') && caFile !== undefined ? await readFile(caFile, 'utf8') : undefined;
  return { url: computeUrl, ca, secret: await readFile(secretFile(dir), 'utf8') };
}

/** Sends one request over a connection of its own, which is closed at the end of the response body. */
async function get({ url, ca, secret }: Address, path: string): Promise<HttpResponse> {
  const { createSocketSender } = await import('../../http/sockets.ts');
  const { send, close } = createSocketSender({ connectTimeout: idleTimeout, idleTimeout, ca, insecure: false, connections: 1 });
  async function* readToEnd(body: ByteStream): AsyncGenerator<Uint8Array> {
    try {
      yield* body;
    } finally {
      close();
    }
  }
  return undoOnFailure(close, async () => {
    const response = await send({ method: 'GET', url: new URL(path, url), headers: { [peerHeader]: secret } });
    return { ...response, body: readToEnd(response.body) };
  });
}

/** The compute URL of the service that uses a data directory; undefined if no service has written one yet. */
export async function readPeerUrl(dir: string): Promise<string | undefined> {
  return readAddress(dir).then(
    ({ url }) => url,
    () => undefined,
  );
}

/**
 * Opens the local service that uses the data directory `dir`. Its address is read again for each request.
 * @throws {ApiError} from the functions of the result: 503 `ServiceUnavailable` if the service does not respond.
 */
export function openPeer(name: string, dir: string): Peer {
  const fail = (error: unknown): never => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ApiError(503, 'ServiceUnavailable', `datacenter ${name} does not answer: ${reason}`, { cause: error });
  };
  const ask = async (path: string): Promise<HttpResponse> => {
    try {
      const response = await get(await readAddress(dir), `${peerPath}${path}`);
      if (response.status === 200 || response.status === 404) return response;
      await readAll(response.body, largestRecord).catch(() => undefined);
      throw new Error(`it answered ${response.status}`);
    } catch (error) {
      return fail(error);
    }
  };
  return {
    findImage: async (id) => {
      const response = await ask(encodeURIComponent(id));
      const text = Buffer.from(await readAll(response.body, largestRecord).catch(fail)).toString();
      if (response.status === 404) return undefined;
      const image = readPeerImage(text, id);
      if (image !== undefined) return image;
      throw new ApiError(503, 'ServiceUnavailable', `datacenter ${name} sent no image that this release can read: are both up to date?`);
    },
    async *readFile(id) {
      const { status, body } = await ask(`${encodeURIComponent(id)}/file`);
      try {
        if (status === 200) return yield* body;
        await readAll(body, largestRecord);
      } catch (error) {
        fail(error);
      }
      throw new ApiError(501, 'NotAvailable', `the file of image ${id} is missing or damaged in datacenter ${name}`);
    },
  };
}
