import { compute } from '../../api/compute.ts';
import type { Operation } from '../../api/operation.ts';
import { splitList } from '../../base/split-list.ts';
import type { Context } from '../../cli/command.ts';
import type { Values } from '../../cli/parameters.ts';
import { NotFoundError } from '../../base/errors.ts';
import type { DecisionInput, DecisionResource } from '../../policy/decide.ts';
import { readAccess, takeAccess, type Access } from '../../rbac/access.ts';
import { readDocument } from '../../rbac/read.ts';
import { requestPath, resolveResource, type Resource } from '../../lookup/resource.ts';
import type { Served } from '../../lookup/served.ts';
import { inspect } from '../../transfer/inspect.ts';
import { parentOf, printRemotePath, readRemotePath, type RemotePath } from '../../transfer/path.ts';
import { findOperation, isDoneTo, readMoment, readPathAlone, readSource, readSubject, type conditionOptions } from './question.ts';

/** The account that a question is about, and its access-control data. */
export interface Place {
  account: string;
  access: Access;
}

/** Reads the account, or the document of `--from` instead, which needs no profile. */
export async function findPlace(context: Context, file: string | undefined): Promise<Place> {
  if (file === undefined) return { account: context.account, access: await readAccess(context) };
  const document = await readDocument(context, file);
  return { account: context.settings().account?.value ?? document.account ?? 'my', access: takeAccess(document) };
}

/** Role tags of an entry, or of its nearest existing directory if the entry does not exist. */
async function findEntryTags(context: Context, path: RemotePath): Promise<string[]> {
  const found = await inspect(context.storage, path);
  if (found) return splitList(found.headers['role-tag']);
  const above = parentOf(path);
  // The account's own directory has no entry.
  return above === undefined || above.path === '' ? [] : await findEntryTags(context, above);
}

/** A resource of the object storage; its tags are requested unless the question is about a document. */
async function findObject(context: Context, { account, access }: Place, word: string, isOffline: boolean): Promise<DecisionResource> {
  const path = readRemotePath(word, account);
  const resource = { path: path.path, kind: 'member' as const };
  // A document contains nothing about resources of other accounts.
  const known = path.account === account ? ((await access.findTags(resource)) ?? []) : [];
  return { path: printRemotePath(path), kind: 'member', tags: isOffline ? known : await findEntryTags(context, path) };
}

/** True if the service can show a resource of this form, so that its 404 means that the resource does not exist. */
function isShown(resource: Resource): boolean {
  return Object.values<Operation>(compute).some((operation) => operation.method === 'GET' && isDoneTo(operation, resource));
}

/** Role tags of the collection in which the service looks for a resource that does not exist. */
async function findTagsAbove({ access }: Place, path: string): Promise<readonly string[]> {
  const [collection = '', user, below, key] = path.split('/');
  const inner = key === undefined ? undefined : await access.findTags({ path: `${collection}/${user}/${below}` });
  return inner ?? (await access.findTags({ path: collection })) ?? [];
}

/** The resource with ids instead of names where the service requires them; unchanged if no resource has the name. */
async function resolveExisting(context: Context, subject: Resource): Promise<Resource> {
  try {
    return await resolveResource(context, subject.path);
  } catch (error) {
    if (error instanceof NotFoundError) return subject;
    throw error;
  }
}

/** The target of a question. */
export interface Subject {
  resource: DecisionResource;
  /** False for a resource of the compute service that does not exist: the decision is the one of the service about such a request. */
  exists: boolean;
}

/** The resource of an action, with its role tags. @throws {NotFoundError} if it does not exist */
export async function findResource(
  context: Context,
  place: Place,
  action: string,
  word: string,
  isOffline: boolean,
): Promise<DecisionResource> {
  const { resource, exists } = await findSubject(context, place, action, word, isOffline);
  if (!exists) throw createMissingError(word);
  return resource;
}

function createMissingError(word: string): NotFoundError {
  return new NotFoundError(`resource "${word}" does not exist`);
}

/** The resource of an action, existing or not. @throws {NotFoundError} if it cannot be told whether it exists */
export async function findSubject(context: Context, place: Place, action: string, word: string, isOffline: boolean): Promise<Subject> {
  const operation = findOperation(action);
  if (operation?.service === 'storage') return { resource: await findObject(context, place, word, isOffline), exists: true };
  if (operation?.resource === 'none') return { resource: { path: readPathAlone(operation, word), kind: 'none', tags: [] }, exists: true };
  const subject = readSubject(action, word, place.account);
  const resource = isOffline ? subject : await resolveExisting(context, subject);
  const path = `/${requestPath(resource, place.account)}`;
  const tags = await place.access.findTags(resource);
  if (tags !== undefined) {
    const paths = (await place.access.listPaths(resource)).map((each) => `/${requestPath({ path: each }, place.account)}`);
    return { resource: { path, paths, kind: resource.kind, tags }, exists: true };
  }
  if (!isShown(resource)) throw createMissingError(word);
  if (operation?.method !== 'GET') return { resource: { path, kind: 'member', tags: [] }, exists: false };
  return { resource: { path, kind: 'missing', tags: await findTagsAbove(place, resource.path) }, exists: false };
}

/** Returns what conditions compare; values that no option sets are those of the service, if one was asked. */
export type Conditions = (served: Served | undefined) => DecisionInput['context'];

/** Reads the options that conditions depend on. @throws {UsageError} for a wrong one, before the service is asked */
export function readConditions(
  { world }: Pick<Context, 'world'>,
  action: string | undefined,
  { at, source, datacenter }: Values<typeof conditionOptions>,
): Conditions {
  const moment = at === undefined ? undefined : readMoment(at, world.now());
  const sourceip = source === undefined ? undefined : readSource(source);
  const method = action === undefined ? undefined : findOperation(action)?.method;
  return (served = {}) => ({
    // The clock of this machine may be off by minutes.
    now: moment ?? served.now ?? world.now(),
    sourceip,
    method,
    datacenter: datacenter ?? served.datacenter,
  });
}
