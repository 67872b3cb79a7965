import { join } from 'node:path';
import { damageHint } from '../../base/data-directory.ts';
import { LocalError } from '../../base/errors.ts';
import { isSqliteError } from './sqlite.ts';

/** The database of a data directory cannot be used: it was emptied, shortened or overwritten. */
export class DamagedDatabase extends LocalError {
  readonly problem: string;

  constructor(dir: string, problem: string, cause?: unknown) {
    super(`${join(dir, 'cloud.db')} is damaged: ${problem}`, { hint: damageHint, cause });
    this.problem = problem;
  }
}

/** Names the database of `dir` for an error of SQLite about a damaged file; other errors stay. */
export function explainDatabase(dir: string, error: unknown): unknown {
  const isDamage = isSqliteError(error, 'SQLITE_CORRUPT') || isSqliteError(error, 'SQLITE_NOTADB');
  return isDamage && error instanceof Error ? new DamagedDatabase(dir, error.message, error) : error;
}

/** Does work on a database that is going to be replaced; undefined if that is damaged, which does not matter. */
export async function ignoreDamage<T>(dir: string, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const explained = explainDatabase(dir, error);
    if (!(explained instanceof DamagedDatabase)) throw explained;
    return undefined;
  }
}
