import { join } from 'node:path';
import type { Engine } from '../engine.ts';
import { inspect } from '../inspect.ts';
import { hashFile } from '../local/walk.ts';
import { joinPath } from '../path.ts';
import { isSameTime, readTime } from '../local/time.ts';
import type { Known } from './memory.ts';
import type { Pair } from './merge.ts';
import { engineAt, type Item, type Side } from './tree.ts';

/** How two files are compared. */
export type Comparison = 'mtime' | 'checksum' | 'size';

/** Both sides of a sync, and how they are compared. */
export interface Task {
  readonly from: Side;
  readonly to: Side;
  readonly comparison: Comparison;
  /** True if the stored headers of both sides are compared too. */
  readonly comparesHeaders: boolean;
  /** True if permission bits are compared too. */
  readonly modes: boolean;
}

/** The result of comparing two files, and what was learnt. */
export interface Verdict {
  readonly reason: 'same' | 'size' | 'mtime' | 'content';
  readonly known?: Known | undefined;
}

type RemoteSide = Extract<Side, { kind: 'remote' }>;

type Sides = Pick<Task, 'from' | 'to'>;

function compareObjects({ etag, md5 }: Item, other: Item): Verdict {
  const isSame = (etag !== undefined && etag === other.etag) || (md5 !== undefined && md5 === other.md5);
  return { reason: isSame ? 'same' : 'content' };
}

/** Compares objects of two services by MD5: their etags are unrelated. MD5s that the listings lack are requested. */
async function compareAcross(engine: Engine, { rel, from, to }: Pair, source: RemoteSide, target: RemoteSide): Promise<Verdict> {
  const [a, b] = await Promise.all([
    from?.md5 ?? askObject(engineAt(engine, source), source, rel).then(({ md5 }) => md5),
    to?.md5 ?? askObject(engine, target, rel).then(({ md5 }) => md5),
  ]);
  return { reason: a !== undefined && a === b ? 'same' : 'content' };
}

/** Requests an object's headers. */
async function askObject(engine: Engine, side: RemoteSide, rel: string) {
  const headers = (await inspect(engine.storage, joinPath(side.root, rel)))?.headers ?? {};
  const { etag, 'content-md5': md5, 'm-mtime': kept } = headers;
  return { etag, md5, kept, mtime: readTime(kept) };
}

/** True if a file has the modification time that belongs to the object: the one remembered, or the object's `m-mtime`. */
function hasKnownTime(mtime: bigint, known: Known): boolean {
  return mtime === known.mtime || isSameTime(mtime, readTime(known.kept) ?? { time: known.mtime, step: 1n });
}

/** What an earlier run remembered of a pair, if neither side has changed since: no request is needed, and no content has to be read. */
export function findUnchanged({ from, to, known }: Pair, sides: Sides, how: Comparison): Known | undefined {
  if (how !== 'mtime' || sides.from.kind === sides.to.kind || known === undefined) return undefined;
  if (from?.kind !== 'file' || to?.kind !== 'file' || from.size !== to.size) return undefined;
  const [local, object] = sides.from.kind === 'local' ? [from, to] : [to, from];
  const { mtime, ctime } = local.state ?? {};
  if (mtime === undefined || known.etag === '' || known.etag !== object.etag || !hasKnownTime(mtime, known)) return undefined;
  if (known.ctime !== undefined && known.ctime !== ctime) return undefined;
  return known.mtime === mtime && known.ctime === ctime ? known : { ...known, mtime, ctime };
}

/** Compares the two files of a pair. A request is made only for what neither the listing nor the memory of earlier runs has. */
export async function comparePair(engine: Engine, pair: Pair, sides: Sides, how: Comparison): Promise<Verdict> {
  const { from, to, known, rel } = pair;
  if (!from || !to) return { reason: 'content' };
  if (from.size !== to.size) return { reason: 'size' };
  if (how === 'size') return { reason: 'same', known };
  if (sides.from.kind === 'remote' && sides.to.kind === 'remote')
    return sides.from.origin ? await compareAcross(engine, pair, sides.from, sides.to) : compareObjects(from, to);
  const unchanged = findUnchanged(pair, sides, how);
  if (unchanged) return { reason: 'same', known: unchanged };
  const [here, there] = sides.from.kind === 'local' ? [sides.from, sides.to] : [sides.to, sides.from];
  if (here.kind !== 'local' || there.kind !== 'remote') return { reason: 'content' };
  const [{ state }, object] = here === sides.from ? [from, to] : [to, from];
  const { mtime = 0n, ctime } = state ?? {};
  const etag = object.etag ?? '';
  const isKnown = known !== undefined && known.etag === etag && etag !== '';
  const found = { rel, etag, mtime, ctime };
  if (how === 'mtime' && isKnown && !hasKnownTime(mtime, known)) return { reason: 'mtime' };
  const isTouched = isKnown && known.ctime !== undefined && known.ctime !== ctime;
  const listed = object.md5 ?? (isKnown ? known.md5 : undefined);
  const readsContent = how === 'checksum' || isTouched;
  if (readsContent && listed !== undefined)
    return judgeContent(listed, await hashFile(join(here.root, rel), engine.signal), {
      ...found,
      ...(isKnown && { kept: known.kept, mode: known.mode }),
    });
  const asked = await askObject(engine, there, rel);
  if (asked.etag !== undefined && asked.etag !== etag && etag !== '') return { reason: 'content' };
  if (!readsContent && asked.mtime !== undefined) {
    return isSameTime(mtime, asked.mtime) ? { reason: 'same', known: { ...found, md5: asked.md5, kept: asked.kept } } : { reason: 'mtime' };
  }
  // An object that another tool stored has no `m-mtime`: its content decides, and the time is remembered.
  const md5 = listed ?? asked.md5;
  return md5 === undefined ? { reason: 'content' } : judgeContent(md5, await hashFile(join(here.root, rel), engine.signal), found);
}

function judgeContent(md5: string, local: string, known: Known): Verdict {
  return md5 === local ? { reason: 'same', known: { ...known, md5 } } : { reason: 'content' };
}
