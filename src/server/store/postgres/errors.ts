import { DatabaseError } from 'pg';
import { CloudError, exitCodes } from '../../../base/errors.ts';
import { StoreUnavailable } from '../unavailable.ts';

/**
 * Error codes (PostgreSQL, Appendix A) that are not caused by the statement: the connection is lost or refused (08), an operator or a
 * timeout ended the statement (57), there are too many connections (53300), a lock timed out (55P03), the server is read-only (25006).
 */
const passing = /^(?:08...|57...|53300|55P03|25006)$/u;

/** Error code of a server that is read-only, and what to do about it. */
const readOnly = '25006';
const readOnlyHint = 'give the address of the primary: a standby is read-only, and so is a database with default_transaction_read_only';

/** Error codes of a lack of rights or space, and what an operator can do about them. */
const remedies: ReadonlyMap<string, string> = new Map([
  ['42501', 'connect as the user who owns the database and has created its tables'],
  ['53100', 'free space on the disk of PostgreSQL'],
]);

/** PostgreSQL refuses a query for a reason that an operator can change. */
export class DatabaseRefusal extends CloudError {
  /** Error code of PostgreSQL. */
  readonly code: string;
  readonly exitCode = exitCodes.failed;

  constructor(code: string, hint: string, cause: Error) {
    super(`the database refuses: ${cause.message}`, { hint, cause });
    this.code = code;
  }
}

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

/** Converts an error of a query: `StoreUnavailable` or `DatabaseRefusal` if the query did not cause it. */
export function explainQueryError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) return error;
  const code = codeOf(error);
  const remedy = remedies.get(code ?? '');
  if (code !== undefined && remedy !== undefined) return new DatabaseRefusal(code, remedy, error);
  // An error that does not come from the server is a connection error.
  const isPassing = code === undefined || passing.test(code);
  if (!isPassing) return error;
  const hint = code === readOnly ? readOnlyHint : undefined;
  return new StoreUnavailable(`the database is away: ${error.message}`, { hint, cause: error });
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
