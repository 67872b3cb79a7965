import { join } from 'node:path';
import type { Engine } from '../engine.ts';
import { readMtime } from '../fetch-file.ts';
import { inspect } from '../inspect.ts';
import { hashFile } from '../local-walk.ts';
import { joinPath } from '../path.ts';
import type { Known } from './memory.ts';
import type { Pair } from './merge.ts';
import type { Item, Side } from './tree.ts';

/** How it is decided whether two files are the same. */
export type Comparison = 'mtime' | 'checksum' | 'size';

/** Whether two files are the same, why not, and what was learnt. */
export interface Verdict {
  readonly reason: 'same' | 'size' | 'mtime' | 'content';
  readonly known?: Known | undefined;
}

interface Sides {
  readonly from: Side;
  readonly to: Side;
}

/** The local file of a pair that has one on either side. */
function findLocal(pair: Pair, { from, to }: Sides): { file: string; item: Item } | undefined {
  const [side, item] = from.kind === 'local' ? [from, pair.from] : [to, pair.to];
  return side.kind === 'local' && item ? { file: join(side.root, pair.rel), item } : undefined;
}

/** The object of a pair that has one on either side. */
function findObject(pair: Pair, { from, to }: Sides): { side: Extract<Side, { kind: 'remote' }>; item: Item } | undefined {
  const [side, item] = to.kind === 'remote' ? [to, pair.to] : [from, pair.from];
  return side.kind === 'remote' && item ? { side, item } : undefined;
}

function compareObjects({ etag, md5 }: Item, other: Item): Verdict {
  const isSame = (etag !== undefined && etag === other.etag) || (md5 !== undefined && md5 === other.md5);
  return { reason: isSame ? 'same' : 'content' };
}

/** What one request for an object's headers tells. */
async function askObject(engine: Engine, side: Extract<Side, { kind: 'remote' }>, rel: string) {
  const headers = (await inspect(engine.storage, joinPath(side.root, rel)))?.headers ?? {};
  return { etag: headers['etag'], md5: headers['content-md5'], mtime: readMtime(headers['m-mtime']) };
}

/**
 * Compares the files of a pair, both of which are there. A request is made only for what neither the listing nor the memory of earlier
 * runs knows.
 */
export async function comparePair(engine: Engine, pair: Pair, sides: Sides, how: Comparison): Promise<Verdict> {
  const { from, to, known, rel } = pair;
  if (!from || !to) return { reason: 'content' };
  if (from.size !== to.size) return { reason: 'size' };
  if (how === 'size') return { reason: 'same', known };
  if (sides.from.kind === 'remote' && sides.to.kind === 'remote') return compareObjects(from, to);
  const local = findLocal(pair, sides);
  const object = findObject(pair, sides);
  if (!local || !object) return { reason: 'content' };
  const mtime = local.item.mtime ?? 0;
  const etag = object.item.etag ?? '';
  const isKnown = known !== undefined && known.etag === etag && etag !== '';
  if (how === 'mtime' && isKnown) return known.mtime === mtime ? { reason: 'same', known } : { reason: 'mtime' };
  const listed = object.item.md5 ?? (isKnown ? known.md5 : undefined);
  if (how === 'checksum' && listed !== undefined) return judgeContent(listed, await hashFile(local.file), { rel, etag, mtime });
  const asked = await askObject(engine, object.side, rel);
  if (asked.etag !== undefined && asked.etag !== etag && etag !== '') return { reason: 'content' };
  if (how === 'mtime' && asked.mtime !== undefined) {
    const isSame = Math.abs(Math.floor(asked.mtime) - mtime) <= 1;
    return isSame ? { reason: 'same', known: { rel, etag, mtime, md5: asked.md5 } } : { reason: 'mtime' };
  }
  // An object that another tool stored has no time to compare: its content decides, and the time is remembered.
  const md5 = listed ?? asked.md5;
  return md5 === undefined ? { reason: 'content' } : judgeContent(md5, await hashFile(local.file), { rel, etag, mtime });
}

function judgeContent(md5: string, local: string, known: Known): Verdict {
  return md5 === local ? { reason: 'same', known: { ...known, md5 } } : { reason: 'content' };
}
