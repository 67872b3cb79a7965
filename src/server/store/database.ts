import { rmSync } from 'node:fs';
import { mkdir, open as openFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, SqliteDialect, type SqliteDatabase, type SqliteStatement } from 'kysely';
import { damageHint, isDatabaseLost } from '../../base/data-directory.ts';
import { LocalError } from '../../base/errors.ts';
import { writePrivate } from '../../base/private-files.ts';
import { isAlive } from '../../base/world.ts';
import { DamagedDatabase, explainDatabase } from './damaged-database.ts';
import { isDiskFull } from './disk-full.ts';
import { isSqliteError, loadSqlite, type SqliteConnection } from './sqlite.ts';
import { keepRows, listWrittenGroups, type RowGroup, type WriteCounts } from './remembered-query.ts';
import type { Schema } from './schema.ts';

/** Maximum number of compiled statements kept; otherwise queries with lists of varying length would fill memory. */
const cachedStatements = 500;

const nothingDone = { changes: 0, lastInsertRowid: 0 };

/** Adapts the database to the query builder, and keeps compiled statements: compiling costs four times as much as the query. */
function cacheStatements(connection: SqliteConnection, counts: WriteCounts, close: () => void): SqliteDatabase {
  const statements = new Map<string, { statement: SqliteStatement; written: readonly RowGroup[] }>();
  const compile = (sql: string): { statement: SqliteStatement; written: readonly RowGroup[] } => {
    const statement = connection.prepare(sql);
    if (statements.size >= cachedStatements) statements.clear();
    const kept: SqliteStatement = {
      ...statement,
      // A full disk ends a transaction by itself; an error from the rollback would then hide that cause.
      run: (parameters) => (sql === 'rollback' && !connection.inTransaction ? nothingDone : statement.run(parameters)),
    };
    const compiled = { statement: kept, written: listWrittenGroups(sql) };
    statements.set(sql, compiled);
    return compiled;
  };
  // Statements are prepared each time just before they run.
  const prepare = (sql: string): SqliteStatement => {
    const { statement, written } = statements.get(sql) ?? compile(sql);
    for (const group of written) counts[group] += 1;
    return statement;
  };
  return { prepare, close };
}

/** Creates the directory with an empty database file that only its owner can read. */
async function createFile(dir: string, file: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const handle = await openFile(file, 'a', 0o600);
  await handle.close();
}

/** Milliseconds until a process that has opened the database has written its id. */
const pidTime = 1000;

/** Returns the id of the process that has the database open, which may only just have opened it; undefined if it does not write its id. */
async function findHolder(pidFile: string): Promise<number | undefined> {
  const end = performance.now() + pidTime;
  do {
    const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
    if (pid > 0 && isAlive(process, pid)) return pid;
    await sleep(10);
  } while (performance.now() < end);
  return undefined;
}

async function refuseSecond(dir: string, pidFile: string, cause: unknown): Promise<never> {
  const pid = await findHolder(pidFile);
  const holder = pid === undefined ? '' : ` (pid ${pid})`;
  throw new LocalError(`data directory ${dir} is in use by another cloud local${holder}`, {
    hint: 'stop it with `cloud local stop`, or choose another directory with --data DIR',
    cause,
  });
}

/**
 * Opens `dir/cloud.db` for this process only. The database's exclusive lock is also the lock of the directory: it ends with the process,
 * however the process ends. Every commit is flushed to disk.
 * @throws {LocalError} when another process has the directory open, or the file is not a database: {DamagedDatabase}
 */
export async function openDatabase(dir: string): Promise<Kysely<Schema>> {
  const file = join(dir, 'cloud.db');
  const pidFile = join(dir, 'cloud.pid');
  const open = await loadSqlite();
  // A new database would have no rows for these contents, and the service would remove them.
  if (isDatabaseLost(dir)) throw new DamagedDatabase(dir, 'it is empty or missing');
  await createFile(dir, file);
  const connection = open(file);
  try {
    connection.prepare('PRAGMA locking_mode=EXCLUSIVE').all([]);
    connection.prepare('PRAGMA journal_mode=WAL').all([]);
    // In exclusive mode SQLite takes the lock with the first write, so a write is made here.
    connection.exec('BEGIN EXCLUSIVE; PRAGMA user_version=1; COMMIT');
    connection.exec('PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON');
  } catch (error) {
    connection.close();
    if (isSqliteError(error, 'SQLITE_BUSY')) return refuseSecond(dir, pidFile, error);
    if (isDiskFull(error))
      throw new LocalError(`${dir}: no space left on the disk`, { hint: 'free some space and try again', cause: error });
    const explained = explainDatabase(dir, error);
    if (explained instanceof LocalError) throw explained;
    throw new LocalError(`${file}: cannot be opened as a database: ${error instanceof Error ? error.message : String(error)}`, {
      hint: damageHint,
      cause: error,
    });
  }
  writePrivate(pidFile, `${process.pid}\n`, { flush: false });
  const close = (): void => {
    // Still under the lock, so that the file of the next process that opens the database is not removed.
    rmSync(pidFile, { force: true });
    connection.closeUnlocked();
  };
  const counts: WriteCounts = { identities: 0, entries: 0 };
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: cacheStatements(connection, counts, close) }) });
  keepRows(db, counts);
  return db;
}
