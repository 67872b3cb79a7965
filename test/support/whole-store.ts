import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inflateRawSync } from 'node:zlib';
import { expect } from 'vitest';
import { findReferenced } from '../../src/server/storage/garbage.ts';
import { isCompressed } from '../../src/server/store/compressed-bytes.ts';
import { openStore } from '../../src/server/store/open.ts';
import type { Store } from '../../src/server/store/store.ts';

/** Bytes of a content, also of one that is kept compressed. */
function measureContent(bytes: string, id: string): number {
  const file = join(bytes, id.slice(0, 2), id);
  return isCompressed(id) ? inflateRawSync(readFileSync(file)).length : statSync(file).size;
}

/** Names of the files in a directory and those below it, in order. */
export function listFileNames(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .toSorted();
}

export function countFiles(folder: string): number {
  return listFileNames(folder).length;
}

/** Waits until a service removes no contents any more. */
export async function waitForRemovals(dataDir: string): Promise<void> {
  const bytes = join(dataDir, 'bytes');
  for (let [before, after] = [-1, countFiles(bytes)]; before !== after; [before, after] = [after, countFiles(bytes)]) await sleep(1000);
}

/** Contents that no row names. */
async function listGarbage(store: Store): Promise<string[]> {
  const ids: string[] = [];
  for await (const id of store.bytes.list()) ids.push(id);
  const referenced = new Set<string>();
  for (let at = 0; at < ids.length; at += 200) for (const id of await findReferenced(store.db, ids.slice(at, at + 200))) referenced.add(id);
  return ids.filter((id) => !referenced.has(id));
}

/**
 * Looks at the data of a service at rest: every content has its file or its row, every directory counts its entries, and every file has a row.
 * @param mayHaveGarbage whether files without a row are fine
 */
export async function assertWholeStore(dataDir: string, { mayHaveGarbage = false } = {}): Promise<void> {
  const store = await openStore(dataDir);
  try {
    if (!mayHaveGarbage) expect(await listGarbage(store)).toEqual([]);
    const entries = await store.db.selectFrom('entries').select(['content', 'size']).where('content', 'is not', null).execute();
    const pieces = await store.db.selectFrom('pieces').select(['bytes as content', 'size']).execute();
    const wanted = [...entries, ...pieces].filter(({ content, size }) => !/^(?:pieces|inline|row)\//u.test(content ?? '') && size !== 0);
    const wrong = wanted.filter(({ content, size }) => measureContent(join(dataDir, 'bytes'), content ?? '') !== size);
    expect(wrong).toEqual([]);
    const rows = new Map((await store.db.selectFrom('contents').selectAll().execute()).map(({ id, bytes }) => [id, bytes.byteLength]));
    const inRows = entries.filter(({ content }) => content?.startsWith('row/'));
    expect(inRows.filter(({ content, size }) => rows.get(content ?? '') !== size)).toEqual([]);
    expect(rows.size).toBe(new Set(inRows.map(({ content }) => content)).size);
    const directories = await store.db
      .selectFrom('entries')
      .select(['parent', 'name', 'children'])
      .where('type', '=', 'directory')
      .execute();
    for (const { parent, name, children } of directories) {
      const path = `${parent}/${name}`.replaceAll(/\/+/gu, '/');
      const { count } = await store.db
        .selectFrom('entries')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('parent', '=', path)
        .executeTakeFirstOrThrow();
      expect([path, count]).toEqual([path, children]);
    }
  } finally {
    await store.close();
  }
}
