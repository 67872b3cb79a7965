import { openDatabase } from './database.ts';
import { openFileBytes } from './file-bytes.ts';
import { createGroupCommit } from './group-commit.ts';
import { migrate } from './migrations.ts';
import type { Store } from './store.ts';

/** A store in a directory of this machine. */
export interface LocalStore extends Store {
  /** Transactions committed since it was opened; shows how many writes shared a flush. */
  commits(): number;
}

/**
 * Opens the data of the local service in `dir`, which is made when missing, for this process alone.
 * @throws {LocalError} when another process has it open, or a newer release has written it.
 */
export async function openStore(dir: string): Promise<LocalStore> {
  const db = await openDatabase(dir);
  try {
    await migrate(db, dir, Date.now());
    const bytes = await openFileBytes(dir);
    const group = createGroupCommit(db);
    return {
      db,
      bytes,
      write: (work) => group.write(work),
      commits: () => group.commits(),
      close: async () => {
        await group.drain();
        await db.destroy();
      },
    };
  } catch (error) {
    await db.destroy();
    throw error;
  }
}
