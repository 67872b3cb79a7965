import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { streamOf, type Headers, type HttpResponse } from '../../api/message.ts';
import { ignoreNoEntry } from '../../base/errors.ts';
import { writePrivate } from '../../base/private-files.ts';
import { settleCreations } from '../compute/image-creation.ts';
import { fileOf } from '../compute/image-file.ts';
import type { Service } from '../http/serve.ts';
import { DamagedContent, explainDamage } from '../store/damaged.ts';
import type { ImageRow } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

/**
 * Path under which local services of one machine fetch images from each other, for which the API has no endpoint. Access requires the
 * secret in a file of the service's data directory, which only the owner of the directory can read.
 */
export const peerPath = '/--peer/images/';

/** Request header with the secret. */
export const peerHeader = 'peer-secret';

/** An image as it is sent to another service. */
export interface PeerImage {
  image: ImageRow;
  /** Login of its owner; null for the operator. */
  login: string | null;
}

/** The file with the secret of the service that uses a data directory. */
export function secretFile(dir: string): string {
  return join(dir, 'peer.secret');
}

/** Reads the secret of a data directory, and creates it if missing. */
export async function prepareSecret(dir: string): Promise<string> {
  const file = secretFile(dir);
  const known = await readFile(file, 'utf8').catch(ignoreNoEntry);
  if (known !== undefined) return known;
  const secret = randomBytes(32).toString('hex');
  writePrivate(file, secret);
  return secret;
}

function isSecret(given: string | undefined, secret: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given ?? ''), digest(secret));
}

function answer(status: number, value: unknown): HttpResponse {
  const bytes = Buffer.from(JSON.stringify(value));
  return { status, headers: { 'content-type': 'application/json', 'content-length': String(bytes.length) }, body: streamOf(bytes) };
}

const nothing = (): HttpResponse => answer(404, { code: 'ResourceNotFound', message: 'there is no such image' });

async function answerFile(store: Store, image: ImageRow): Promise<HttpResponse> {
  const { size } = fileOf(image);
  if (image.content === null || size === undefined) return nothing();
  const headers = { 'content-type': 'application/octet-stream', 'content-length': String(size) };
  try {
    return { status: 200, headers, body: await store.bytes.read(image.content, 0, size) };
  } catch (error) {
    const explained = explainDamage(error, image.content, `image ${image.id}`);
    if (!(explained instanceof DamagedContent)) throw explained;
    return answer(404, { code: 'ResourceNotFound', message: explained.message });
  }
}

/** What a service needs to respond to other services. */
export interface PeerOptions {
  readonly store: Store;
  readonly secret: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

async function answerPeer({ store, secret, now }: PeerOptions, path: string, headers: Headers): Promise<HttpResponse> {
  if (!isSecret(headers[peerHeader], secret))
    return answer(403, { code: 'NotAuthorized', message: 'this is for services of the same owner' });
  await settleCreations({ store, now });
  const [id = '', part] = path.split('/');
  const image = await store.db.selectFrom('images').selectAll().where('id', '=', id).executeTakeFirst();
  if (image === undefined) return nothing();
  if (part === 'file') return answerFile(store, image);
  const owner = await store.db.selectFrom('accounts').select('login').where('id', '=', image.owner).executeTakeFirst();
  const told: PeerImage = { image, login: owner?.login ?? null };
  return answer(200, told);
}

/** Wraps the compute service so that it also serves images to local services that know the secret. */
export function servePeers(service: Service, options: PeerOptions): Service {
  return async (request, connection) => {
    const { method, target, headers } = request;
    if (method !== 'GET' || !connection.secure || !target.startsWith(peerPath)) return service(request, connection);
    return answerPeer(options, target.slice(peerPath.length), headers);
  };
}
