import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { LocalError, UsageError } from '../../../base/errors.ts';
import { undoOnFailure } from '../../../base/undo-on-failure.ts';
import { copyDatabase, databaseFiles } from '../../store/copy-state.ts';
import { DamagedDatabase } from '../../store/damaged-database.ts';
import { openStore } from '../../store/open.ts';
import type { Store } from '../../store/store.ts';

/** The data of an embedded service: a copy of its database, and its contents in place. The data directory is only read. */
export interface Source {
  readonly store: Store;
  /** @throws {LocalError} when the data directory has been written to since it was opened */
  assertUnchanged(): void;
  close(): Promise<void>;
}

/** A string that changes with every write to a database. */
function describeFiles(dir: string): string {
  const stats = databaseFiles.map((name) => statSync(join(dir, name), { bigint: true, throwIfNoEntry: false }));
  return stats.map((each) => (each === undefined ? '' : `${each.ino} ${each.size} ${each.mtimeNs}`)).join();
}

/**
 * Opens a data directory that nobody uses. The copy of its database is migrated, so that directories of earlier releases can be read.
 * @throws {UsageError} when there is no database; {LocalError} when the copy cannot be made or is not a database of this program
 */
export async function openSource(dataDir: string): Promise<Source> {
  if (!existsSync(join(dataDir, databaseFiles[0])))
    throw new UsageError(`${dataDir} is not a data directory of a local service: it has no ${databaseFiles[0]}`);
  const before = describeFiles(dataDir);
  const assertUnchanged = (): void => {
    if (describeFiles(dataDir) === before) return;
    throw new LocalError(`${dataDir} was written to while it was imported`, { hint: 'stop the service on it, and run the command again' });
  };
  const copy = mkdtempSync(join(tmpdir(), 'cloud-import-'));
  const remove = (): void => rmSync(copy, { recursive: true, force: true });
  return undoOnFailure(remove, async () => {
    await copyDatabase(dataDir, copy);
    assertUnchanged();
    const contents = resolve(dataDir, 'bytes');
    if (existsSync(contents)) symlinkSync(contents, join(copy, 'bytes'));
    const store = await openStore(copy).catch((error: unknown) => {
      throw error instanceof DamagedDatabase ? new DamagedDatabase(dataDir, error.problem, error) : error;
    });
    return {
      store,
      assertUnchanged,
      close: async () => {
        await store.close();
        remove();
      },
    };
  });
}
