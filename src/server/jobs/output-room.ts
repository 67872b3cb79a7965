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

/** Takes room for the outcome of a task, one after the other. @returns why its objects do not fit; they are counted when they do */
export type TakeOutputRoom = (objects: readonly Placed[]) => LimitReached | undefined;

/**
 * The room for objects of a transaction. Those of other transactions under way are not seen.
 * @param settings with the limits of accounts that have none of their own
 */
export async function openOutputRoom(
  transaction: Kysely<Schema>,
  settings: ServiceSettings,
  objects: readonly Pick<NewObject, 'place'>[],
): Promise<TakeOutputRoom> {
  const logins = new Set(objects.map(({ place }) => place.login));
  const takeRoom = logins.size === 0 ? undefined : await openRoom(transaction, settings, logins);
  if (takeRoom === undefined) return () => undefined;
  /** Sizes of objects that earlier outcomes of the transaction put in their places. */
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
