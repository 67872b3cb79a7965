/** What was found at one of the things that a request needs. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly detail: string;
  /** What to do; a line for each of several ways. */
  readonly fix?: string;
}
