import type { Kysely } from 'kysely';
import type { LimitReached } from '../limit.ts';
import type { ServiceSettings } from '../settings.ts';
import { addUsage, growthOf, openRoom } from '../storage/quota.ts';
import type { EntryRow, Schema } from '../store/schema.ts';
import type { Usage } from '../store/usage.ts';
import type { NewObject } from './outcome.ts';

/** Quotas of task outputs: outputs count towards the quota of the account that they are stored under, as PUT requests of clients do. */

type Replaced = Pick<EntryRow, 'type' | 'size'>;

/** An object, and the entry that it replaces. */
export interface Placed extends Pick<NewObject, 'place' | 'size'> {
  readonly replaced?: Replaced | undefined;
}

/**
 * Reserves room for the objects of one task; called for one task after the other. @returns the limit that they exceed; undefined if they
 * fit, and then they are counted
 */
export type TakeOutputRoom = (objects: readonly Placed[]) => LimitReached | undefined;

/**
 * Opens the room for objects that a transaction stores. Objects of other concurrent transactions are not seen.
 * @param settings with the limits of accounts that have no limits of their own
 */
export async function openOutputRoom(
  transaction: Kysely<Schema>,
  settings: ServiceSettings,
  objects: readonly Pick<NewObject, 'place'>[],
): Promise<TakeOutputRoom> {
  const logins = new Set(objects.map(({ place }) => place.login));
  const takeRoom = logins.size === 0 ? undefined : await openRoom(transaction, settings, logins);
  if (takeRoom === undefined) return () => undefined;
  /** Objects that earlier tasks of this transaction have put at their paths. */
  const put = new Map<string, Replaced>();
  return (objects) => {
    const growth = new Map<string, Usage>();
    const own = new Map<string, Replaced>();
    for (const { place, size, replaced } of objects) {
      const before = own.get(place.path) ?? put.get(place.path) ?? replaced;
      growth.set(place.login, addUsage(growth.get(place.login) ?? { bytes: 0, objects: 0 }, growthOf(before, size)));
      own.set(place.path, { type: 'object', size });
    }
    const refusal = takeRoom(growth);
    if (refusal === undefined) for (const [path, object] of own) put.set(path, object);
    return refusal;
  };
}
