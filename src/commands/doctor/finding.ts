/** The result of one check. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly detail: string;
  /** What to do; one line for each alternative. */
  readonly fix?: string;
}
