import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Kysely, SqliteDialect, type SqliteDatabase, type SqliteStatement } from 'kysely';
import type { Database } from 'libsql';
import { LocalError } from '../../errors.ts';
import type { Schema } from './schema.ts';

/** Statements kept compiled; queries with lists of varying length would otherwise fill memory. */
const cachedStatements = 500;

const nothingDone = { changes: 0, lastInsertRowid: 0 };

/**
 * Closes the connection and gives up its lock. The driver really closes only when its compiled statements have been
 * collected as garbage, at some later time; until then the lock would stay.
 */
function closeConnection(connection: Database): void {
  connection.prepare('PRAGMA journal_mode=DELETE').all();
  connection.prepare('PRAGMA locking_mode=NORMAL').all();
  connection.prepare('SELECT count(*) FROM sqlite_master').all();
  connection.close();
}

/** The database as the query builder wants it, with compiled statements kept: compiling costs four times the query. */
function cacheStatements(connection: Database): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>();
  const compile = (sql: string): SqliteStatement => {
    const statement = connection.prepare(sql);
    if (statements.size >= cachedStatements) statements.clear();
    // Asked once here: the answer never changes and each asking crosses into native code.
    const { reader } = statement;
    const kept: SqliteStatement = {
      reader,
      all: (parameters) => statement.all(parameters),
      // A full disk ends a transaction by itself; the failure to end it once more would hide that cause.
      run: (parameters) => (sql === 'rollback' && !connection.inTransaction ? nothingDone : statement.run(parameters)),
      iterate: (parameters) => statement.iterate(parameters),
    };
    statements.set(sql, kept);
    return kept;
  };
  return { prepare: (sql) => statements.get(sql) ?? compile(sql), close: () => closeConnection(connection) };
}

/** Makes the directory with an empty database file that only its owner can read. */
async function createFile(dir: string, file: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const handle = await open(file, 'a', 0o600);
  await handle.close();
}

async function refuseSecond(dir: string, pidFile: string, cause: unknown): Promise<never> {
  const pid = await readFile(pidFile, 'utf8').catch(() => '');
  const holder = pid === '' ? '' : ` (pid ${pid.trim()})`;
  throw new LocalError(`data directory ${dir} is in use by another cloud local${holder}`, {
    hint: 'stop it with `cloud local stop`, or choose another directory with --data DIR',
    cause,
  });
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY';
}

/**
 * Opens `dir/cloud.db` for this process alone; the database's own exclusive lock, which ends with the process however it
 * dies, is the lock of the directory. Every commit is flushed to the disk.
 * @throws {LocalError} when another process has the directory open, or the file is not a database.
 */
export async function openDatabase(dir: string): Promise<Kysely<Schema>> {
  const file = join(dir, 'cloud.db');
  const pidFile = join(dir, 'cloud.pid');
  await createFile(dir, file);
  const { default: Connection } = await import('libsql');
  const connection = new Connection(file);
  try {
    connection.prepare('PRAGMA locking_mode=EXCLUSIVE').all();
    connection.prepare('PRAGMA journal_mode=WAL').all();
    // Exclusive mode takes the lock with the first write only, so there is one here.
    connection.exec('BEGIN EXCLUSIVE; PRAGMA user_version=1; COMMIT');
    connection.exec('PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON');
  } catch (error) {
    connection.close();
    if (isBusy(error)) return refuseSecond(dir, pidFile, error);
    throw new LocalError(`${file}: cannot be opened as a database: ${error instanceof Error ? error.message : String(error)}`, {
      hint: 'name another directory with --data DIR, or put a backup of this one in place',
      cause: error,
    });
  }
  await writeFile(pidFile, `${process.pid}\n`, { mode: 0o600 });
  return new Kysely<Schema>({ dialect: new SqliteDialect({ database: cacheStatements(connection) }) });
}
