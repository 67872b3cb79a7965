import { isSqliteError } from './engine.ts';

/** Of the system, and of PostgreSQL. */
const codes: readonly unknown[] = ['ENOSPC', 'EDQUOT', '53100'];

/** Whether a file or the database could not be written for want of room. */
export function isDiskFull(error: unknown): boolean {
  return isSqliteError(error, 'SQLITE_FULL') || (error instanceof Error && 'code' in error && codes.includes(error.code));
}
