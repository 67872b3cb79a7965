import { collections } from '../api/collections.ts';
import type { HttpResponse } from '../api/message.ts';
import { splitList } from '../base/split-list.ts';
import type { Context } from '../cli/command.ts';
import { readBounded, readError } from '../client/response.ts';
import { encodePath } from '../client/request.ts';
import { UsageError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import { isUuid } from '../base/uuid.ts';
import { findImage } from './images.ts';
import { findPolicy } from './find.ts';

/** Bytes. */
const largestResponse = 16 * 1024 * 1024;

/** The word for the account itself in paths relative to the account. */
export const accountWord = 'account';

/** A resource of the compute service that can have role tags. */
export interface Resource {
  /** Path below the account: `keys`, `keys/laptop`, `users/alice/keys`; `account` for the account itself. */
  path: string;
  kind: 'account' | 'collection' | 'member';
}

function wrong(word: string, message: string, hint: string): UsageError {
  return new UsageError(`"${word}" is not a resource: ${message}`, { hint });
}

/** Splits a path as users type it: `/my/keys/laptop`, `/login/keys`, `keys/laptop`, `account`. */
function splitPath(word: string, account: string): string[] {
  const parts = word.split('/').filter((part) => part !== '');
  if (!word.startsWith('/')) return parts.length === 1 && parts[0] === accountWord ? [] : parts;
  const [login = '', ...rest] = parts;
  if (login === 'my' || login === account) return rest;
  throw wrong(word, `it is not below the account ${account}`, 'paths are such as keys/laptop, /my/keys/laptop');
}

/** Parses the path of a resource. @throws {UsageError} when the service has no such resource; suggests the nearest */
export function readResource(word: string, account: string): Resource {
  const parts = splitPath(word, account);
  const [collection, , below, ...more] = parts;
  if (collection === undefined) return { path: accountWord, kind: 'account' };
  if (['stor', 'public', 'jobs', 'reports', 'uploads'].includes(collection)) {
    throw wrong(word, 'it is in the object storage', 'tags of objects: cloud stor roles');
  }
  if (!collections.includes(collection)) {
    const close = nearest(collection, collections);
    throw wrong(
      word,
      `there is no collection ${collection}`,
      close === undefined ? `there are ${collections.join(', ')}` : `did you mean ${close}?`,
    );
  }
  const isNested = collection === 'users' && below === 'keys' && more.length <= 1;
  if (below !== undefined && !isNested) throw wrong(word, 'it is too long', 'paths are such as keys, keys/laptop, users/alice/keys');
  return { path: parts.join('/'), kind: parts.length % 2 === 1 ? 'collection' : 'member' };
}

/** The path with ids instead of names where the service requires ids: for images and policies. */
export async function resolveResource(context: Context, word: string): Promise<Resource> {
  const resource = readResource(word, context.account);
  const [collection, name] = resource.path.split('/');
  if (name === undefined || isUuid(name)) return resource;
  if (collection === 'images') return { ...resource, path: `images/${(await findImage(context, name)).id}` };
  if (collection !== 'policies') return resource;
  return { ...resource, path: `policies/${(await findPolicy(context, name)).id}` };
}

/** The path in requests, without a leading slash. */
export function requestPath({ path }: Pick<Resource, 'path'>, account: string): string {
  return path === accountWord ? account : `${account}/${path}`;
}

function isRefused({ status }: HttpResponse): boolean {
  return status >= 400 && status !== 404;
}

/** The role tags of a resource, from the headers of the response to a request for it; undefined when it does not exist. */
export async function findTags(context: Context, resource: Pick<Resource, 'path'>): Promise<string[] | undefined> {
  const target = `/${encodePath(requestPath(resource, context.account))}`;
  let response = await context.compute.request({ method: 'HEAD', target });
  // The connection cannot be reused before the body has been read to its end.
  await readBounded(response.body, largestResponse, 'the service');
  // The response to a HEAD request does not say why it is refused.
  if (isRefused(response)) {
    response = await context.compute.request({ method: 'GET', target });
    if (isRefused(response))
      throw await readError(response, { url: new URL(target, context.settings().url?.value), now: context.world.now });
    await readBounded(response.body, largestResponse, 'the service');
  }
  if (response.status === 404) return undefined;
  return splitList(response.headers['role-tag']);
}
