import { hashText } from '../../base/fnv.ts';

/** The maximum 31-bit number: V8 stores these without boxing. */
const largestHash = 0x7fffffff;

/** The properties of an entry that count here. */
interface Counted {
  readonly name: string;
  readonly mtime?: string | undefined;
}

/** Counts the entries of a listing and compares their number with the totals that the service announced with each page. */
export class ListingCount {
  /** The service's clock at the start of the listing; NaN when the service does not state it. */
  started = NaN;
  /** Number of entries. */
  length = 0;
  /** Hashes of the names of entries that were not created or changed since `since`. */
  private readonly names: number[] = [];
  private readonly since: number;
  private smallest = Infinity;
  private last: number | undefined;
  /** The sum of the changes of the total from page to page: entries are created and removed while a listing is read. */
  private changes = 0;

  /** @param since milliseconds since the epoch */
  constructor(since = Infinity) {
    this.since = since;
  }

  /** @param total `Result-Set-Size`; NaN without one */
  add(entries: readonly Counted[], total: number, date: number): void {
    if (this.length === 0) this.started = date;
    this.length += entries.length;
    for (const { name, mtime = '' } of entries) if (!(Date.parse(mtime) >= this.since)) this.names.push(hashText(name) & largestHash);
    if (Number.isNaN(total)) return;
    if (this.last !== undefined) this.changes += Math.abs(total - this.last);
    this.last = total;
    this.smallest = Math.min(this.smallest, total);
  }

  get announced(): number {
    return this.smallest === Infinity ? this.length : this.smallest;
  }

  /** True if the missing entries may have been removed, or added before the reader's position. */
  get isWhole(): boolean {
    return this.length + this.changes >= this.announced;
  }

  /** True if changes between two listings of the same directory explain the older entries that only the other one has. */
  covers(other: ListingCount): boolean {
    const [own, others] = [new Set(this.names), new Set(other.names)];
    const added = other.names.filter((name) => !own.has(name)).length;
    const removed = this.names.filter((name) => !others.has(name)).length;
    return added <= removed + this.changes + other.changes;
  }
}
