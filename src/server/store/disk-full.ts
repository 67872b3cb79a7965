import { isSqliteError } from './sqlite.ts';

/** Error codes of the system and of PostgreSQL. */
const codes: readonly unknown[] = ['ENOSPC', 'EDQUOT', '53100'];

/** True if a file or the database could not be written for lack of space. */
export function isDiskFull(error: unknown): boolean {
  return isSqliteError(error, 'SQLITE_FULL') || (error instanceof Error && 'code' in error && codes.includes(error.code));
}
