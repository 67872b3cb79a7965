import { createHash } from 'node:crypto';
import type { CompiledQuery, Kysely } from 'kysely';
import type { Schema } from './schema.ts';

/** Stands for a value while a query is compiled. */
class Placeholder {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
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
    const { rows } = await db.executeQuery<R>({ ...compiled, parameters });
    return rows;
  };
}
