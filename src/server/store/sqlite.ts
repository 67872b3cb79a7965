import type LibsqlDatabase from 'libsql';
import { LocalError } from '../../base/errors.ts';

/** A compiled statement. */
export interface Statement {
  /** True if the statement returns rows. */
  readonly reader: boolean;
  all(parameters: readonly unknown[]): unknown[];
  run(parameters: readonly unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  iterate(parameters: readonly unknown[]): IterableIterator<unknown>;
}

/** An open SQLite database. */
export interface SqliteConnection {
  prepare(sql: string): Statement;
  exec(sql: string): void;
  readonly inTransaction: boolean;
  /** Closes a file that could not be opened as a database. */
  close(): void;
  /** Closes the file and releases the exclusive lock. */
  closeUnlocked(): void;
}

/** The first Node.js major version whose built-in SQLite prints no warning. */
const firstWithSqlite = 24;

/** The part of `node:sqlite` used here; the type declarations of the oldest supported release do not have that module. */
interface NodeSqlite {
  readonly DatabaseSync: new (file: string) => {
    prepare(sql: string): {
      columns(): readonly unknown[];
      all(...parameters: readonly unknown[]): unknown[];
      run(...parameters: readonly unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint };
      iterate(...parameters: readonly unknown[]): IterableIterator<unknown>;
    };
    exec(sql: string): void;
    readonly isTransaction: boolean;
    close(): void;
  };
}

/** The SQLite built into Node.js. */
function openBuiltIn({ DatabaseSync }: NodeSqlite, file: string): SqliteConnection {
  const connection = new DatabaseSync(file);
  return {
    prepare: (sql) => {
      const statement = connection.prepare(sql);
      return {
        reader: statement.columns().length > 0,
        all: (parameters) => statement.all(...parameters),
        run: (parameters) => statement.run(...parameters),
        iterate: (parameters) => statement.iterate(...parameters),
      };
    },
    exec: (sql) => connection.exec(sql),
    get inTransaction() {
      return connection.isTransaction;
    },
    close: () => connection.close(),
    closeUnlocked: () => connection.close(),
  };
}

/** @throws {LocalError} when the package is not installed, or has no build for this system */
async function loadLibsql(): Promise<typeof LibsqlDatabase> {
  try {
    return (await import('libsql')).default;
  } catch (error) {
    const system = `${process.platform} ${process.arch}`;
    const remedy = `use Node.js ${firstWithSqlite} or later, which has a database built in, or install without --omit=optional`;
    throw new LocalError(`the database of the local service is missing: libsql is not installed for ${system}: ${remedy}`, {
      cause: error,
    });
  }
}

function openLibsql(Connection: typeof LibsqlDatabase, file: string): SqliteConnection {
  const connection = new Connection(file);
  return {
    prepare: (sql) => {
      const statement = connection.prepare(sql);
      return {
        // Read once: the value never changes, and each access crosses into native code.
        reader: statement.reader,
        all: (parameters) => statement.all(parameters),
        run: (parameters) => statement.run(parameters),
        iterate: (parameters) => statement.iterate(parameters),
      };
    },
    exec: (sql) => void connection.exec(sql),
    get inTransaction() {
      return connection.inTransaction;
    },
    close: () => void connection.close(),
    closeUnlocked: () => {
      // The driver closes the file only when its statements have been garbage-collected; until then the lock would remain.
      try {
        connection.prepare('PRAGMA journal_mode=DELETE').all([]);
        connection.prepare('PRAGMA locking_mode=NORMAL').all([]);
        connection.prepare('SELECT count(*) FROM sqlite_master').all([]);
      } finally {
        connection.close();
      }
    },
  };
}

/**
 * Loads the function that opens databases: the SQLite of Node.js if it prints no warning, otherwise libsql.
 * @throws {LocalError} when there is neither
 */
export async function loadSqlite(): Promise<(file: string) => SqliteConnection> {
  const release = Number(process.versions.node.split('.')[0]);
  const builtIn = release >= firstWithSqlite ? process.getBuiltinModule('node:sqlite') : undefined;
  if (builtIn !== undefined) return (file) => openBuiltIn(builtIn as NodeSqlite, file);
  const libsql = await loadLibsql();
  return (file) => openLibsql(libsql, file);
}

/** Opens a database, works with it, and closes it. */
export async function useSqlite<T>(file: string, work: (connection: SqliteConnection) => T): Promise<T> {
  const open = await loadSqlite();
  const connection = open(file);
  try {
    return work(connection);
  } finally {
    connection.close();
  }
}

/** Describes the database that the local service would use. @throws {LocalError} when there is none */
export async function describeSqlite(): Promise<string> {
  const [row] = await useSqlite(':memory:', (connection) => connection.prepare('select sqlite_version() as version').all([]));
  const { version } = row as { version: string };
  return `SQLite ${version} of ${version === process.versions['sqlite'] ? `Node.js ${process.version}` : 'libsql'}`;
}

/** Result codes of SQLite: libsql reports the name, which may continue the one here, Node.js the number, whose low byte is the primary code. */
const resultCodes = { SQLITE_BUSY: 5, SQLITE_CORRUPT: 11, SQLITE_FULL: 13, SQLITE_NOTADB: 26 } as const;

export function isSqliteError(error: unknown, name: keyof typeof resultCodes): boolean {
  if (!(error instanceof Error)) return false;
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  const isNamed = typeof code === 'string' && `${code}_`.startsWith(`${name}_`);
  return isNamed || (typeof errcode === 'number' && (errcode & 0xff) === resultCodes[name]);
}
