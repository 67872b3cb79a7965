import type { Headers } from '../api/message.ts';

/** Response headers from alternating names and values: names in lower case, repeated headers joined by commas. */
export function readHeaderList(raw: readonly string[]): Headers {
  const headers: Headers = {};
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase();
    const value = raw[at + 1] ?? '';
    headers[name] = Object.hasOwn(headers, name) ? `${headers[name]}, ${value}` : value;
  }
  return headers;
}
