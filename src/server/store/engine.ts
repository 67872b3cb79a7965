import type LibsqlDatabase from 'libsql';
import { LocalError } from '../../base/errors.ts';

/** A compiled statement. */
export interface Statement {
  /** Whether it returns rows. */
  readonly reader: boolean;
  all(parameters: readonly unknown[]): unknown[];
  run(parameters: readonly unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  iterate(parameters: readonly unknown[]): IterableIterator<unknown>;
}

/** An open SQLite database. */
export interface Engine {
  prepare(sql: string): Statement;
  exec(sql: string): void;
  readonly inTransaction: boolean;
  /** Closes a file that could not be used. */
  close(): void;
  /** Closes the file and releases the exclusive lock. */
  closeUnlocked(): void;
}

/** The first release line whose own SQLite prints no warning. */
const firstWithSqlite = 24;

/** What this module uses of `node:sqlite`, which the type declarations of the oldest supported release do not have. */
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

/** SQLite of Node.js itself: nothing to install. */
function openBuiltIn({ DatabaseSync }: NodeSqlite, file: string): Engine {
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

/** @throws {LocalError} when the package is absent, or has no build for this system */
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

function openLibsql(Connection: typeof LibsqlDatabase, file: string): Engine {
  const connection = new Connection(file);
  return {
    prepare: (sql) => {
      const statement = connection.prepare(sql);
      return {
        // Asked once: the answer never changes and each call crosses into native code.
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
      // The driver closes the file only when its statements have been collected as garbage; until then the lock would stay.
      connection.prepare('PRAGMA journal_mode=DELETE').all([]);
      connection.prepare('PRAGMA locking_mode=NORMAL').all([]);
      connection.prepare('SELECT count(*) FROM sqlite_master').all([]);
      connection.close();
    },
  };
}

/**
 * Loads what opens databases: SQLite of Node.js where it has one without a warning, else libsql.
 * @throws {LocalError} when there is neither
 */
export async function loadEngine(): Promise<(file: string) => Engine> {
  const release = Number(process.versions.node.split('.')[0]);
  const builtIn = release >= firstWithSqlite ? process.getBuiltinModule('node:sqlite') : undefined;
  if (builtIn !== undefined) return (file) => openBuiltIn(builtIn as NodeSqlite, file);
  const libsql = await loadLibsql();
  return (file) => openLibsql(libsql, file);
}

/** The database that the local service would use, in words. @throws {LocalError} when there is none */
export async function describeEngine(): Promise<string> {
  const open = await loadEngine();
  const engine = open(':memory:');
  const [row] = engine.prepare('select sqlite_version() as version').all([]);
  const { version } = row as { version: string };
  engine.close();
  return `SQLite ${version} of ${version === process.versions['sqlite'] ? `Node.js ${process.version}` : 'libsql'}`;
}

/** Result codes of SQLite: libsql gives the name, Node.js the number, whose low byte is the primary code. */
const resultCodes = { SQLITE_BUSY: 5, SQLITE_FULL: 13 } as const;

/** Whether an error is a result code of SQLite. */
export function isSqliteError(error: unknown, name: keyof typeof resultCodes): boolean {
  if (!(error instanceof Error)) return false;
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  return code === name || (typeof errcode === 'number' && (errcode & 0xff) === resultCodes[name]);
}
