import type { StoredBytes } from './bytes.ts';
import { createHash } from 'node:crypto';

/**
 * Contents that are shorter than what it costs to keep a file of them: their bytes stand in their id, and so in the row that
 * names it. They are on disk with that row, and gone with it.
 */

/** Most bytes of such a content: its id is in an index too. */
const mostBytes = 512;

const prefix = 'inline/';

/** The bytes as a content that needs no file; undefined when they are too many. */
export function keepInline(bytes: Uint8Array): StoredBytes | undefined {
  const size = bytes.length;
  if (size > mostBytes) return undefined;
  return { id: `${prefix}${Buffer.from(bytes).toString('base64url')}`, size, md5: createHash('md5').update(bytes).digest('base64') };
}

/** The bytes of a content that has no file; undefined for one that has. */
export function readInline(id: string): Buffer | undefined {
  return id.startsWith(prefix) ? Buffer.from(id.slice(prefix.length), 'base64url') : undefined;
}
