/** A directory of the source whose entries are being compared. */
interface Level<T> {
  readonly rel: string;
  readonly removals: T[];
}

/** Removals of what a listing does not have: they wait until it has come to its end, and is known to be whole. */
export interface Removals<T> {
  /** The walk of the source leaves a directory: everything in it was listed. */
  leave(rel: string): void;
  /** Comes to a path: gives the removals that need not wait any longer. */
  reach(rel: string): T[];
  /** A directory of the source, in which the next paths may be. */
  enter(rel: string): void;
  /** Lets a removal wait. @returns false when it need not */
  hold(removal: T): boolean;
  /** All that wait, once everything was listed. */
  end(): T[];
}

/** Waits for the listings of one source, whose paths come in the order of `comparePaths`. */
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
