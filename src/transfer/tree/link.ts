import type { Headers } from '../../api/message.ts';
import { pickStoredHeaders } from '../../api/stored-headers.ts';
import { ApiError, NetworkError } from '../../base/errors.ts';
import { trackTransfer, type Engine } from '../engine.ts';
import { closeBody } from '../../api/close-body.ts';
import { assertObjectType } from '../entry-type.ts';
import { openObject, readObject } from '../download/download.ts';
import { withTags, type Tagging } from './keep-tags.ts';
import { inspect } from '../inspect.ts';
import { assertStorable, encodeRemotePath, printRemotePath, quoteRemotePath, type RemotePath } from '../path.ts';
import { checkPrecondition, isConditionFailed, type Precondition } from '../precondition.ts';
import { tryAgain } from '../retry.ts';

/** What must exist at the target: this version or, with `*`, nothing. */
export type LinkCondition = Pick<Precondition, 'ifMatch' | 'ifNoneMatch'>;

/** How an object gets another name. */
export interface LinkOptions {
  /** Copy the bytes through this machine where the service refuses links. */
  readonly copiesThrough: boolean;
  /** True if the caller has checked directly before that the target has the version of `ifMatch`. */
  readonly isChecked?: boolean;
  readonly tagging?: Tagging | undefined;
}

/** An object and the additional name that it gets. */
export interface LinkStep {
  readonly from: RemotePath;
  readonly to: RemotePath;
  /** Etag of the object, if known. */
  readonly etag?: string | undefined;
}

/** The result of a copy within the service. */
export interface Linked {
  readonly how: 'link' | 'copy';
  readonly etag: string;
  /** True if a response showed that the target has the content of the source. */
  readonly isSame: boolean;
}

/** True if a service refuses links in general, or between these accounts. */
function isLinkRefused(error: unknown, source: RemotePath, target: RemotePath): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  if (error.code.startsWith('SnaplinksDisabled')) return true;
  return source.account !== target.account && error.status === 403;
}

/** An object to be copied through this machine, possibly of another service. */
interface CopySource {
  readonly engine: Engine;
  readonly path: RemotePath;
  /** The etag that the object must still have. */
  readonly etag?: string | undefined;
}

/** Copies an object's bytes and headers through this machine. */
export async function copyThrough(
  engine: Engine,
  source: CopySource,
  target: RemotePath,
  options: LinkCondition & Pick<LinkOptions, 'tagging'>,
): Promise<Linked> {
  assertStorable(target);
  const { tagging, ...condition } = options;
  return await trackTransfer(engine, printRemotePath(target), undefined, async (ticket) => {
    const copy = async (roleTag?: string): Promise<Linked> => {
      const opened = await openObject(source.engine, source.path, source.etag);
      const store = async (): Promise<Headers> => {
        assertObjectType(opened.headers);
        return await engine.storage.putObject({
          ...target,
          ...condition,
          roleTag,
          headers: pickStoredHeaders(opened.headers),
          durabilityLevel: opened.headers['durability-level'],
          contentMd5: opened.md5,
          length: opened.size,
          body: readObject(source.engine, opened, { ticket }),
        });
      };
      const stored = await store().catch(async (error: unknown) => {
        // A body that is refused before it is read would keep its connection from all other requests.
        await closeBody(opened.body);
        throw error;
      });
      const { 'computed-md5': computed, etag = '' } = stored;
      if (computed === undefined || opened.md5 === undefined) return { how: 'copy', etag, isSame: false };
      if (computed === opened.md5) return { how: 'copy', etag, isSame: true };
      throw new NetworkError(`${printRemotePath(target)} was damaged in transit: the MD5 at the service differs`, {
        code: 'DamagedUpload',
      });
    };
    return await withTags(tagging, (roleTag) => tryAgain(() => copy(roleTag), engine));
  });
}

/**
 * Creates another name for an object, which copies no bytes. Where the service refuses links, the bytes are copied through this machine if
 * `copiesThrough` is set.
 * @throws {ApiError} otherwise, with a hint to allow that
 */
export async function linkObject(
  engine: Engine,
  { from: source, to: target, etag: version }: LinkStep,
  { copiesThrough, isChecked = false, tagging, ifMatch, ifNoneMatch }: LinkCondition & LinkOptions,
): Promise<Linked> {
  assertStorable(target);
  // Services compare `If-Match` with the etag of the source: the version of the target is checked directly before the request.
  if (ifMatch !== undefined && !isChecked) await checkPrecondition(engine.storage, target, { ifMatch });
  const condition = { ifNoneMatch };
  try {
    const location = encodeRemotePath(source);
    const link = (roleTag?: string) => tryAgain(() => engine.storage.putSnapLink({ ...target, ...condition, roleTag, location }), engine);
    const { etag = '' } = await withTags(tagging, link);
    return { how: 'link', etag, isSame: etag !== '' && etag === version };
  } catch (error) {
    if (!isLinkRefused(error, source, target)) throw error;
    if (copiesThrough) return await copyThrough(engine, { engine, path: source }, target, { ifMatch, ifNoneMatch, tagging });
    const hint = 'to copy the bytes through this machine instead: --copy';
    throw new ApiError(error.status, error.code, error.message, { requestId: error.requestId, hint });
  }
}

/**
 * Creates another name for an object where nothing exists. The specification defines conditions for objects only: a service may ignore that
 * of a link, so the target is checked before.
 * @throws {ApiError} 412 when something exists there
 */
export async function linkWhereNothingIs(engine: Engine, step: LinkStep, options: LinkOptions): Promise<Linked> {
  const { to, etag } = step;
  const refusal = new ApiError(412, 'PreconditionFailed', `${printRemotePath(to)} exists: left alone`);
  if (await inspect(engine.storage, to)) throw refusal;
  try {
    return await linkObject(engine, step, { ...options, ifNoneMatch: '*' });
  } catch (error) {
    if (!isConditionFailed(error)) throw error;
    // The link may have been created by an attempt whose response was lost.
    const there = await inspect(engine.storage, to);
    if (etag !== undefined && there?.headers['etag'] === etag) return { how: 'link', etag, isSame: true };
    throw refusal;
  }
}

/** The etag at `to` if the object is there already: by its etag or, if it may be a copy, by its MD5. */
export async function findSameObject(
  { storage }: Pick<Engine, 'storage'>,
  { from, to, etag }: LinkStep,
  mayBeCopy: boolean,
): Promise<string | undefined> {
  const there = (await inspect(storage, to))?.headers ?? {};
  if (etag !== undefined && there['etag'] === etag) return etag;
  const md5 = there['content-md5'];
  if (!mayBeCopy || md5 === undefined) return undefined;
  return (await inspect(storage, from))?.headers['content-md5'] === md5 ? there['etag'] : undefined;
}

/** @throws {NetworkError} unless the target has the content of the source, which is about to be deleted or replaced */
export async function assertCopied(engine: Pick<Engine, 'storage'>, step: LinkStep): Promise<void> {
  if ((await findSameObject(engine, step, true)) !== undefined) return;
  throw new NetworkError(`${printRemotePath(step.to)} does not have the content of ${printRemotePath(step.from)}: the source is kept`, {
    code: 'DamagedUpload',
    hint: `check the target: cloud stor stat ${quoteRemotePath(step.to)}`,
  });
}

/** Returns the etag of the same object at the target. @throws {ApiError} 412 when another object exists there */
export async function requireSameObject(
  engine: Pick<Engine, 'storage'>,
  step: LinkStep,
  { copiesThrough }: { readonly copiesThrough: boolean },
): Promise<string> {
  const etag = await findSameObject(engine, step, copiesThrough);
  if (etag !== undefined) return etag;
  const [from, to] = [printRemotePath(step.from), printRemotePath(step.to)];
  throw new ApiError(412, 'PreconditionFailed', `${to} differs from ${from}: both left alone`, {
    hint: `to replace it: cloud stor mv -T ${quoteRemotePath(step.from)} ${quoteRemotePath(step.to)}`,
  });
}

/**
 * Creates another name for an object in a directory that existed before. If the same object has that name, an interrupted run created it.
 * @throws {ApiError} 412 when another object exists there
 */
export async function linkUnlessOther(engine: Engine, step: LinkStep, options: LinkOptions): Promise<Linked> {
  try {
    return await linkWhereNothingIs(engine, step, options);
  } catch (error) {
    if (!isConditionFailed(error)) throw error;
    return { how: 'link', etag: await requireSameObject(engine, step, options), isSame: true };
  }
}
