import type { Outgoing } from '../http/send.ts';
import { quoteShell } from '../base/quote.ts';
import { redactSecrets } from './redact.ts';

/** Thrown instead of sending when a command only prints its request. */
export class CurlPrinted extends Error {
  override readonly name = 'CurlPrinted';
  readonly line: string;

  constructor(line: string) {
    super('printed instead of sent');
    this.line = line;
  }
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
  for (const [name, value] of Object.entries(headers)) if (name !== 'content-length') words.push('-H', `${name}: ${value}`);
  if (body instanceof Uint8Array) words.push('--data-binary', redactSecrets(Buffer.from(body).toString()));
  else if (body !== undefined) words.push('--data-binary', '@-');
  return [...words, url.href].map(quoteShell).join(' ');
}
