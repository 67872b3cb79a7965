import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { LocalError, UsageError } from '../../../base/errors.ts';
import { copyDatabase, databaseFiles } from '../../store/copy-state.ts';
import { openStore } from '../../store/open.ts';
import type { Store } from '../../store/store.ts';

/** The data of an embedded service, read from a copy of its database and from its contents as they are: nothing is written there. */
export interface Source {
  readonly store: Store;
  /** @throws {LocalError} when somebody has written the data directory since it was opened */
  assertUnchanged(): void;
  close(): Promise<void>;
}

/** What changes with every write to a database. */
function describeFiles(dir: string): string {
  const stats = databaseFiles.map((name) => statSync(join(dir, name), { bigint: true, throwIfNoEntry: false }));
  return stats.map((each) => (each === undefined ? '' : `${each.ino} ${each.size} ${each.mtimeNs}`)).join();
}

/**
 * Opens a data directory that nobody uses. A copy of its database is brought up to date, so that those of earlier releases can be read.
 * @throws {UsageError} when there is no database; {LocalError} when the copy cannot be made, or is none of ours
 */
export async function openSource(dataDir: string): Promise<Source> {
  if (!existsSync(join(dataDir, databaseFiles[0])))
    throw new UsageError(`${dataDir} is no data directory of a local service: it has no ${databaseFiles[0]}`);
  const before = describeFiles(dataDir);
  const assertUnchanged = (): void => {
    if (describeFiles(dataDir) === before) return;
    throw new LocalError(`${dataDir} was written to while it was imported`, { hint: 'stop the service on it, and run the command again' });
  };
  const copy = mkdtempSync(join(tmpdir(), 'cloud-import-'));
  const remove = (): void => rmSync(copy, { recursive: true, force: true });
  try {
    await copyDatabase(dataDir, copy);
    assertUnchanged();
    const contents = resolve(dataDir, 'bytes');
    if (existsSync(contents)) symlinkSync(contents, join(copy, 'bytes'));
    const store = await openStore(copy);
    return {
      store,
      assertUnchanged,
      close: async () => {
        await store.close();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}
