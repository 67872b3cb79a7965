import { UsageError } from '../base/errors.ts';

/** Something with a name that is unique in its kind, and an id that stays when the name changes. */
interface Wanted {
  id?: string | undefined;
  name: string;
}
interface Existing {
  id: string;
  name: string;
}

/** An entry of a document, and what it is about in the account: undefined when it is to be made. */
export interface Pair<W, E> {
  wanted: W;
  existing: E | undefined;
}

/** Pairs what a document says with what exists: by id where one is known, else by name. Names are compared in `fold`ed form. */
export function matchEntries<W extends Wanted, E extends Existing>(
  wanted: readonly W[],
  existing: readonly E[],
  fold: (name: string) => string,
): { pairs: Pair<W, E>[]; rest: E[] } {
  const byId = new Map(existing.map((each) => [each.id, each]));
  const taken = new Set<E>();
  const found = new Map<W, E>();
  for (const each of wanted) {
    const match = each.id === undefined ? undefined : byId.get(each.id);
    if (!match || taken.has(match)) continue;
    taken.add(match);
    found.set(each, match);
  }
  for (const each of wanted) {
    if (found.has(each)) continue;
    const match = existing.find((other) => !taken.has(other) && fold(other.name) === fold(each.name));
    if (!match) continue;
    taken.add(match);
    found.set(each, match);
  }
  return { pairs: wanted.map((each) => ({ wanted: each, existing: found.get(each) })), rest: existing.filter((each) => !taken.has(each)) };
}

/** A renaming on the way to another, where two things change names with each other. */
export interface Detour<E> {
  existing: E;
  name: string;
}

export interface Order<W, E> {
  /** Things that must go first, because their names are wanted. */
  evicted: E[];
  /** Renamings to a name of passage, each before everything else. */
  detours: Detour<E>[];
  /** Pairs in an order in which every name is free when it is taken. */
  pairs: Pair<W, E>[];
}

interface OrderOptions<E> {
  /** `role`, for messages. */
  noun: string;
  fold: (name: string) => string;
  /** Whether what the document does not mention will be deleted. */
  prune: boolean;
  /** What the document does not mention. */
  rest: readonly E[];
  /** A name that nothing has. */
  passage: (existing: E) => string;
}

/**
 * Orders renamings so that each name is free when it is taken: one that waits for another comes after it, and rings of renamings are
 * opened by a detour. @throws {UsageError} for a name that stays taken
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
