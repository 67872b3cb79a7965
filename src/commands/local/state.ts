import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ControlInput, ControlName, ControlResult } from '../../api/control.ts';
import { assertDatabaseKept, hasDatabase } from '../../base/data-directory.ts';
import { UsageError } from '../../base/errors.ts';
import type { Context } from '../../cli/command.ts';
import type { FileStore } from '../../server/store/open.ts';
import { control } from './control.ts';
import { findHolder } from './holder.ts';
import { findRunning } from './running.ts';

/** @throws {UsageError} unless a folder has the data of a service: no other folder may be read, changed or removed; {LocalError} if its database is missing */
export function checkData(dataDir: string): void {
  if (hasDatabase(dataDir)) return;
  assertDatabaseKept(dataDir);
  throw new UsageError(`${dataDir} is not the data of a local service; nothing was changed`, { hint: 'cloud local start' });
}

/** True if a service uses a data directory, so that only the service may change it. @throws {WaitError} if it does not respond */
export async function isServed(world: Context['world'], dataDir: string): Promise<boolean> {
  return (await findRunning(world, dataDir)) !== undefined || findHolder(dataDir) !== undefined;
}

/**
 * Runs an operation on all data in a directory: through its service if that runs, else in this process.
 * @throws {UsageError} if the directory has no data of a service
 */
export async function changeState<N extends ControlName>(
  world: Context['world'],
  dataDir: string,
  { name, input, atRest }: { name: N; input: ControlInput<N>; atRest: (store: FileStore) => Promise<ControlResult<N>> },
): Promise<ControlResult<N>> {
  checkData(dataDir);
  if (await isServed(world, dataDir)) return await control(dataDir, name, input);
  const { useStore } = await import('../../server/store/open.ts');
  return await useStore(dataDir, atRest);
}

/** Folders that make a copy equal to the original for clients: the authority that they trust, and the keys that they sign with. */
const identityFolders = ['tls', 'keys'] as const;

/**
 * Copies the data of a service, or a snapshot of it, into an empty directory from which another service can be started. Contents of objects
 * are hard links, so that the original may be removed.
 */
export async function copyData(world: Context['world'], dataDir: string, snapshot: string | undefined, target: string): Promise<void> {
  checkData(dataDir);
  if (snapshot === undefined) {
    const atRest = async (store: { copyTo(folder: string): Promise<void> }): Promise<Record<never, never>> => {
      await store.copyTo(target);
      return {};
    };
    await changeState(world, dataDir, { name: 'copyState', input: { to: target }, atRest });
  } else {
    const { copySnapshot } = await import('../../server/store/snapshots.ts');
    await copySnapshot(dataDir, snapshot, target);
  }
  for (const folder of identityFolders) {
    const source = join(dataDir, folder);
    // Not overwritten: keys that were copied with a snapshot belong to its accounts.
    if (existsSync(source)) cpSync(source, join(target, folder), { recursive: true, force: false });
  }
}
