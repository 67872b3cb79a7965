/** The highest of 31-bit numbers: those that V8 keeps without a box of their own. */
const largestHash = 0x7fffffff;

function hashName(name: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  return hash & largestHash;
}

/** An entry as far as it is counted. */
interface Counted {
  readonly name: string;
  readonly mtime?: string | undefined;
}

/** What came of a listing so far, beside the totals that the service announced with each page. */
export class ListingCount {
  /** When the listing began, by the service's clock; NaN when it does not say. */
  started = NaN;
  /** Entries. */
  length = 0;
  /** Hashes of the names; of those that were not made or changed since `since`. */
  private readonly names: number[] = [];
  private readonly since: number;
  private smallest = Infinity;
  private last: number | undefined;
  /** How much the total changed from page to page: entries come and go while a listing is read. */
  private changes = 0;

  /** @param since milliseconds since the epoch */
  constructor(since = Infinity) {
    this.since = since;
  }

  /** @param total `Result-Set-Size`; NaN when there is none */
  add(entries: readonly Counted[], total: number, date: number): void {
    if (this.length === 0) this.started = date;
    this.length += entries.length;
    for (const { name, mtime = '' } of entries) if (!(Date.parse(mtime) >= this.since)) this.names.push(hashName(name));
    if (Number.isNaN(total)) return;
    if (this.last !== undefined) this.changes += Math.abs(total - this.last);
    this.last = total;
    this.smallest = Math.min(this.smallest, total);
  }

  get announced(): number {
    return this.smallest === Infinity ? this.length : this.smallest;
  }

  /** Whether the entries that are missing may have been removed, or added behind the place of the reader. */
  get isWhole(): boolean {
    return this.length + this.changes >= this.announced;
  }

  /** Whether the older entries that another listing of the same directory has more are explained by what changed between the two. */
  covers(other: ListingCount): boolean {
    const [own, others] = [new Set(this.names), new Set(other.names)];
    const added = other.names.filter((name) => !own.has(name)).length;
    const removed = this.names.filter((name) => !others.has(name)).length;
    return added <= removed + this.changes + other.changes;
  }
}
