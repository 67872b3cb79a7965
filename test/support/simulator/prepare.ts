import { sql } from 'kysely';
import { foldCounts } from '../../../src/server/store/counts.ts';
import { openPostgres } from '../../../src/server/store/postgres/open.ts';
import { createWrites } from '../../../src/server/store/postgres/write.ts';
import { seedAccount } from '../../../src/server/seed/account.ts';
import { openDigest } from '../../../src/server/store/resumable-digest.ts';
import type { Store } from '../../../src/server/store/store.ts';
import { runStatement } from '../postgres.ts';
import { shareRsaKey } from '../rsa-keys.ts';
import { signHeaders } from '../service.ts';
import { defineMistaken, mistakenFunctions } from './mistakes.ts';
import { SimulatedDatabase, takeClock } from './database.ts';
import { simulateStorage, type Outcome, type StorageOptions } from './storage-history.ts';

/** Simulations, one after the other, on one database. */
export interface Simulations {
  storage(options: StorageOptions): Promise<Outcome>;
  close(): Promise<void>;
}

/** Tables that a simulation writes; all others stay as they were. */
const written = [
  'entries',
  'contents',
  'pieces',
  'uploads',
  'upload_digests',
  'count_changes',
  'garbage',
  'gateways',
  'duties',
  'storage_usage',
  'usage_changes',
  'jobs',
  'job_phases',
  'job_tasks',
  'job_outputs',
  'job_adders',
];

/** Puts the tables back as they were at first, with nothing of an earlier simulation in their files: the order of rows is the same each time. */
const startAnew = `truncate ${written.join(', ')} restart identity; insert into entries select * from sim.first_entries order by parent, name`;

async function defineMistakes(url: string): Promise<void> {
  const db = await openPostgres(url);
  const { rows } = await sql<{ definition: string }>`select pg_get_functiondef(cast('put_object' as regproc)) as definition`.execute(db);
  await db.destroy();
  for (const each of mistakenFunctions) await runStatement(url, defineMistaken(rows[0]?.definition ?? '', each));
}

/** @param url a database that was migrated, in which nothing is */
export async function prepareSimulations(url: string): Promise<Simulations> {
  const db = await openPostgres(url);
  const key = shareRsaKey('demo');
  const store = { db, ...createWrites(db, undefined) } as unknown as Store;
  await seedAccount(store, { login: 'demo', publicKey: key.line, keyFile: '', now: 0 });
  await foldCounts(db);
  await db.destroy();
  await takeClock(url);
  await defineMistakes(url);
  await runStatement(url, 'create table sim.first_entries as select * from entries');
  const signed = signHeaders('storage', { key, keyId: `/demo/keys/${key.fingerprint}` }) as Readonly<Record<string, string>>;
  const database = new SimulatedDatabase(url);
  const fresh = new SimulatedDatabase(url, { schema: 'fresh', sessions: 4 });
  const storage = async (options: StorageOptions): Promise<Outcome> => {
    if (options.work === 'migrateTogether') {
      await database.look('drop schema if exists fresh cascade; create schema fresh');
      return simulateStorage(fresh, signed, options);
    }
    await database.look(startAnew);
    return simulateStorage(database, signed, options);
  };
  // What is loaded when it is first used is loaded now.
  await openDigest();
  for (const work of ['objects', 'directories'] as const) await storage({ seed: 1, work });
  const close = async (): Promise<void> => {
    await database.close();
    await fresh.close();
  };
  return { storage, close };
}
