import { UsageError } from '../base/errors.ts';

/** An entity with a name that is unique in its kind, and an id that stays when the name changes. */
export interface Wanted {
  id?: string | undefined;
  name: string;
}
export interface Existing {
  id: string;
  name: string;
}

/** An entry of a document and the entity of the account that it describes; undefined when it has to be created. */
export interface Pair<W, E> {
  wanted: W;
  existing: E | undefined;
}

/** Pairs entries of a document with existing entities: by id if an entity has the entry's id, else by name. `fold` normalizes names. */
export function matchEntries<W extends Wanted, E extends Existing>(
  wanted: readonly W[],
  existing: readonly E[],
  fold: (name: string) => string,
): { pairs: Pair<W, E>[]; rest: E[] } {
  const byId = new Map(existing.map((each) => [each.id, each]));
  const taken = new Set<E>();
  const found = new Map<W, E>();
  const pair = (find: (entry: W) => E | undefined): void => {
    for (const each of wanted) {
      const match = found.has(each) ? undefined : find(each);
      if (!match || taken.has(match)) continue;
      taken.add(match);
      found.set(each, match);
    }
  };
  pair(({ id }) => (id === undefined ? undefined : byId.get(id)));
  pair(({ name }) => existing.find((other) => !taken.has(other) && fold(other.name) === fold(name)));
  return { pairs: wanted.map((each) => ({ wanted: each, existing: found.get(each) })), rest: existing.filter((each) => !taken.has(each)) };
}

/** A temporary name, for entities that swap names. */
export interface Detour<E> {
  existing: E;
  name: string;
}

export interface Order<W, E> {
  /** Entities that must be deleted first, because entries of the document need their names. */
  evicted: E[];
  /** Renamings to a temporary name, done before all other changes. */
  detours: Detour<E>[];
  /** Pairs in an order in which each name is free when it is assigned. */
  pairs: Pair<W, E>[];
}

interface OrderOptions<E> {
  /** Singular noun for messages, such as `role`. */
  noun: string;
  fold: (name: string) => string;
  /** True if entities that the document does not mention will be deleted. */
  prune: boolean;
  /** Entities that the document does not mention. */
  rest: readonly E[];
  /** A temporary name that no entity has. */
  passage: (existing: E) => string;
}

/**
 * Orders renamings so that each name is free when it is assigned: a renaming comes after the one that frees its name, and a detour breaks
 * each cycle. @throws {UsageError} for a name that never becomes free
 */
export function orderRenamings<W extends Wanted, E extends Existing>(
  pairs: readonly Pair<W, E>[],
  { noun, fold, prune, rest, passage }: OrderOptions<E>,
): Order<W, E> {
  const holders = new Map(pairs.flatMap(({ existing }) => (existing ? [[fold(existing.name), existing] as const] : [])));
  const evicted = rest.filter(({ name }) => pairs.some(({ wanted }) => fold(wanted.name) === fold(name)));
  const [blocked] = prune ? [] : evicted;
  if (blocked) {
    throw new UsageError(`${noun} "${blocked.name}" has another id in the account: ${blocked.id}`, {
      hint: `correct the id of "${blocked.name}" in the file, or delete it in the account with --prune`,
    });
  }
  const ordered: Pair<W, E>[] = [];
  const detours: Detour<E>[] = [];
  let waiting = [...pairs];
  while (waiting.length > 0) {
    const ready = waiting.filter(({ wanted, existing }) => {
      const holder = holders.get(fold(wanted.name));
      return holder === undefined || holder === existing;
    });
    for (const { existing } of ready) if (existing && holders.get(fold(existing.name)) === existing) holders.delete(fold(existing.name));
    ordered.push(...ready);
    waiting = waiting.filter((pair) => !ready.includes(pair));
    if (ready.length > 0) continue;
    const [first] = waiting.flatMap(({ existing }) => existing ?? []);
    if (!first) break;
    holders.delete(fold(first.name));
    detours.push({ existing: first, name: passage(first) });
  }
  return { evicted, detours, pairs: ordered };
}
