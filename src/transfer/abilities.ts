import type { StorageClient } from '../client/client.ts';

/** Features that the specification does not name and most services nevertheless have. */
export type Ability = 'HEAD' | 'ranges';

const missing = new WeakMap<StorageClient, Set<Ability>>();

/** True if a service has turned out not to have a feature. */
export function lacks(storage: StorageClient, ability: Ability): boolean {
  return missing.get(storage)?.has(ability) === true;
}

/** Remembers for the rest of the run that a service does not have a feature. */
export function noteLack(storage: StorageClient, ability: Ability): void {
  missing.set(storage, (missing.get(storage) ?? new Set()).add(ability));
}
