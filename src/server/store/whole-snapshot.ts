import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { SnapshotInfo } from '../../api/control.ts';
import { LocalError } from '../../base/errors.ts';
import { verifyContents } from '../verify-contents.ts';
import { databaseFiles, foldDatabase } from './copy-state.ts';
import { DamagedDatabase } from './damaged-database.ts';
import { isDiskFull } from './disk-full.ts';
import { useSqlite, type SqliteConnection } from './sqlite.ts';
import { useStore } from './open.ts';

/** Checks the copy of a snapshot before it replaces anything: SQLite takes a lost or shortened file for an empty or earlier database. */

type Counts = Pick<SnapshotInfo, 'objects' | 'size'>;

function count(connection: SqliteConnection): Counts {
  const query = 'SELECT count(*) AS objects, coalesce(sum(size), 0) AS size FROM entries WHERE content IS NOT NULL';
  const [counts] = connection.prepare(query).all([]) as [Counts];
  return counts;
}

/** Says what is wrong with a database. */
function findDatabaseDamage(connection: SqliteConnection, objects: SnapshotInfo['objects']): string | undefined {
  const [{ quick_check: found }] = connection.prepare('PRAGMA quick_check(1)').all([]) as [{ quick_check: string }];
  if (found !== 'ok') return found.replaceAll(/\s+/gu, ' ');
  const { objects: has } = count(connection);
  return objects === null || has === objects ? undefined : `${has} of ${objects} objects`;
}

/** Number of objects in a copy of the database of `dataDir`, and their bytes. @throws {LocalError} if the database is damaged */
export function countObjects(folder: string, dataDir: string): Promise<Counts> {
  return useSqlite(join(folder, databaseFiles[0]), (connection) => {
    const damage = findDatabaseDamage(connection, null);
    if (damage !== undefined) throw new DamagedDatabase(dataDir, damage);
    return count(connection);
  });
}

/** The first content that is missing or too short. */
function findLost(folder: string): Promise<string | undefined> {
  return useStore(folder, async (store) => {
    for await (const { path, problem } of verifyContents(store)) return `the content of ${path} ${problem}`;
    return undefined;
  });
}

/**
 * Checks the copy of a snapshot in `folder`.
 * @param objects their number by the description of the snapshot
 * @param contents true to migrate the copy too, and to check that all contents exist
 * @throws {LocalError} if it is damaged, or was written by a newer release
 */
export async function assertWhole(folder: string, name: string, objects: SnapshotInfo['objects'], contents: boolean): Promise<void> {
  const createError = (problem: string, hint: string, cause?: unknown): LocalError =>
    new LocalError(`snapshot "${name}" cannot be used; nothing was changed: ${problem}`, { hint, cause });
  const others = 'choose another one: cloud local snapshot list';
  const database = join(folder, databaseFiles[0]);
  const isThere = (statSync(database, { throwIfNoEntry: false })?.size ?? 0) > 0;
  if (!isThere) throw createError('its database is missing', others);
  let lost: string | undefined;
  try {
    await foldDatabase(folder);
    const damage = await useSqlite(database, (connection) => findDatabaseDamage(connection, objects));
    if (damage !== undefined) throw new Error(damage);
    lost = contents ? await findLost(folder) : undefined;
  } catch (error) {
    if (isDiskFull(error)) throw error;
    const said = error instanceof Error ? error.message : String(error);
    // Of a newer release, for example.
    if (error instanceof LocalError) throw createError(said.replaceAll(folder, name), error.hint ?? others, error);
    throw createError(`its database is damaged: ${said}`, others, error);
  }
  if (lost !== undefined) throw createError(lost, `start what is left of it beside this service: cloud local fork --snapshot ${name}`);
}
