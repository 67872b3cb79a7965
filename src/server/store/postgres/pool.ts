import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import { Pool, types } from 'pg';
import { ApiError } from '../../../base/errors.ts';
import { nameStatement } from '../prepared-query.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { lacksTls, readAddress } from './address.ts';
import { explainQueryError, explainStatementError } from './errors.ts';

/** Milliseconds. The server ends a statement before the client gives up on the connection, so that the connection can be reused. */
const limits = {
  connectionTimeoutMillis: 2000,
  query_timeout: 8000,
  statement_timeout: 7000,
  lock_timeout: 5000,
  idle_in_transaction_session_timeout: 10_000,
};

/** Maximum number of connections of one process. */
const connections = 12;

/** Types that arrive as text because their values may not fit into a number; sizes, times and counts do. */
const numeric: ReadonlySet<number> = new Set([types.builtins.INT8, types.builtins.NUMERIC]);

/** PostgreSQL has no NUL in text, and the services store none. @throws {ApiError} 400 before anything is sent */
function refuseNul(parameters: readonly unknown[]): void {
  if (!parameters.some((each) => typeof each === 'string' && each.includes('\0'))) return;
  throw new ApiError(400, 'BadRequest', 'the request has a NUL character where none can be');
}

/** The result of a query. */
interface Result {
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: unknown[];
}

/** A connection of a pool. */
export interface PooledConnection {
  /** @param name of a prepared statement, which the connection keeps */
  query(sql: string, parameters: unknown[], name?: string): Promise<Result>;
  /** @param error why the connection must not be reused */
  release(error?: Error): void;
}

/** Whether a pool prepares statements. It stops doing so behind a connection pooler that shares them between clients. */
export interface Preparing {
  isOn: boolean;
}

/**
 * A connection for one transaction. It is closed after an error: a late response could otherwise reach its next user. Frequent queries are
 * prepared by name. If a prepared statement fails as a statement, the query is run without a name; within a transaction, which PostgreSQL
 * has then aborted, the error is repeatable.
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

const pools = new Set<Pool>();

/** Number of connections of all pools of this process, and of waiting requests for a connection. */
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
 * Connections to PostgreSQL for the query builder.
 * @param url in libpq format: `postgresql://USER@HOST:PORT/DATABASE`; omitted parts come from PGHOST, PGUSER, PGPASSFILE and so on
 * @throws {LocalError} if a certificate that it names cannot be read
 */
export function openPool(url: string, most = connections): PostgresPool {
  const { isOptional, ...address } = readAddress(url);
  const pool = new Pool({
    ...address,
    max: most,
    application_name: 'cloud',
    keepAlive: true,
    ...limits,
    types: {
      getTypeParser: (id, format) => (numeric.has(id) && format !== 'binary' ? Number : types.getTypeParser(id, format)),
    },
  });
  pools.add(pool);
  // For idle connections and for those in use: without a listener, an error would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const preparing: Preparing = { isOn: true };
  return {
    connect: async () => {
      try {
        const client = await pool.connect().catch((error: unknown) => {
          if (!isOptional || !lacksTls(error)) throw error;
          pool.options.ssl = false;
          return pool.connect();
        });
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
