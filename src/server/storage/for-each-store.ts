import type { Store } from '../store/store.ts';

/** What is kept in memory beside each store, by text: empty at first, and gone with the store. */
export function mapForEachStore<T>(): (store: Store) => Map<string, T> {
  const maps = new WeakMap<Store, Map<string, T>>();
  return (store) => {
    const known = maps.get(store) ?? new Map<string, T>();
    maps.set(store, known);
    return known;
  };
}
