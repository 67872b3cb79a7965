import type { Explanation } from '../base/errors.ts';
import { redactUrls } from '../base/redact.ts';
import type { OutputStream } from '../base/world.ts';
import { createPaint } from './colour.ts';
import { escapeControl, escapeData } from './escape.ts';
import type { Format } from './kinds.ts';
import { saysJson } from './notes.ts';
import { createWriter } from './writer.ts';

export interface ReportOptions {
  /** The command line without secrets: `cloud keys get laptop`. */
  readonly command: string;
  readonly format: Format;
  readonly colour: boolean;
  readonly err: OutputStream;
}

/** `(ResourceNotFound, request 7f3a...)` for an error of a service, else empty. */
function describeOrigin({ code, status, requestId }: Explanation): string {
  if (status === undefined) return '';
  return requestId === undefined ? ` (${code})` : ` (${code}, request ${requestId})`;
}

async function writeText(explanation: Explanation, { command, colour }: ReportOptions): Promise<string> {
  const { message, hint, errors = [] } = explanation;
  const paint = await createPaint(colour);
  // Omits field errors that the message already contains.
  const more = errors.filter((error) => !message.includes(error.message));
  const lines = [
    `${paint.red(`${escapeControl(command)}:`)} ${escapeControl(message + describeOrigin(explanation))}`,
    ...more.map(({ field, code, message }) => escapeControl(`  ${field}: ${message} (${code})`)),
    ...(hint?.split('\n').map((line) => `${paint.cyan('hint:')} ${escapeControl(line)}`) ?? []),
  ];
  return `${lines.join('\n')}\n`;
}

function writeJson({ code, message, status, requestId, hint, errors }: Explanation): string {
  return `${escapeData(JSON.stringify({ code, message, status, requestId, hint, errors }))}\n`;
}

/**
 * Reports an error on stderr: one line with the command, one for each invalid field, and the hints; in JSON formats one JSON object on one
 * line. Ignores errors of stderr itself.
 */
export async function reportError(explanation: Explanation, options: ReportOptions): Promise<void> {
  const { message, hint } = explanation;
  const shown = { ...explanation, message: redactUrls(message), ...(hint !== undefined && { hint: redactUrls(hint) }) };
  const text = saysJson({ output: options.format }) ? writeJson(shown) : await writeText(shown, options);
  try {
    const writer = createWriter(options.err);
    await writer.write(text);
    await writer.close();
  } catch {
    // Nowhere left to report this error.
  }
}
