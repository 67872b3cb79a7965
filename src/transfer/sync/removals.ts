/** A directory of the source whose entries are being compared. */
interface Level<T> {
  readonly rel: string;
  readonly removals: T[];
}

/** Removals of entries that a listing lacks: they wait until the listing has ended and is known to be complete. */
export interface Removals<T> {
  /** Called when the walk of the source leaves a directory: all its entries have been listed. */
  leave(rel: string): void;
  /** Called for the next path: returns the removals that need not wait any longer. */
  reach(rel: string): T[];
  /** Called for a directory of the source that may contain the next paths. */
  enter(rel: string): void;
  /** Delays a removal. @returns false when it need not wait */
  hold(removal: T): boolean;
  /** Returns all delayed removals, once everything was listed. */
  end(): T[];
}

/** Creates `Removals` for the listings of one source, whose paths arrive in the order of `comparePaths`. */
export function createRemovals<T>(): Removals<T> {
  const levels: Level<T>[] = [{ rel: '', removals: [] }];
  const left = new Set<string>();
  function top(): Level<T> {
    return levels.at(-1) as Level<T>;
  }
  return {
    leave: (rel) => void left.add(rel),
    reach: (rel) => {
      const ready: T[] = [];
      while (levels.length > 1 && !rel.startsWith(`${top().rel}/`)) {
        const level = levels.pop();
        left.delete(level?.rel ?? '');
        ready.push(...(level?.removals ?? []));
      }
      return ready;
    },
    enter: (rel) => void levels.push({ rel, removals: [] }),
    hold: (removal) => {
      if (left.has(top().rel)) return false;
      top().removals.push(removal);
      return true;
    },
    end: () => levels.splice(0).flatMap(({ removals }) => removals),
  };
}
