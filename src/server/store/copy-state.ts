import { execFile } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { constants, copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { isSystemError, LocalError } from '../../base/errors.ts';
import { useSqlite } from './sqlite.ts';

/** Copies the state of a store: the database, and links to the contents, which never change once written. */

/** The database and its write-ahead log. */
export const databaseFiles = ['cloud.db', 'cloud.db-wal'] as const;

/** Number of contents that are linked before other requests get their turn. */
const linksPerTurn = 100;

/** Error codes of a file system that cannot link a file here: another disk, no support for links, too many links to one file. */
const unlinkable = new Set(['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP']);

/**
 * Copies the files of a database into the directory `to`. Nothing may be written to the database meanwhile.
 *
 * The copy is made by another process: a process that closes a file loses all its locks on the file, and with them the lock of the data
 * directory.
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  const files = databaseFiles.map((name) => join(from, name)).filter((file) => existsSync(file));
  try {
    await promisify(execFile)('cp', ['-p', '--', ...files, to]);
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string };
    throw new LocalError(`the database cannot be copied to ${to}: ${stderr.trim() || message}`, { cause: error });
  }
}

/** True if the file was linked, or is already there; false if the file system cannot link it. */
function tryLink(source: string, target: string): boolean {
  try {
    linkSync(source, target);
    return true;
  } catch (error) {
    if (isSystemError(error) && error.code === 'EEXIST') return true;
    if (isSystemError(error) && unlinkable.has(error.code ?? '')) return false;
    throw error;
  }
}

/**
 * Links all contents of the data directory `from` into `to`, or copies them if the file system cannot link between the two. Contents
 * written meanwhile may be included, without a row that names them.
 */
export async function linkContents(from: string, to: string): Promise<void> {
  const [source, target] = [join(from, 'bytes'), join(to, 'bytes')];
  mkdirSync(target, { recursive: true, mode: 0o700 });
  let linked = 0;
  for (const folder of existsSync(source) ? readdirSync(source) : []) {
    mkdirSync(join(target, folder), { recursive: true, mode: 0o700 });
    // Read in one call: for 10,000 contents, reading the names one by one takes half as long as making the links.
    for (const name of readdirSync(join(source, folder))) {
      const [file, copy] = [join(source, folder, name), join(target, folder, name)];
      if (!tryLink(file, copy)) await copyFile(file, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
      linked += 1;
      if (linked % linksPerTurn === 0) await setImmediate();
    }
  }
}

/** Moves everything in the write-ahead log of a directory's database into the database file. */
export async function foldDatabase(dir: string): Promise<void> {
  await useSqlite(join(dir, databaseFiles[0]), (connection) => connection.prepare('PRAGMA journal_mode=DELETE').all([]));
}

/** Atomically replaces the database of a directory, which nobody has open, with the folded database of another directory. */
export function replaceDatabase(from: string, to: string): void {
  const [file, log] = databaseFiles;
  // Empty or absent since the database was closed, unless that is damaged. Beside another database they would be applied to that.
  for (const name of [log, `${file}-journal`]) rmSync(join(to, name), { force: true });
  renameSync(join(from, file), join(to, file));
}
