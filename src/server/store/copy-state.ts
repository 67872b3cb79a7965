import { execFile } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { constants, copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { isSystemError, LocalError } from '../../base/errors.ts';
import { loadEngine } from './engine.ts';

/** Copies of the state of a store: the database, and links to the contents, which never change once they are written. */

/** The database, and what was committed since it was last brought up to date. */
export const databaseFiles = ['cloud.db', 'cloud.db-wal'] as const;

/** Contents that are linked before other requests have their turn. */
const linksPerTurn = 100;

/** Errors of a file system that cannot link a file here: another disk, no links, too many of one file. */
const unlinkable = new Set(['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP']);

/**
 * Copies the files of a database into the directory `to`. Nothing may be written meanwhile.
 *
 * By another program: a process that closes a file loses every lock that it has on it, and with it the guard of the data directory.
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

/** True when the file was linked, or is there already; false where the file system cannot. */
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
 * Links all contents of the data directory `from` into `to`; copies them where the file system has no links between the two. Contents
 * that are written meanwhile may be among them, without a row that names them.
 */
export async function linkContents(from: string, to: string): Promise<void> {
  const [source, target] = [join(from, 'bytes'), join(to, 'bytes')];
  mkdirSync(target, { recursive: true, mode: 0o700 });
  let linked = 0;
  for (const folder of readdirSync(source)) {
    mkdirSync(join(target, folder), { recursive: true, mode: 0o700 });
    // At once: of 10,000 contents the names one by one take as long as half of the links.
    for (const name of readdirSync(join(source, folder))) {
      const [file, copy] = [join(source, folder, name), join(target, folder, name)];
      if (!tryLink(file, copy)) await copyFile(file, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
      linked += 1;
      if (linked % linksPerTurn === 0) await setImmediate();
    }
  }
}

/** Brings what was committed last into the file of the database of a directory itself. */
export async function foldDatabase(dir: string): Promise<void> {
  const open = await loadEngine();
  const connection = open(join(dir, databaseFiles[0]));
  try {
    connection.prepare('PRAGMA journal_mode=DELETE').all([]);
  } finally {
    connection.close();
  }
}

/** Puts the folded database of a directory in the place of another one, which nobody has open, at one stroke. */
export function replaceDatabase(from: string, to: string): void {
  const [file, log] = databaseFiles;
  // Empty since the database was closed; with another database it would be taken for its own.
  rmSync(join(to, log), { force: true });
  renameSync(join(from, file), join(to, file));
}
