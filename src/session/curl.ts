import { isUtf8 } from 'node:buffer';
import type { Outgoing } from '../http/send.ts';
import { quoteShell } from '../base/quote.ts';
import { redactBody, redactPasswords } from '../base/redact.ts';

/** Thrown instead of sending when a command only prints its request. */
export class CurlPrinted extends Error {
  override readonly name = 'CurlPrinted';
  readonly line: string;

  constructor(line: string) {
    super('printed instead of sent');
    this.line = line;
  }
}

/** A body as an argument of a command; undefined for bytes that no argument can contain. */
function readText(body: Uint8Array): string | undefined {
  return isUtf8(body) && !body.includes(0) ? Buffer.from(body).toString() : undefined;
}

/** A header as the user writes it: requests have one character for each byte. curl sends an empty header only with a semicolon. */
function printHeader(name: string, value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  return value === '' ? `${name};` : `${name}: ${isUtf8(bytes) ? bytes.toString() : value}`;
}

/**
 * Formats the request as a curl command that works as long as its date is accepted. A streamed body is read from stdin. Passwords are
 * redacted, because the output ends up in scrollback buffers and shell histories.
 */
export function printCurl(
  { method, url, headers, body }: Outgoing,
  { ca, insecure }: { ca?: string | undefined; insecure: boolean },
): string {
  // With `-X HEAD`, curl would wait for a body.
  const words = ['curl', '-sS', ...(method === 'HEAD' ? ['--head'] : ['-X', method])];
  if (ca !== undefined) words.push('--cacert', ca);
  if (insecure) words.push('--insecure');
  for (const [name, value] of Object.entries(headers)) if (name !== 'content-length') words.push('-H', printHeader(name, value));
  const text = body instanceof Uint8Array ? readText(body) : undefined;
  if (text !== undefined) words.push('--data-raw', redactBody(text));
  else if (body !== undefined) words.push('--data-binary', '@-');
  const line = [...words, redactPasswords(url.href)].map(quoteShell).join(' ');
  if (!(body instanceof Uint8Array) || text !== undefined) return line;
  const bytes = Buffer.from(redactBody(Buffer.from(body).toString('latin1')), 'latin1');
  return `echo ${bytes.toString('base64')} | base64 -d | ${line}`;
}
