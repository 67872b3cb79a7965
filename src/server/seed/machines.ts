import type { Transaction } from 'kysely';
import type { LimitRow, MachineRow } from '../store/compute-schema.ts';
import type { AccountRow, Schema } from '../store/schema.ts';
import { skip } from '../store/skip.ts';

type Sample = readonly [id: string, name: string, image: string, os: string, brand: string, pkg: string, memory: number, disk: number];

const base = '04f66d5e-0a32-4af3-a1f9-3bd80f95f0e1';

/**
 * Sample instances, stopped and prepared, from which images can be created. Instances named `fails-CODE` make the request or the creation
 * of the image fail with that error.
 */
const samples: readonly Sample[] = [
  ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001', 'web-1', base, 'smartos', 'joyent', 'g1-small', 1024, 25_600],
  ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0002', 'db-1', 'bb329c06-cf1e-49e6-89ea-dd0680e46275', 'linux', 'bhyve', 'b1-medium', 4096, 51_200],
  ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0003', 'fails-PrepareImageDidNotRun', base, 'smartos', 'joyent', 'g1-nano', 128, 5120],
  ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0004', 'fails-VmHasNoOrigin', base, 'smartos', 'joyent', 'g1-nano', 128, 5120],
  ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0005', 'fails-NotSupported', base, 'smartos', 'joyent', 'g1-nano', 128, 5120],
  ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0006', 'fails-InternalError', base, 'smartos', 'joyent', 'g1-nano', 128, 5120],
  ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0007', 'fails-InsufficientServerVersionError', base, 'smartos', 'joyent', 'g1-nano', 128, 5120],
  ['6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0008', 'fails-NotAvailable', base, 'smartos', 'joyent', 'g1-nano', 128, 5120],
];

const limits: readonly Omit<LimitRow, 'account'>[] = [
  { by: 'ram', value: 16_384, check: null, os: null, image: null },
  { by: 'quota', value: 500, check: null, os: null, image: null },
  { by: 'machines', value: 20, check: null, os: null, image: null },
  { by: 'machines', value: 2, check: 'os', os: 'windows', image: null },
  { by: 'ram', value: 8192, check: 'image', os: null, image: 'debian-12' },
];

function makeMachine([id, name, image, os, brand, pkg, memory, disk]: Sample, account: AccountRow, now: number): MachineRow {
  return { id, account: account.id, name, brand, state: 'stopped', image, os, memory, disk, package: pkg, created: now };
}

/**
 * Adds missing sample instances, which have the same ids in every store, to an account. Adds limits if the account has none; these are
 * visible if the plug-in for them is enabled.
 */
export async function seedMachines(transaction: Transaction<Schema>, account: AccountRow, now: number): Promise<void> {
  const machines = samples.map((sample) => makeMachine(sample, account, now));
  await transaction.insertInto('machines').values(machines).onConflict(skip).execute();
  const known = await transaction.selectFrom('limits').select('by').where('account', '=', account.id).executeTakeFirst();
  if (known) return;
  await transaction
    .insertInto('limits')
    .values(limits.map((limit) => ({ account: account.id, ...limit })))
    .execute();
}
