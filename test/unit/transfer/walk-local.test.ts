import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type * as promises from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { nameUnfinished } from '../../../src/transfer/local/unfinished-name.ts';
import { walkLocal } from '../../../src/transfer/local/walk.ts';

/** Names that a directory still lists, although their files are gone. */
const gone = vi.hoisted((): string[] => []);

vi.mock('node:fs/promises', async (load) => {
  const real = await load<typeof promises>();
  return {
    ...real,
    readdir: async (folder: string) => [...(await real.readdir(folder, 'buffer')), ...gone.map((name) => Buffer.from(name))],
  };
});

const root = mkdtempSync(join(tmpdir(), 'cloud-walk-'));
afterAll(() => rmSync(root, { recursive: true }));

async function walk(): Promise<{ names: string[]; errors: unknown[] }> {
  const [names, errors]: [string[], unknown[]] = [[], []];
  for await (const { rel } of walkLocal(root, { onError: (error) => void errors.push(error) })) names.push(rel);
  return { names, errors };
}

test('an unfinished file that another process finishes during the walk is no failure; any other file that vanishes is', async () => {
  writeFileSync(join(root, 'a'), '');
  const unfinished = nameUnfinished(join(root, 'b'), 'etag', { own: 1, isAlive: () => true });
  gone.push(unfinished.slice(root.length + 1));
  expect(await walk()).toEqual({ names: ['a'], errors: [] });
  gone.push('c');
  expect(await walk()).toEqual({ names: ['a'], errors: [expect.objectContaining({ code: 'ENOENT', path: join(root, 'c') })] });
});
