import { ApiError } from '../../base/errors.ts';

/** Bytes from `start` up to, not including, `end`. */
export interface Range {
  start: number;
  end: number;
}

/**
 * Reads a Range header for `size` bytes: a range, `outside` if none of the bytes are in it, undefined if the header is to be ignored.
 * @throws 501 `NotImplemented` for several ranges.
 */
export function readRange(header: string | undefined, size: number): Range | 'outside' | undefined {
  const list = /^\s*bytes\s*=(.*)$/i.exec(header ?? '')?.[1]?.trim();
  if (list === undefined) return undefined;
  if (list.includes(','))
    throw new ApiError(501, 'NotImplemented', 'multiple ranges in one request are not supported: request one range at a time');
  const [, first = '', last = ''] = /^(\d*)\s*-\s*(\d*)$/.exec(list) ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') return Number(last) === 0 || size === 0 ? 'outside' : { start: Math.max(0, size - Number(last)), end: size };
  if (last !== '' && Number(last) < Number(first)) return undefined;
  if (Number(first) >= size) return 'outside';
  return { start: Number(first), end: last === '' ? size : Math.min(size, Number(last) + 1) };
}
