import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import { Pool, types } from 'pg';
import { ApiError } from '../../../base/errors.ts';
import { nameStatement } from '../prepared-query.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { explainQueryError, explainStatementError } from './errors.ts';

/** Milliseconds. The server ends a statement before the client gives up on the connection, so that the connection can be used again. */
const limits = {
  connectionTimeoutMillis: 2000,
  query_timeout: 8000,
  statement_timeout: 7000,
  lock_timeout: 5000,
  idle_in_transaction_session_timeout: 10_000,
};

/** Connections of one process. */
const connections = 12;

/** Types that arrive as text because they may be longer than a number; sizes, times and counts are not. */
const numeric: ReadonlySet<number> = new Set([types.builtins.INT8, types.builtins.NUMERIC]);

/** PostgreSQL has no NUL in a text, and neither has anything that the services store. @throws {ApiError} 400 before anything is sent */
function refuseNul(parameters: readonly unknown[]): void {
  if (!parameters.some((each) => typeof each === 'string' && each.includes('\0'))) return;
  throw new ApiError(400, 'BadRequest', 'the request has a NUL character where none can be');
}

/** What a query gives. */
interface Result {
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: unknown[];
}

/** What a connection of a pool does. */
export interface PooledConnection {
  /** @param name of a prepared statement, which the connection is to keep */
  query(sql: string, parameters: unknown[], name?: string): Promise<Result>;
  /** @param error why it is not to be used again */
  release(error?: Error): void;
}

/** Whether a pool prepares statements: not behind a connection pooler that gives them to other clients. */
export interface Preparing {
  isOn: boolean;
}

/**
 * A connection for one transaction. One that failed is closed: an answer may still be on its way to whoever had it next.
 * Queries of most requests are prepared by name. Where such a statement fails as a statement, the query is run without a name; within a
 * transaction, which PostgreSQL has given up then, the error is repeatable.
 */
export function guard(client: PooledConnection, preparing: Preparing = { isOn: false }): PostgresPoolClient {
  let broken: StoreUnavailable | undefined;
  let outdated: Error | undefined;
  let isInTransaction = false;

  async function ask(text: string, parameters: readonly unknown[]): Promise<Result> {
    const name = preparing.isOn ? nameStatement(text) : undefined;
    try {
      return await client.query(text, [...parameters], name);
    } catch (error) {
      const reason = name === undefined ? undefined : explainStatementError(error);
      if (reason === undefined) throw error;
      if (reason === 'pooled') preparing.isOn = false;
      else outdated = error as Error;
      if (isInTransaction) throw error;
      return client.query(text, [...parameters]);
    }
  }

  const query = async <R>(sql: unknown, parameters: readonly unknown[] = []): Promise<PostgresQueryResult<R>> => {
    if (broken) throw broken;
    refuseNul(parameters);
    const text = String(sql);
    try {
      const { command, rowCount, rows } = await ask(text, parameters);
      if (/^(?:begin|start transaction)\b/u.test(text)) isInTransaction = true;
      else if (/^(?:commit|rollback)$/u.test(text)) isInTransaction = false;
      return { command: command as PostgresQueryResult<R>['command'], rowCount: rowCount ?? 0, rows: rows as R[] };
    } catch (error) {
      const explained = explainQueryError(error);
      if (explained instanceof StoreUnavailable) broken = explained;
      throw explained;
    }
  };
  return { query: query as PostgresPoolClient['query'], release: () => client.release(broken ?? outdated) };
}

/** The pools of this process. */
const pools = new Set<Pool>();

/** Connections of all pools of this process, and work that waits for one. */
export function readPoolUsage(): { total: number; idle: number; waiting: number } {
  const usage = { total: 0, idle: 0, waiting: 0 };
  for (const { totalCount, idleCount, waitingCount } of pools) {
    usage.total += totalCount;
    usage.idle += idleCount;
    usage.waiting += waitingCount;
  }
  return usage;
}

/**
 * Connections to PostgreSQL as the query builder wants them.
 * @param url as libpq has them: `postgresql://USER@HOST:PORT/DATABASE`; what is left out comes from PGHOST, PGUSER, PGPASSFILE and so on
 */
export function openPool(url: string, most = connections): PostgresPool {
  const pool = new Pool({
    connectionString: url,
    max: most,
    application_name: 'cloud',
    keepAlive: true,
    ...limits,
    types: {
      getTypeParser: (id, format) => (numeric.has(id) && format !== 'binary' ? Number : types.getTypeParser(id, format)),
    },
  });
  pools.add(pool);
  // Both of a connection that waits and of one in use: without a listener each would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const preparing: Preparing = { isOn: true };
  return {
    connect: async () => {
      try {
        const client = await pool.connect();
        return guard(
          {
            query: (text, values, name) => client.query({ text, values, ...(name && { name }) }),
            release: (error) => client.release(error),
          },
          preparing,
        );
      } catch (error) {
        throw new StoreUnavailable(`the database cannot be reached: ${error instanceof Error ? error.message : String(error)}`, {
          cause: error,
        });
      }
    },
    end: () => {
      pools.delete(pool);
      return pool.end();
    },
  };
}
