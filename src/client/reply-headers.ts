import type { Headers } from '../api/message.ts';

/** Headers of a reply, whatever received it: names in lower case, several of one name joined. */
export function readHeaders(raw: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const headers: Headers = {};
  for (const [name, value] of Object.entries(raw)) {
    if (value !== undefined) headers[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  }
  return headers;
}
