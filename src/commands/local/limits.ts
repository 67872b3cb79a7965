import { serviceLimits, writeLimitName, type LimitName, type LimitValues } from '../../api/service-limits.ts';
import { UsageError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';

const names = Object.keys(serviceLimits) as LimitName[];

function parseLimit(text: string): [LimitName, number] {
  const [, word = '', digits = ''] = /^([a-z-]+)=(\d{1,15})$/.exec(text) ?? [];
  const name = names.find((each) => writeLimitName(each) === word);
  if (name !== undefined && Number(digits) > 0) return [name, Number(digits)];
  const close = word === '' || name !== undefined ? undefined : nearest(word, names.map(writeLimitName));
  const problem = word === '' || name !== undefined ? 'must be NAME=N, with a limit and a whole number from 1' : 'unknown limit';
  throw new UsageError(`--limit ${text}: ${problem}`, {
    hint: close === undefined ? 'for example --limit user-keys=1000; all limits: cloud help local-service' : `did you mean ${close}?`,
  });
}

/** Reads `NAME=N`, comma-separated or in several texts. @throws {UsageError} */
export function readLimits(texts: readonly string[]): LimitValues {
  return Object.fromEntries(texts.flatMap((text) => text.split(',')).map(parseLimit));
}
