import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SnapshotInfo } from '../../api/control.ts';
import { assertOwnDataDirectory, isDatabaseLost } from '../../base/data-directory.ts';
import { NotFoundError, quietly, unlessAbsent, unlessNoEntry, UsageError } from '../../base/errors.ts';
import { isRecord } from '../../base/is-record.ts';
import { readPrivate, writePrivate } from '../../base/private-files.ts';
import { removeFolder } from '../../base/remove-folder.ts';
import { undoOnFailure } from '../../base/undo-on-failure.ts';
import { databaseFiles, foldDatabase, linkContents, replaceDatabase } from './copy-state.ts';
import { DamagedDatabase, explainDatabase, ignoreDamage } from './damaged-database.ts';
import { openStore, type FileStore } from './open.ts';
import { assertWhole, countObjects } from './whole-snapshot.ts';

/** Snapshots of a data directory: its state at one moment, in `snapshots/NAME` below it. Contents are shared with it by links. */

/** Written last: a directory without this file is not a snapshot. */
const infoFile = 'snapshot.json';

/** Private keys of the accounts. */
const keysFolder = 'keys';

function snapshotsOf(dataDir: string): string {
  return join(dataDir, 'snapshots');
}

/** @throws {UsageError} unless the name is a plain directory name */
function assertName(name: string): void {
  if (/^[A-Za-z0-9][\w.-]{0,99}$/u.test(name)) return;
  throw new UsageError(`"${name}" is not the name of a snapshot`, {
    hint: 'letters, digits, ".", "_" and "-", at most 100, the first a letter or a digit',
  });
}

/** Removes what is left of a snapshot whose deletion was killed. @throws {UsageError} when there is already a snapshot with that name */
function assertNew(dataDir: string, name: string): void {
  const folder = join(snapshotsOf(dataDir), name);
  if (!existsSync(join(folder, infoFile))) return rmSync(folder, { recursive: true, force: true });
  throw new UsageError(`there is a snapshot "${name}" already`, { hint: `choose another name, or: cloud local snapshot delete ${name}` });
}

/** The directory of a snapshot. @throws {NotFoundError} */
function findSnapshot(dataDir: string, name: string): string {
  assertName(name);
  const folder = join(snapshotsOf(dataDir), name);
  if (existsSync(join(folder, infoFile))) return folder;
  const names = listSnapshots(dataDir).map((each) => each.name);
  throw new NotFoundError(`there is no snapshot "${name}" of ${dataDir}`, {
    hint: names.length === 0 ? `cloud local snapshot create ${name}` : `there is ${names.slice(-10).join(', ')}`,
  });
}

/** Creates a temporary directory. Those left by a crash are removed: only one process at a time creates any. */
export function makeUnfinished(dataDir: string): string {
  const snapshots = snapshotsOf(dataDir);
  mkdirSync(snapshots, { recursive: true, mode: 0o700 });
  assertOwnDataDirectory(snapshots);
  for (const name of readdirSync(snapshots)) if (name.startsWith('.')) rmSync(join(snapshots, name), { recursive: true, force: true });
  const folder = join(snapshots, `.${randomUUID()}`);
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

/** Copies the private keys that a service generated for its accounts. */
export function copyKeys(from: string, to: string): void {
  const keys = join(from, keysFolder);
  if (existsSync(keys)) cpSync(keys, join(to, keysFolder), { recursive: true });
}

/**
 * Creates a snapshot of a store that is in use; if that fails, nothing is left of it.
 * @param now milliseconds since the epoch
 * @throws {UsageError} when the name cannot be used; {LocalError} when the database is damaged
 */
export async function createSnapshot(store: FileStore, dataDir: string, name: string, now: number): Promise<SnapshotInfo> {
  assertName(name);
  assertNew(dataDir, name);
  const folder = makeUnfinished(dataDir);
  try {
    copyKeys(dataDir, folder);
    await store.copyTo(folder);
    if (isDatabaseLost(folder)) throw new DamagedDatabase(dataDir, 'it is empty');
    // One file: a lost or shortened write-ahead log would be taken for an earlier state.
    await foldDatabase(folder);
    const info = { name, created: new Date(now).toISOString(), ...(await countObjects(folder, dataDir)) };
    writePrivate(join(folder, infoFile), `${JSON.stringify(info)}\n`);
    renameSync(folder, join(snapshotsOf(dataDir), name));
    return info;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw explainDatabase(dataDir, error);
  }
}

/** The description of a snapshot, with what is known if it is damaged; undefined if the snapshot has been deleted meanwhile. */
function readInfo(snapshots: string, name: string): SnapshotInfo | undefined {
  const file = join(snapshots, name, infoFile);
  return unlessAbsent(() => {
    const text = readPrivate(file);
    const described = quietly<unknown>(() => JSON.parse(text), undefined);
    const { created, objects, size } = isRecord(described) ? described : {};
    return {
      name,
      created: typeof created === 'string' ? created : statSync(file).mtime.toISOString(),
      objects: typeof objects === 'number' ? objects : null,
      size: typeof size === 'number' ? size : null,
    };
  });
}

/** The snapshots of a data directory, oldest first. */
export function listSnapshots(dataDir: string): SnapshotInfo[] {
  const snapshots = snapshotsOf(dataDir);
  const names = existsSync(snapshots) ? readdirSync(snapshots).filter((name) => !name.startsWith('.')) : [];
  return names
    .map((name) => readInfo(snapshots, name))
    .filter((info) => info !== undefined)
    .toSorted((left, right) => (left.created < right.created ? -1 : 1));
}

/** Deletes a snapshot; contents shared with others remain. @throws {NotFoundError} */
export async function deleteSnapshot(dataDir: string, name: string): Promise<void> {
  const folder = findSnapshot(dataDir, name);
  // Another process may be deleting it too, or creating one of the same name next. What a crash leaves is gone with the next snapshot.
  const deleted = join(snapshotsOf(dataDir), `.${randomUUID()}`);
  unlessNoEntry(() => renameSync(folder, deleted));
  await removeFolder(deleted);
}

/**
 * Copies the state of a snapshot into a directory, in which a store can then be opened. Contents are linked.
 * @throws {LocalError} if the database is damaged or, with `contents`, if a content is missing
 */
export async function copySnapshot(dataDir: string, name: string, target: string, { contents = false } = {}): Promise<void> {
  const folder = findSnapshot(dataDir, name);
  for (const file of databaseFiles.filter((each) => existsSync(join(folder, each)))) await copyFile(join(folder, file), join(target, file));
  copyKeys(folder, target);
  await linkContents(folder, target);
  await assertWhole(target, name, readInfo(snapshotsOf(dataDir), name)?.objects ?? null, contents);
}

/**
 * Restores a snapshot in a data directory that nobody uses; the next start removes contents that are no longer referenced.
 * @throws {NotFoundError} when there is no such snapshot; {LocalError} when the directory is in use
 */
export async function restoreAtRest(dataDir: string, name: string): Promise<void> {
  findSnapshot(dataDir, name);
  // Open until the snapshot is copied: a service that started meanwhile would go on writing to the database that is replaced.
  const held = await ignoreDamage(dataDir, () => openStore(dataDir));
  const close = (): Promise<void> => ignoreDamage(dataDir, async () => held?.close());
  await undoOnFailure(close, async () => {
    const folder = makeUnfinished(dataDir);
    try {
      await copySnapshot(dataDir, name, folder, { contents: true });
      await foldDatabase(folder);
      await linkContents(folder, dataDir);
      copyKeys(folder, dataDir);
      await close();
      replaceDatabase(folder, dataDir);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
