/** The result of one check. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly detail: string;
  /** What to do; one line for each alternative. */
  readonly fix?: string;
}

/** A function that creates findings of one status. */
const finding =
  (status: Finding['status']) =>
  (check: string, detail: string, fix?: string): Finding => ({ check, status, detail, ...(fix !== undefined && { fix }) });

export const ok = finding('ok');
export const warning = finding('warning');
export const failed = finding('failed');
