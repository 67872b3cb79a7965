import type { Download } from '../../api/operation.ts';
import type { StorageClient } from '../../client/client.ts';
import type { RemotePath } from '../path.ts';
import { assertObject } from './download.ts';
import { createRangeError, readContentRange } from './ranges.ts';

/** Bytes of an object. Without `first`, its `last` bytes; without `last`, all bytes from `first`. */
export interface ByteRange {
  readonly first: number | undefined;
  readonly last: number | undefined;
}

/**
 * Requests one range of an object.
 * @throws {NetworkError} for a service that responds with other bytes, such as the whole object
 */
export async function openRange(storage: StorageClient, path: RemotePath, { first, last }: ByteRange): Promise<Download['body']> {
  const response = await storage.getObject({ ...path, range: `bytes=${first ?? ''}-${last ?? ''}` });
  await assertObject(path, response);
  const sent = readContentRange(response);
  if (sent) {
    const end = sent.size - 1;
    const wanted = first === undefined ? [Math.max(0, sent.size - (last ?? 0)), end] : [first, Math.min(last ?? end, end)];
    if (sent.first === wanted[0] && sent.last === wanted[1]) return response.body;
  }
  throw await createRangeError(storage, path, response);
}
