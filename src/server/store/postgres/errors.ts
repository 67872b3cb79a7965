import { DatabaseError } from 'pg';
import { StoreUnavailable } from '../unavailable.ts';

/**
 * Error codes (PostgreSQL, Appendix A) that are not caused by the statement: the connection is lost or refused (08), an operator or a
 * timeout ended the statement (57), there are too many connections (53300), a lock timed out (55P03), the server is read-only (25006).
 */
const passing = /^(?:08...|57...|53300|55P03|25006)$/u;

/** Error codes of a transaction that is retried after a conflict, which may also appear as a violated unique or foreign key. */
const repeatable: ReadonlySet<string> = new Set(['40001', '40P01', '23505', '23503']);

/**
 * Error codes of prepared statements: the statement does not exist (26000) or already exists (42P05), because a connection pooler shares
 * connections between clients; or the tables have changed since the statement was planned (0A000).
 */
const pooled: ReadonlySet<string> = new Set(['26000', '42P05']);
const outdated = '0A000';

function codeOf(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined;
}

/** Converts an error of a query: `StoreUnavailable` if the query did not cause it. */
export function explainQueryError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) return error;
  const code = codeOf(error);
  // An error that does not come from the server is a connection error.
  const isPassing = code === undefined || passing.test(code);
  return isPassing ? new StoreUnavailable(`the database is away: ${error.message}`, { cause: error }) : error;
}

/** Why a prepared statement failed as a statement; undefined if its query failed. */
export function explainStatementError(error: unknown): 'pooled' | 'outdated' | undefined {
  const code = codeOf(error) ?? '';
  if (pooled.has(code)) return 'pooled';
  return code === outdated ? 'outdated' : undefined;
}

/** True if a transaction that ended in this error may succeed when retried. */
export function isRepeatable(error: unknown): boolean {
  return repeatable.has(codeOf(error) ?? '') || explainStatementError(error) !== undefined;
}
