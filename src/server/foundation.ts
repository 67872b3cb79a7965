import { rmSync } from 'node:fs';
import type { SnapshotInfo } from '../api/control.ts';
import { undoOnFailure } from '../base/undo-on-failure.ts';
import type { Gate } from './gate.ts';
import type { JobEngine } from './jobs/engine.ts';
import type { Services } from './services.ts';
import { findReferenced } from './storage/garbage.ts';
import { collectUnreferenced } from './store/collect.ts';
import { foldDatabase, linkContents, replaceDatabase } from './store/copy-state.ts';
import { ignoreDamage } from './store/damaged-database.ts';
import { openStore, type FileStore } from './store/open.ts';
import { copyKeys, copySnapshot, createSnapshot, makeUnfinished } from './store/snapshots.ts';

/** The removal of contents that no row refers to; it stops by itself when none are left. */
export interface Collecting {
  begin(): void;
  end(): Promise<void>;
}

/** Removes unreferenced contents, left behind by a crash or the previous state, that are older than the start of the collection. */
export function createCollecting(store: FileStore, log: (line: string) => void): Collecting {
  let stop = new AbortController();
  let collecting: Promise<void> | undefined;
  return {
    begin: () => {
      stop = new AbortController();
      collecting = collectUnreferenced(store, Date.now(), findReferenced, stop.signal).then(
        (removed) => (removed > 0 ? log(`removed ${removed} contents that no object refers to`) : undefined),
        (error: unknown) => log(`collecting failed: ${String(error)}`),
      );
    },
    end: async () => {
      stop.abort();
      await collecting;
    },
  };
}

/** The store and everything built on it; it can be replaced while the services stay reachable. */
export interface Foundation {
  readonly store: FileStore;
  readonly services: Services;
  readonly jobs: JobEngine | undefined;
  readonly collecting: Collecting;
}

/** Milliseconds that requests have to finish before the foundation is replaced. */
const graceMs = 5000;

/** Serializes work: each call starts when the previous one has ended, whether it succeeded or failed. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}

/** The replaceable state of running services. */
export interface LiveState {
  current(): Foundation;
  /** Serializes work that affects the whole state. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  snapshot(name: string, now: number): Promise<SnapshotInfo>;
  /** Replaces the whole state by that of a snapshot. @throws {NotFoundError} */
  restore(name: string): Promise<void>;
  /**
   * Replaces the whole state by what `fill` puts into an empty directory: a database, and optionally contents and keys. Requests wait
   * meanwhile. If it fails, the previous state is restored.
   */
  replace(fill: (folder: string) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** @param stand creates services over an open store, ready to get requests */
export function createLiveState(
  dataDir: string,
  gate: Gate,
  first: Foundation,
  stand: (store: FileStore, before: Foundation) => Promise<Foundation>,
): LiveState {
  const inTurn = createTurns();
  let current = first;

  /** Creates services over what is in the data directory now. If that fails, requests fail with the same error. */
  async function standAgain(): Promise<void> {
    try {
      current = await stand(await openStore(dataDir), current);
      gate.open(current.services);
    } catch (error) {
      const fail = (): Promise<never> => Promise.reject(error);
      gate.open({ compute: fail, storage: fail, second: fail });
      throw error;
    }
  }

  async function exchange(folder: string): Promise<void> {
    await gate.shut(graceMs);
    try {
      await ignoreDamage(dataDir, async () => current.jobs?.close());
      await ignoreDamage(dataDir, () => current.store.close());
      copyKeys(folder, dataDir);
      replaceDatabase(folder, dataDir);
    } finally {
      await standAgain();
    }
  }

  async function replace(fill: (folder: string) => Promise<void>): Promise<void> {
    const folder = makeUnfinished(dataDir);
    try {
      await fill(folder);
      await foldDatabase(folder);
      await current.collecting.end();
      // Contents that are to be removed from now on may belong to the new state: after the exchange the collection decides about them.
      const release = current.store.holdRemovals();
      await undoOnFailure(release, async () => {
        await linkContents(folder, dataDir);
        await exchange(folder);
      });
    } finally {
      current.collecting.begin();
      rmSync(folder, { recursive: true, force: true });
    }
  }

  return {
    current: () => current,
    inTurn,
    snapshot: (name, now) => inTurn(() => createSnapshot(current.store, dataDir, name, now)),
    restore: (name) => inTurn(() => replace((folder) => copySnapshot(dataDir, name, folder, { contents: true }))),
    replace: (fill) => inTurn(() => replace(fill)),
    close: () =>
      inTurn(async () => {
        await Promise.all([current.collecting.end(), current.jobs?.close()]);
        await current.store.close();
      }),
  };
}
