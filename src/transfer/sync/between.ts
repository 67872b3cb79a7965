import { pickStoredHeaders } from '../../api/stored-headers.ts';
import { ApiError, NetworkError } from '../../base/errors.ts';
import { openHead } from '../download/download.ts';
import { trackTransfer, type Engine } from '../engine.ts';
import { hashingHere } from '../hashing.ts';
import { assertObjectType } from '../entry-type.ts';
import { inspect } from '../inspect.ts';
import { createLinkTable, type Placed } from '../tree/link-table.ts';
import { copyThrough, linkObject, type LinkCondition } from '../tree/link.ts';
import { largeFile, sendInParts } from '../upload/multipart.ts';
import { printRemotePath, type RemotePath } from '../path.ts';
import { readRange } from '../download/ranges.ts';
import { isConditionFailed } from '../precondition.ts';
import { tryAgain } from '../retry.ts';
import type { PutOptions } from '../upload/parts.ts';
import { decodeStored } from '../tree/headers.ts';
import { isSameRecord } from './properties.ts';
import { createChangedError, type Step } from './steps.ts';
import { engineAt, type Side } from './tree.ts';

/** Copies objects from one service to another: the bytes pass through this machine and never touch its disk. */
export interface Between {
  /** The engine of the service that objects are copied from. */
  readonly source: Engine;
  copy(step: Step, from: RemotePath, to: RemotePath): Promise<{ known?: undefined }>;
  /**
   * Makes the target a link to an object that already has the content of the source. Returns false if that is not possible; nothing is
   * changed then.
   */
  link(step: Step, from: RemotePath, to: RemotePath): Promise<boolean>;
  /**
   * Notes an object that is the same at both services. Returns true if the target has to become a link: the source is a link to another
   * name, and the target is an object of its own.
   */
  note(sourceEtag: string | undefined, to: RemotePath, targetEtag: string | undefined): Promise<boolean>;
}

/** The conditional headers for an expected version; an empty etag expects that nothing exists. */
export function conditionOf(etag: string | undefined): { ifMatch?: string; ifNoneMatch?: string } {
  if (etag === undefined) return {};
  return etag === '' ? { ifNoneMatch: '*' } : { ifMatch: etag };
}

/** Stores an object that is too large for one request, in parts that a later run can resume. */
async function copyInParts(source: Engine, engine: Engine, from: RemotePath, to: RemotePath, step: Step): Promise<Placed | undefined> {
  const opened = await openHead(source, from);
  if (opened?.size === undefined || opened.etag === undefined || opened.etag !== step.source?.etag) return undefined;
  const { size, etag, md5, headers } = opened;
  const version = { path: from, etag, size };
  const label = printRemotePath(from);
  const options: PutOptions = {
    headers: decodeStored(headers),
    copies: Number(headers['durability-level'] ?? NaN) || undefined,
    mayUseParts: true,
    ...conditionOf(step.target?.etag),
  };
  return await trackTransfer(engine, printRemotePath(to), size, async (ticket) => {
    const resumable = { file: `${source.service}${label}`, size, version: [etag] };
    // The throttle counts only the bytes sent.
    const read = (start: number, end: number) => readRange({ ...source, throttle: undefined }, version, start, end);
    const stored = await sendInParts(engine, { label, resumable, read }, to, options, ticket);
    if (md5 !== undefined && stored.md5 !== '' && stored.md5 !== md5)
      throw new NetworkError(`${printRemotePath(to)} was damaged in transit: its MD5 differs from that of ${label}`, {
        code: 'DamagedUpload',
      });
    return { path: to, etag: stored.etag };
  });
}

async function copyBytes(source: Engine, engine: Engine, step: Step, { from, to, mayUseParts }: Way): Promise<Placed> {
  const etag = step.source?.etag;
  const isLarge = (step.size ?? 0) >= largeFile && mayUseParts;
  const placed = isLarge ? await copyInParts(source, engine, from, to, step) : undefined;
  if (placed) return placed;
  const condition = conditionOf(step.target?.etag);
  try {
    const copied = await copyThrough(engine, { engine: source, path: from, etag }, to, condition);
    return { path: to, etag: copied.etag };
  } catch (error) {
    if (!isConditionFailed(error)) throw error;
    // An attempt whose response was lost may have stored the object: then both have the same content.
    const [a, b] = await Promise.all([inspect(source.storage, from), inspect(engine.storage, to)]);
    const md5 = a?.headers['content-md5'];
    if (a?.headers['etag'] !== etag) throw createChangedError(printRemotePath(from));
    if (md5 === undefined || md5 !== b?.headers['content-md5']) throw createChangedError(printRemotePath(to));
    return { path: to, etag: b.headers['etag'] ?? '' };
  }
}

interface Way {
  readonly from: RemotePath;
  readonly to: RemotePath;
  /** Large objects may be sent in parts, which are committed without a condition. */
  readonly mayUseParts: boolean;
}

/** Makes a path of the target a link, unless an earlier attempt or run did. @throws {LocalError} when another object exists there */
async function linkOnce(engine: Engine, placed: Placed, to: RemotePath, condition: LinkCondition): Promise<string> {
  try {
    return (await linkObject(engine, { from: placed.path, to }, { copiesThrough: false, ...condition })).etag;
  } catch (error) {
    if (!isConditionFailed(error)) throw error;
    const there = await inspect(engine.storage, to);
    if (placed.etag !== '' && there?.headers['etag'] === placed.etag) return placed.etag;
    throw createChangedError(printRemotePath(to));
  }
}

/** Makes the target a link, as the source is one, with the headers of the source. */
async function linkBetween(source: Engine, engine: Engine, step: Step, { from, to }: Way, placed: Placed): Promise<void> {
  const wanted = await inspect(source.storage, from);
  assertObjectType(wanted?.headers ?? {});
  if (wanted?.headers['etag'] !== step.source?.etag) throw createChangedError(printRemotePath(from));
  const condition = conditionOf(step.target?.etag);
  const etag = await linkOnce(engine, placed, to, condition);
  const made = await inspect(engine.storage, to);
  const headers = pickStoredHeaders(wanted?.headers ?? {});
  if (isSameRecord(headers, pickStoredHeaders(made?.headers ?? {}))) return;
  await tryAgain(() => engine.storage.putMetadata({ ...to, headers, ifMatch: etag }), engine);
}

/**
 * Creates a `Between` if the source is of another service; undefined otherwise.
 * @param mayUseParts large objects may be sent in parts, which are committed without a condition
 */
export function betweenServices(engine: Engine, from: Side, mayUseParts: boolean): Between | undefined {
  const isOther = from.kind === 'remote' && from.origin !== undefined;
  return isOther ? createBetween(engineAt(engine, from), engine, mayUseParts) : undefined;
}

/** @param mayUseParts large objects may be sent in parts, which are committed without a condition */
export function createBetween(sourceEngine: Engine, targetEngine: Engine, mayUseParts: boolean): Between {
  // Both connections use memory at the same time: without a hashing thread a large object takes about 20 MB less, and no more time.
  const [source, engine] = [sourceEngine, targetEngine].map((each) => ({ ...each, hashing: hashingHere })) as [Engine, Engine];
  const table = createLinkTable();
  async function link(step: Step, way: Way): Promise<boolean> {
    const placed = await table.get(step.source?.etag ?? '');
    if (placed === undefined || printRemotePath(placed.path) === printRemotePath(way.to)) return false;
    try {
      await linkBetween(source, engine, step, way, placed);
      return true;
    } catch (error) {
      // Not every service has links, and the link's source may be gone: the bytes are copied then.
      if (isConditionFailed(error) || !(error instanceof ApiError)) throw error;
      return false;
    }
  }
  return {
    source,
    link: (step, from, to) => link(step, { from, to, mayUseParts }),
    copy: async (step, from, to) => {
      const etag = step.source?.etag ?? '';
      const way = { from, to, mayUseParts };
      const waiting = table.get(etag);
      if (waiting && etag !== '' && (await link(step, way))) return {};
      const copying = copyBytes(source, engine, step, way);
      if (!waiting && etag !== '') table.set(etag, copying);
      await copying;
      return {};
    },
    note: async (sourceEtag, path, targetEtag) => {
      if (sourceEtag === undefined || targetEtag === undefined) return false;
      const waiting = table.get(sourceEtag);
      if (!waiting) {
        table.set(sourceEtag, Promise.resolve({ path, etag: targetEtag }));
        return false;
      }
      const placed = await waiting;
      return placed !== undefined && placed.etag !== '' && placed.etag !== targetEtag;
    },
  };
}
