import type { Store } from '../store/store.ts';

/** A map for each store, kept in memory: empty at first, and discarded with the store. */
export function mapForEachStore<T>(): (store: Store) => Map<string, T> {
  const maps = new WeakMap<Store, Map<string, T>>();
  return (store) => {
    const known = maps.get(store) ?? new Map<string, T>();
    maps.set(store, known);
    return known;
  };
}
