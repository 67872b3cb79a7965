import type { Headers } from '../api/message.ts';

/** Headers of a response from names and values in turn, as they came: names in lower case, several of one name joined. */
export function readHeaderList(raw: readonly string[]): Headers {
  const headers: Headers = {};
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase();
    const value = raw[at + 1] ?? '';
    headers[name] = Object.hasOwn(headers, name) ? `${headers[name]}, ${value}` : value;
  }
  return headers;
}
