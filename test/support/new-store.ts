import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore, type FileStore } from '../../src/server/store/open.ts';

/** Makes the tables in a new directory. @returns the database file */
async function makeTables(): Promise<Buffer> {
  const dir = await mkdtemp(join(tmpdir(), 'cloud-tables-'));
  const store = await openStore(dir);
  await store.close();
  const file = await readFile(join(dir, 'cloud.db'));
  await rm(dir, { recursive: true, maxRetries: 5 });
  return file;
}

let tables: Promise<Buffer> | undefined;

/** Opens a store without data. Its tables are a copy of those that this process has made once: making them takes ten times as long. */
export async function openNewStore(dir: string): Promise<FileStore> {
  tables ??= makeTables();
  const file = await tables;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await writeFile(join(dir, 'cloud.db'), file, { mode: 0o600 });
  return openStore(dir);
}
