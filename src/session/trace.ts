import type { TraceEvent } from '../client/client.ts';
import { explain } from '../base/errors.ts';
import type { ByteStream, Headers } from '../api/message.ts';
import { redactBody, redactQuery } from '../base/redact.ts';

/** Maximum bytes of a body that are shown. */
const shown = 4096;

function redactHeader(name: string, value: string): string {
  if (name !== 'authorization') return value;
  return value.replace(/signature="[^"]*"/, 'signature="(redacted)"').replace(/ [A-Za-z0-9+/=]{40,}$/, ' (redacted)');
}

function printBody(raw: Uint8Array): string {
  return redactBody(Buffer.from(raw.subarray(0, shown)).toString());
}

function isText(headers: Headers): boolean {
  return /json|text/.test(headers['content-type'] ?? '');
}

/** Passes a body through and shows its beginning at its end. */
async function* copyBody(body: ByteStream, show: (text: string) => void): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    if (size < shown) chunks.push(chunk);
    size += chunk.length;
    yield chunk;
  }
  show(printBody(Buffer.concat(chunks)));
}

/** Shows requests and responses as they happen; signatures and passwords are redacted. Level 2 adds headers and bodies. */
export function createTrace(level: number, write: (line: string) => void): (event: TraceEvent) => void {
  const show = (prefix: string, text: string): void => {
    for (const line of text.split('\n')) write(`${prefix} ${line}`);
  };
  const showHeaders = (prefix: string, headers: Headers): void => {
    for (const [name, value] of Object.entries(headers)) show(prefix, `${name}: ${redactHeader(name, value)}`);
  };
  return (event) => {
    const { outgoing } = event;
    if (event.kind === 'request') {
      show('>', `${outgoing.method} ${redactQuery(outgoing.url.href)}${event.attempt > 1 ? ` (try ${event.attempt})` : ''}`);
      if (level > 1) showHeaders('>', outgoing.headers);
      if (level > 1 && outgoing.body instanceof Uint8Array) show('>', printBody(outgoing.body));
    } else if (event.kind === 'response') {
      const { response, milliseconds } = event;
      const id = response.headers['request-id'] ?? response.headers['x-request-id'] ?? 'none';
      const time = response.headers['response-time'] ?? response.headers['x-response-time'];
      show('<', `${response.status} in ${milliseconds} ms${time === undefined ? '' : ` (service ${time} ms)`}, request ${id}`);
      if (level > 1) showHeaders('<', response.headers);
      if (level > 1 && isText(response.headers)) response.body = copyBody(response.body, (text) => show('<', text));
    } else show('*', `${explain(event.error).message}; retrying in ${Math.round(event.wait)} ms`);
  };
}
