/** A check for each filter of a list operation: the compiler reports a filter that has none. */
type Predicates<F> = { readonly [K in keyof F]-?: (wanted: F[K] & {}, name: K) => boolean };

/** True if all given filters match. */
export function fitsAll<F extends object>(filter: F, predicates: Predicates<F>): boolean {
  for (const name in filter) {
    const wanted = filter[name];
    if (wanted !== undefined && wanted !== null && !predicates[name](wanted, name)) return false;
  }
  return true;
}
