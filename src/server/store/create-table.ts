import { sql, type ColumnBuilderCallback, type ColumnDataType, type ColumnDefinitionBuilder, type Kysely } from 'kysely';

/** Words after the type of a column, and what they declare. Without `null` or `key` the column must have a value. */
const declarations: Readonly<Record<string, ColumnBuilderCallback>> = {
  null: (column) => column,
  key: (column) => column.primaryKey(),
  counted: (column) => column.autoIncrement(),
  unique: (column) => column.unique(),
  zero: (column) => column.defaultTo(0),
};

function declare(column: ColumnDefinitionBuilder, words: readonly string[]): ColumnDefinitionBuilder {
  const needed = words.includes('null') || words.includes('key') ? column : column.notNull();
  // Any other word is a column of another table: rows are deleted with the row that they refer to.
  return words.reduce((of, word) => declarations[word]?.(of) ?? of.references(word).onDelete('cascade'), needed);
}

/** The arguments of `addColumn` for each column of a list. */
function readColumns(columns: string): [name: string, type: ColumnDataType, build: ColumnBuilderCallback][] {
  return columns.split(',').map((written) => {
    const [name = '', type, ...words] = written.trim().split(/\s+/u);
    return [name, type as ColumnDataType, (column) => declare(column, words)];
  });
}

/** Constraints of a table. */
interface Constraints {
  /** Columns of the primary key, if it has several, and its name; `TABLE_key` when absent. */
  readonly key?: readonly string[];
  readonly keyName?: string;
  readonly unique?: readonly [name: string, columns: readonly string[]];
  /** True if SQLite is to store rows in the order of the primary key. */
  readonly isOrdered?: boolean;
}

/**
 * Creates a table.
 * @param columns separated by commas, each with its name, its type and the words of `declarations`: `id text key, account text accounts.id,
 *   description text null`
 */
export async function createTable(db: Kysely<never>, name: string, columns: string, constraints: Constraints = {}): Promise<void> {
  const { key, keyName = `${name}_key`, unique, isOrdered = false } = constraints;
  let table = db.schema.createTable(name);
  for (const column of readColumns(columns)) table = table.addColumn(...column);
  if (key) table = table.addPrimaryKeyConstraint(keyName, key as never);
  if (unique) table = table.addUniqueConstraint(unique[0], unique[1] as never);
  await (isOrdered ? table.modifyEnd(sql`without rowid`) : table).execute();
}

/** Adds columns to a table, each by a statement of its own. @param columns as in `createTable` */
export async function addColumns(db: Kysely<never>, table: string, columns: string): Promise<void> {
  for (const column of readColumns(columns))
    await db.schema
      .alterTable(table)
      .addColumn(...column)
      .execute();
}
