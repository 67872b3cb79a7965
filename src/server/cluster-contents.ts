import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LocalError } from '../base/errors.ts';
import { collect, type Collected, type Reason } from './cluster-collector.ts';
import { openClusterStore, type ClusterStoreOptions } from './store/postgres/open.ts';
import type { LocalStore } from './store/open.ts';
import { verifyContents, type Damage } from './verify-contents.ts';

/** Work of operators on the contents of a cluster, beside gateways that run. */

/** Where a cluster keeps its data. */
export type ClusterPlace = Pick<ClusterStoreOptions, 'database' | 'bytes'>;

const connections = 4;

/** @throws {LocalError} for a folder without contents, which is not that of the database: all would be taken for lost */
export function assertContents(bytes: ClusterPlace['bytes']): void {
  if (typeof bytes === 'string' && !existsSync(join(bytes, 'bytes')))
    throw new LocalError(`${bytes} has no contents of gateways`, { hint: 'give --bytes as the gateways have it' });
}

async function openContents({ database, bytes }: ClusterPlace): Promise<LocalStore> {
  assertContents(bytes);
  // Nothing is written that gateways write: no lease is needed.
  return openClusterStore({ database, bytes, connections });
}

/** A content that goes, or would. */
export interface Gone {
  readonly content: string;
  readonly why: Reason;
}

/**
 * Removes what nothing refers to and nobody reads, and what a crash left.
 * @param keep milliseconds for which what was overwritten or deleted is kept
 * @throws {LocalError} while another collector is at work
 */
export async function collectContents(
  place: ClusterPlace,
  { keep, dryRun, signal }: { keep?: number | undefined; dryRun: boolean; signal: AbortSignal },
): Promise<Collected & { readonly gone: readonly Gone[] }> {
  const store = await openContents(place);
  try {
    const gone: Gone[] = [];
    const onGone = (content: string, why: Reason): void => void gone.push({ content, why });
    const done = await collect({ store, keep, dryRun, signal, sweep: true, ...(dryRun && { onGone }) });
    if (done) return { ...done, gone };
  } finally {
    await store.close();
  }
  throw new LocalError('another collector is at work', { hint: 'try again in a minute: one that was killed is forgotten by then' });
}

/** Looks whether every content that an object or image names is there. @returns those whose is not, as they are found, and how many were looked at */
export async function* findLostContents(place: ClusterPlace, onChecked: () => void): AsyncGenerator<Damage> {
  const store = await openContents(place);
  try {
    yield* verifyContents(store, onChecked);
  } finally {
    await store.close();
  }
}
