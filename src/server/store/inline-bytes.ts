import type { StoredBytes } from './bytes.ts';
import { createHash } from 'node:crypto';

/**
 * Contents for which a file would cost more than their bytes: the bytes are encoded in the id, and so are in the row that names it. They
 * are written and removed with that row.
 */

/** Maximum bytes of such a content: its id is also in an index. */
const mostBytes = 512;

const prefix = 'inline/';

/** Encodes bytes as a content without a file; undefined if there are too many. */
export function keepInline(bytes: Uint8Array): StoredBytes | undefined {
  const size = bytes.length;
  if (size > mostBytes) return undefined;
  return { id: `${prefix}${Buffer.from(bytes).toString('base64url')}`, size, md5: createHash('md5').update(bytes).digest('base64') };
}

/** The bytes of a content without a file; undefined for any other content. */
export function readInline(id: string): Buffer | undefined {
  return id.startsWith(prefix) ? Buffer.from(id.slice(prefix.length), 'base64url') : undefined;
}
