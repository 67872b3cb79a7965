import type { Headers } from '../api/message.ts';

/** Headers of a reply, whatever received it: names in lower case, several of one name joined. */
export function readHeaders(raw: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const headers: Headers = {};
  for (const [name, value] of Object.entries(raw)) {
    if (value !== undefined) headers[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  }
  return headers;
}

/** The same from names and values in turn, as they came. */
export function readHeaderList(raw: readonly string[]): Headers {
  const headers: Headers = {};
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase();
    const value = raw[at + 1] ?? '';
    headers[name] = Object.hasOwn(headers, name) ? `${headers[name]}, ${value}` : value;
  }
  return headers;
}
