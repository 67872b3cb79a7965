/** The progress of one transfer, as a monitor sees it. */
export interface Ticket {
  /** Sets the size, once it is known. */
  expect(bytes: number): void;
  /** Counts transferred bytes; negative when they have to be transferred again. */
  move(bytes: number): void;
  /** Counts bytes that an earlier run has transferred. */
  keep(bytes: number): void;
  end(outcome: 'done' | 'failed' | 'skipped'): void;
}

/** Shows the progress of transfers. */
export interface Monitor {
  /** The total number of files and bytes; 0 when unknown. */
  expect(files: number, bytes: number): void;
  /** Milliseconds after which totals may be shown, so that a separate walk to count a tree pays; absent where totals are never shown. */
  readonly countAfterMs?: number | undefined;
  /** Starts a transfer; its size may be unknown. */
  begin(label: string, size: number | undefined): Ticket;
}
