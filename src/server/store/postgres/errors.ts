import { DatabaseError } from 'pg';
import { StoreUnavailable } from '../unavailable.ts';

/**
 * Codes (PostgreSQL, Appendix A) that say nothing about the statement: the connection is lost or refused (08), the operator intervenes or a
 * time limit ended it (57), there are too many connections (53300), a lock was not given in time (55P03), the server takes no writes (25006).
 */
const passing = /^(?:08...|57...|53300|55P03|25006)$/u;

/** Codes of a transaction that another one was in the way of: it is run again. Unique and foreign keys may be broken by that alone. */
const repeatable: ReadonlySet<string> = new Set(['40001', '40P01', '23505', '23503']);

/**
 * Codes of prepared statements: there is no such statement (26000) or there is one already (42P05), because a connection pooler gives the
 * statements of one client to another; or the tables have changed since it was planned (0A000).
 */
const pooled: ReadonlySet<string> = new Set(['26000', '42P05']);
const outdated = '0A000';

function codeOf(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined;
}

/** An error of a query as the services know it: `StoreUnavailable` for what says nothing about the query. */
export function explainQueryError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) return error;
  const code = codeOf(error);
  // What does not come from the server tells of the way to it.
  const isPassing = code === undefined || passing.test(code);
  return isPassing ? new StoreUnavailable(`the database is away: ${error.message}`, { cause: error }) : error;
}

/** Why a prepared statement failed as a statement; undefined when its query is what failed. */
export function explainStatementError(error: unknown): 'pooled' | 'outdated' | undefined {
  const code = codeOf(error) ?? '';
  if (pooled.has(code)) return 'pooled';
  return code === outdated ? 'outdated' : undefined;
}

/** Whether a transaction that ended in this error may succeed when it is run again. */
export function isRepeatable(error: unknown): boolean {
  return repeatable.has(codeOf(error) ?? '') || explainStatementError(error) !== undefined;
}
