import { createHash } from 'node:crypto';
import type { CompiledQuery, DatabaseConnection, Kysely, QueryResult, Transaction } from 'kysely';
import type { Schema } from './schema.ts';

/** Stands for a value while a query is compiled. */
class Placeholder {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** The connection of each transaction in progress for which `withConnection` found it. */
const connections = new WeakMap<object, DatabaseConnection>();

/**
 * Does the work of a transaction whose compiled queries go to its connection directly. The query builder finds the connection anew for each
 * query, which takes longer than most of them.
 */
export async function withConnection<T>(transaction: Transaction<Schema>, work: () => Promise<T>): Promise<T> {
  // The lock on the connection is released at once: queries of the builder would wait for it until the work is done.
  const connection = await transaction.getExecutor().provideConnection((each) => Promise.resolve(each));
  connections.set(transaction, connection);
  try {
    return await work();
  } finally {
    connections.delete(transaction);
  }
}

/** Runs a compiled query. */
export async function runQuery<R>(db: Kysely<Schema>, query: CompiledQuery<R>): Promise<QueryResult<R>> {
  return await (connections.get(db) ?? db).executeQuery(query);
}

const statements = new Map<string, string>();

/**
 * Name of the prepared statement with this text; undefined for a query that is not run repeatedly. The name is a digest of the text: if a
 * connection pooler mixes up the statements of two processes, the same name still means the same query.
 */
export function nameStatement(text: string): string | undefined {
  return statements.get(text);
}

/**
 * Creates a function that runs a query with other values each time. Building and compiling the query takes several times as long as running
 * it, and is done only at the first call on a database.
 * @param build builds and compiles the query; its values are placeholders, which may only be used as parameters of the query
 */
export function prepareQuery<V extends object, R>(
  build: (db: Kysely<Schema>, values: V) => CompiledQuery<R>,
): (db: Kysely<Schema>, values: V) => Promise<R[]> {
  // Each kind of database has its own SQL dialect.
  const compiledOf = new WeakMap<object, CompiledQuery<R>>();
  return async (db, values) => {
    const { adapter } = db.getExecutor();
    const compiled =
      compiledOf.get(adapter) ?? build(db, Object.fromEntries(Object.keys(values).map((name) => [name, new Placeholder(name)])) as V);
    if (!compiledOf.has(adapter)) {
      compiledOf.set(adapter, compiled);
      statements.set(compiled.sql, `cloud_${createHash('sha256').update(compiled.sql).digest('hex').slice(0, 40)}`);
    }
    const given = values as Readonly<Record<string, unknown>>;
    const parameters = compiled.parameters.map((each) => (each instanceof Placeholder ? given[each.name] : each));
    const { rows } = await runQuery<R>(db, { ...compiled, parameters });
    return rows;
  };
}
