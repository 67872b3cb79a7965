import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ControlInput, ControlName, ControlResult } from '../../api/control.ts';
import { UsageError } from '../../base/errors.ts';
import type { Context } from '../../cli/command.ts';
import type { FileStore } from '../../server/store/open.ts';
import { control } from './control.ts';
import { findHolder } from './holder.ts';
import { findRunning } from './running.ts';

/** Refuses a folder that was named by mistake: only what is a service's data is read, changed or removed. */
export function checkData(dataDir: string): void {
  if (existsSync(join(dataDir, 'cloud.db'))) return;
  throw new UsageError(`${dataDir} is not the data of a local service: left alone`, { hint: 'cloud local start' });
}

/** Whether a service uses a data directory, and must be asked for what happens to it. @throws {WaitError} when it does not answer */
export async function isServed(world: Context['world'], dataDir: string): Promise<boolean> {
  return (await findRunning(world, dataDir)) !== undefined || findHolder(dataDir) !== undefined;
}

/**
 * Does an operation on all that a data directory holds: its service does it while it runs, this process when it is at rest.
 * @throws {UsageError} for what is no data of a service
 */
export async function changeState<N extends ControlName>(
  world: Context['world'],
  dataDir: string,
  { name, input, atRest }: { name: N; input: ControlInput<N>; atRest: (store: FileStore) => Promise<ControlResult<N>> },
): Promise<ControlResult<N>> {
  checkData(dataDir);
  if (await isServed(world, dataDir)) return await control(dataDir, name, input);
  const { openStore } = await import('../../server/store/open.ts');
  const store = await openStore(dataDir);
  try {
    return await atRest(store);
  } finally {
    await store.close();
  }
}

/** What a service needs beside its state to be the same for clients: the authority that they trust, and the keys that they sign with. */
const identityFolders = ['tls', 'keys'] as const;

/**
 * Puts what a service holds, or a snapshot of it, into an empty directory, from which another can be started. Contents are linked, so that the
 * origin may be removed.
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
    // Keys that came with a snapshot are those of its accounts.
    if (existsSync(source)) cpSync(source, join(target, folder), { recursive: true, force: false });
  }
}
