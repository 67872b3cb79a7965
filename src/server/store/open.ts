import { undoOnFailure } from '../../base/undo-on-failure.ts';
import { copyDatabase, linkContents } from './copy-state.ts';
import { explainDatabase } from './damaged-database.ts';
import { openDatabase } from './database.ts';
import { openFileBytes } from './file-bytes.ts';
import { createGroupCommit } from './group-commit.ts';
import { migrate } from './migrations.ts';
import type { Store } from './store.ts';

/** A store in a directory of this machine, whose state can be copied while it is used. */
export interface FileStore extends Store {
  /** Transactions committed since the store was opened; shows how many writes shared a flush. */
  commits(): number;
  /**
   * Copies the database into the directory `target` and links the contents, so that a store opened there has the state of this one at one
   * moment. Reads continue meanwhile; writes wait while the database is copied, and removals of contents until all are linked.
   */
  copyTo(target: string): Promise<void>;
  /** Keeps the existing contents until the returned function is called. */
  holdRemovals(): () => Promise<void>;
}

/**
 * Opens the data of the local service in `dir`, which is created if missing, for this process only.
 * @throws {LocalError} when another process has it open, a newer release has written to it, or its database is damaged
 */
export async function openStore(dir: string): Promise<FileStore> {
  const db = await openDatabase(dir);
  try {
    await migrate(db, dir, Date.now());
    const bytes = await openFileBytes(dir);
    const group = createGroupCommit(db);
    return {
      db,
      bytes,
      digest: () => bytes.digest(),
      write: (work) => group.write(work),
      writeEntry: (work) => group.write(work),
      commits: () => group.commits(),
      holdRemovals: () => bytes.holdRemovals(),
      copyTo: async (target) => {
        const release = bytes.holdRemovals();
        try {
          await group.pause(() => copyDatabase(dir, target));
          await linkContents(dir, target);
        } finally {
          await release();
        }
      },
      close: async () => {
        await group.drain();
        await db.destroy();
      },
    };
  } catch (error) {
    await db.destroy().catch(() => undefined);
    throw explainDatabase(dir, error);
  }
}

/** Opens the data in `dir`, works with it, and closes it. @throws {LocalError} as `openStore`, also when the work finds the damage */
export async function useStore<T>(dir: string, work: (store: FileStore) => Promise<T>): Promise<T> {
  const store = await openStore(dir);
  try {
    const result = await undoOnFailure(
      () => store.close(),
      () => work(store),
    );
    await store.close();
    return result;
  } catch (error) {
    throw explainDatabase(dir, error);
  }
}
