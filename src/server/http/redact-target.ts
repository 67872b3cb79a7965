import { redactQuery } from '../../base/redact.ts';

/** A request target for the log, without secrets, however their names are encoded. Bytes that could control a terminal are escaped. */
export function redactTarget(target: string): string {
  return redactQuery(target.replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent));
}
