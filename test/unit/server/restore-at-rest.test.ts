import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { streamOf } from '../../../src/api/message.ts';
import { openStore, useStore } from '../../../src/server/store/open.ts';
import { createSnapshot, restoreAtRest } from '../../../src/server/store/snapshots.ts';
import { openNewStore } from '../../support/new-store.ts';

let dir = '';

/** A data directory at rest with a snapshot of enough contents that other work gets its turn while they are linked. */
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cloud-store-'));
  const store = await openNewStore(dir);
  await store.write((transaction) => transaction.insertInto('networks').values({ id: 'saved', name: 'n' }).execute());
  for (let number = 0; number < 300; number += 1) await store.bytes.write(streamOf(Buffer.from(randomUUID())));
  await createSnapshot(store, dir, 'ready', 0);
  await store.write((transaction) => transaction.insertInto('networks').values({ id: 'later', name: 'n' }).execute());
  await store.close();
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

const readNetworks = (): Promise<string[]> =>
  useStore(dir, async ({ db }) => (await db.selectFrom('networks').select('id').execute()).map(({ id }) => id));

const isCopying = (): boolean => readdirSync(join(dir, 'snapshots')).some((name) => name.startsWith('.'));

test('a service does not start while a snapshot is restored: it would write to the database that is replaced', async () => {
  const restoring = restoreAtRest(dir, 'ready');
  while (!isCopying()) await setImmediate();
  await expect(openStore(dir)).rejects.toThrow('is in use by another cloud local');
  await restoring;
  expect(await readNetworks()).toEqual(['saved']);
});

test('a second restore at the same moment is refused, and does not disturb the first', async () => {
  const restoring = restoreAtRest(dir, 'ready');
  while (!isCopying()) await setImmediate();
  await expect(restoreAtRest(dir, 'ready')).rejects.toThrow('is in use by another cloud local');
  await restoring;
  expect(await readNetworks()).toEqual(['saved']);
  expect(readdirSync(join(dir, 'snapshots'))).toEqual(['ready']);
});
