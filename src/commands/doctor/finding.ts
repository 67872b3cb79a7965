/** The result of one check. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly detail: string;
  /** What to do; one line for each alternative. */
  readonly fix?: string;
}

export function ok(check: string, detail: string): Finding {
  return { check, status: 'ok', detail };
}

export function warning(check: string, detail: string, fix?: string): Finding {
  return { check, status: 'warning', detail, ...(fix !== undefined && { fix }) };
}

export function failed(check: string, detail: string, fix?: string): Finding {
  return { check, status: 'failed', detail, ...(fix !== undefined && { fix }) };
}
