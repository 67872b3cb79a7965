import type { Kysely } from 'kysely';
import type { LimitReached } from '../limit.ts';
import type { ServiceSettings } from '../settings.ts';
import { addUsage, growthOf, openRoom } from '../storage/quota.ts';
import type { EntryRow, Schema } from '../store/schema.ts';
import type { Usage } from '../store/usage.ts';
import type { NewObject } from './outcome.ts';

/** What tasks may store: their outputs count for the quotas of the accounts below which they stand, as PUTs of clients do. */

type Replaced = Pick<EntryRow, 'type' | 'size'>;

/** An object, and what it takes the place of. */
export interface Placed extends Pick<NewObject, 'place' | 'size'> {
  readonly replaced?: Replaced | undefined;
}

/** Room for the outcomes of tasks, one after the other. */
export interface OutputRoom {
  /** @returns why the objects of an outcome do not fit; they are counted when they do */
  take(objects: readonly Placed[]): LimitReached | undefined;
}

/** Room that is there for whatever comes. */
const unlimited: OutputRoom = { take: () => undefined };

/**
 * The room for objects of a transaction. Those of other transactions under way are not seen.
 * @param settings with the limits of accounts that have none of their own
 */
export async function openOutputRoom(
  transaction: Kysely<Schema>,
  settings: ServiceSettings,
  objects: readonly Pick<NewObject, 'place'>[],
): Promise<OutputRoom> {
  const logins = new Set(objects.map(({ place }) => place.login));
  const room = logins.size === 0 ? undefined : await openRoom(transaction, settings, logins);
  if (room === undefined) return unlimited;
  /** Sizes of objects that earlier outcomes of the transaction put in their places. */
  const put = new Map<string, Replaced>();
  return {
    take(objects) {
      const growth = new Map<string, Usage>();
      const own = new Map<string, Replaced>();
      for (const { place, size, replaced } of objects) {
        const before = own.get(place.path) ?? put.get(place.path) ?? replaced;
        growth.set(place.login, addUsage(growth.get(place.login) ?? { bytes: 0, objects: 0 }, growthOf(before, size)));
        own.set(place.path, { type: 'object', size });
      }
      const refusal = room.take(growth);
      if (refusal === undefined) for (const [path, object] of own) put.set(path, object);
      return refusal;
    },
  };
}
