import type { Change, Step } from './change.ts';
import { matchEntries, orderRenamings, type Detour, type Existing, type Order, type Pair, type Wanted } from './match.ts';

/** New names by old names. */
export type Renamings = ReadonlyMap<string, string>;

/** The planned changes of one kind of entity. */
export interface Part {
  /** Deletions that must come first, because entries of the document need the names. */
  early: Change[];
  changes: Change[];
  /** Deletions that come last. */
  pruned: Change[];
  renamings: Renamings;
}

/** A temporary name that no entity has. */
const passage = ({ id }: { id: string }): string => `moving-${id.slice(0, 8)}`;

/** One kind of entity: the entries of the document, the existing entities, and the functions that create the changes. */
interface PartSpec<W extends Wanted, E extends Existing> {
  noun: 'user' | 'policy' | 'role';
  wanted: readonly W[] | undefined;
  existing: readonly E[];
  fold: (name: string) => string;
  prune: boolean;
  /** What the service calls the name. */
  field: 'login' | 'name';
  rename: (id: string, name: string) => Step;
  remove: (id: string) => Step;
  settle: (pair: Pair<W, E>) => Change[];
}

/** Plans the changes of one kind; no changes if the document lacks the part. */
export function planPart<W extends Wanted, E extends Existing>(spec: PartSpec<W, E>): Part {
  const { noun, wanted, existing, fold, prune, field, settle } = spec;
  const rename = ({ existing: { id, name }, name: to }: Detour<E>): Change => ({
    action: 'update',
    kind: noun,
    name,
    differences: [{ field, from: name, to }],
    step: spec.rename(id, to),
  });
  const remove = ({ id, name }: E): Change => ({ action: 'delete', kind: noun, name, differences: [], step: spec.remove(id) });
  if (wanted === undefined) return { early: [], changes: [], pruned: [], renamings: new Map() };
  const { pairs, rest } = matchEntries(wanted, existing, fold);
  const order: Order<W, E> = orderRenamings(pairs, { noun, fold, prune, rest, passage });
  const renamings = new Map(pairs.flatMap((pair) => (pair.existing ? [[pair.existing.name, pair.wanted.name] as const] : [])));
  return {
    early: order.evicted.map(remove),
    changes: [...order.detours.map(rename), ...order.pairs.flatMap(settle)],
    pruned: prune ? rest.filter((each) => !order.evicted.includes(each)).map(remove) : [],
    renamings,
  };
}
