import type { StorageClient } from '../client/client.ts';

/** What the specification does not name, and most services have all the same. */
export type Ability = 'HEAD' | 'ranges';

const missing = new WeakMap<StorageClient, Set<Ability>>();

/** Whether a service has turned out to be without. */
export function lacks(storage: StorageClient, ability: Ability): boolean {
  return missing.get(storage)?.has(ability) === true;
}

/** Remembers for the rest of the run that a service is without. */
export function noteLack(storage: StorageClient, ability: Ability): void {
  missing.set(storage, (missing.get(storage) ?? new Set()).add(ability));
}
