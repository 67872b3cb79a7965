import type { Change } from './change.ts';
import { matchEntries, orderRenamings, type Order, type Pair } from './match.ts';

/** New names by old ones. */
export type Renamings = ReadonlyMap<string, string>;

/** What is planned for one kind of thing. */
export interface Part {
  /** Deletions that must come first, because the names are wanted. */
  early: Change[];
  changes: Change[];
  /** Deletions that come last. */
  pruned: Change[];
  renamings: Renamings;
}

/** A name that nothing has, for a renaming on its way. */
const passage = ({ id }: { id: string }): string => `moving-${id.slice(0, 8)}`;

/** An entry of a document. */
export interface Entry {
  id?: string | undefined;
  name: string;
}

/** One kind of thing: what is wanted, what there is, and the changes that lead from one to the other. */
interface PartSpec<W extends Entry, E extends { id: string; name: string }> {
  noun: 'user' | 'policy' | 'role';
  wanted: readonly W[] | undefined;
  existing: readonly E[];
  fold: (name: string) => string;
  prune: boolean;
  rename: (existing: E, name: string) => Change;
  remove: (existing: E) => Change;
  settle: (pair: Pair<W, E>) => Change[];
}

/** The changes of one kind; nothing for a part that the document does not have. */
export function planPart<W extends Entry, E extends { id: string; name: string }>(spec: PartSpec<W, E>): Part {
  const { noun, wanted, existing, fold, prune, rename, remove, settle } = spec;
  if (wanted === undefined) return { early: [], changes: [], pruned: [], renamings: new Map() };
  const { pairs, rest } = matchEntries(wanted, existing, fold);
  const order: Order<W, E> = orderRenamings(pairs, { noun, fold, prune, rest, passage });
  const renamings = new Map(pairs.flatMap((pair) => (pair.existing ? [[pair.existing.name, pair.wanted.name] as const] : [])));
  return {
    early: order.evicted.map(remove),
    changes: [...order.detours.map((detour) => rename(detour.existing, detour.name)), ...order.pairs.flatMap(settle)],
    pruned: prune ? rest.filter((each) => !order.evicted.includes(each)).map(remove) : [],
    renamings,
  };
}
