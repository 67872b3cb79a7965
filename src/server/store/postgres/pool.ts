import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import { Pool, types } from 'pg';
import { ApiError } from '../../../base/errors.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { explainQueryError } from './errors.ts';

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

/** What a connection of a pool does. */
export interface PooledConnection {
  query(sql: string, parameters: unknown[]): Promise<{ command: string; rowCount: number | null; rows: unknown[] }>;
  /** @param error why it is not to be used again */
  release(error?: Error): void;
}

/** A connection for one transaction. One that failed is closed: an answer may still be on its way to whoever had it next. */
export function guard(client: PooledConnection): PostgresPoolClient {
  let broken: StoreUnavailable | undefined;
  const query = async <R>(sql: unknown, parameters: readonly unknown[] = []): Promise<PostgresQueryResult<R>> => {
    if (broken) throw broken;
    refuseNul(parameters);
    try {
      const { command, rowCount, rows } = await client.query(String(sql), [...parameters]);
      return { command: command as PostgresQueryResult<R>['command'], rowCount: rowCount ?? 0, rows: rows as R[] };
    } catch (error) {
      const explained = explainQueryError(error);
      if (explained instanceof StoreUnavailable) broken = explained;
      throw explained;
    }
  };
  return { query: query as PostgresPoolClient['query'], release: () => client.release(broken) };
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
  return {
    connect: async () => {
      try {
        return guard(await pool.connect());
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
