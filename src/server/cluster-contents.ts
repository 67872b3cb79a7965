import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LocalError } from '../base/errors.ts';
import { collect, type Collected, type Reason } from './cluster-collector.ts';
import { checkPlace, openClusterStore, type ClusterStoreOptions } from './store/postgres/open.ts';
import type { Store } from './store/store.ts';
import { verifyContents, type Damage } from './verify-contents.ts';

/** Operator commands on the contents of a cluster, beside running gateways. */

/** Database and contents of a cluster. */
export type ClusterPlace = Pick<ClusterStoreOptions, 'database' | 'bytes'>;

const connections = 4;

/** @throws {LocalError} for a directory without contents: it is not that of the database, and all contents would be considered lost */
export function assertContents(bytes: ClusterPlace['bytes']): void {
  if (typeof bytes === 'string' && !existsSync(join(bytes, 'bytes')))
    throw new LocalError(`${bytes} has no contents of gateways`, { hint: 'give --bytes as the gateways have it' });
}

/**
 * Checks that contents could be stored in a place, and writes nothing there.
 * @throws {LocalError} if the place does not have the contents of the database; {StoreUnavailable} if it does not respond
 */
export async function checkContents({ database, bytes }: ClusterPlace): Promise<void> {
  assertContents(bytes);
  await checkPlace(database, bytes);
}

async function openContents({ database, bytes }: ClusterPlace): Promise<Store> {
  assertContents(bytes);
  // No lease is needed, because nothing is written that gateways also write.
  return openClusterStore({ database, bytes, connections });
}

/** A content that is removed, or would be. */
export interface Gone {
  readonly content: string;
  readonly why: Reason;
}

/**
 * Removes contents that nothing refers to and that nobody reads, and what a crash left behind.
 * @param keep milliseconds for which overwritten or deleted contents are kept
 * @param takeOver true if the operator says that no other database uses the contents
 * @throws {LocalError} if another collector is running, or another database may use the contents
 */
export async function collectContents(
  place: ClusterPlace,
  { keep, dryRun, takeOver, signal }: { keep?: number | undefined; dryRun: boolean; takeOver: boolean; signal: AbortSignal },
): Promise<Collected & { readonly gone: readonly Gone[] }> {
  const store = await openContents(place);
  try {
    const gone: Gone[] = [];
    const onGone = (content: string, why: Reason): void => void gone.push({ content, why });
    const done = await collect({ store, keep, dryRun, takeOver, signal, sweep: true, ...(dryRun && { onGone }) });
    if (done) return { ...done, gone };
  } finally {
    await store.close();
  }
  throw new LocalError('another collector is at work', { hint: 'try again in a minute: one that was killed is forgotten by then' });
}

/**
 * Checks that every content of an object or image exists.
 * @param onChecked called for each content
 * @param checksum true to read all bytes and compare their checksum
 * @returns the damaged ones, as they are found
 */
export async function* findLostContents(place: ClusterPlace, onChecked: () => void, checksum: boolean): AsyncGenerator<Damage> {
  const store = await openContents(place);
  try {
    yield* verifyContents(store, onChecked, checksum);
  } finally {
    await store.close();
  }
}
