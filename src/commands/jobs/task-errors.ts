import type { ByteStream } from '../../api/message.ts';
import type { JobError } from '../../api/objects.ts';
import { ApiError } from '../../base/errors.ts';
import { runOrdered } from '../../base/parallel.ts';
import { escapeControl } from '../../output/escape.ts';
import { readRemotePath } from '../../transfer/path.ts';
import type { JobContext } from './find.ts';

/** Maximum number of bytes of a task's stderr that are shown; its end is kept, which says why the task failed. */
const largestStderr = 16 * 1024 * 1024;
/** Maximum length of a quoted line, characters. */
const longestLine = 1000;

/** Formats an error record in one line: `phase 0: /demo/stor/a: user command exited with code 3 (UserTaskError)`. */
export function describeError({ phaseNum, input, what, message, code }: JobError): string {
  const place = input === undefined ? [what] : [...(phaseNum === undefined ? [] : [`phase ${phaseNum}`]), input];
  return `${place.join(': ')}: ${message} (${code})`;
}

/** The line that replaces the bytes before the end of stderr. */
const leftOut = /^\.\.\. \d+ bytes before$/;

/** Reads the end of a body, at most `most` bytes; a first line says how many bytes were dropped. */
async function readEnd(body: ByteStream, most: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let [kept, all] = [0, 0];
  for await (const piece of body) {
    pieces.push(piece);
    kept += piece.length;
    all += piece.length;
    for (let first = pieces[0]; first !== undefined && kept - first.length >= most; first = pieces[0]) {
      kept -= first.length;
      pieces.shift();
    }
  }
  const end = Buffer.concat(pieces).subarray(-most);
  return `${all > end.length ? `... ${all - end.length} bytes before\n` : ''}${end.toString()}`;
}

/** Reads the end of a failed task's stderr; undefined when it was not saved or may not be read. */
export async function readStderr(
  { storage, account }: JobContext,
  { stderr }: JobError,
  most = largestStderr,
): Promise<string | undefined> {
  if (stderr === undefined) return undefined;
  try {
    const { body } = await storage.getObject(readRemotePath(stderr, account));
    return await readEnd(body, most);
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 403)) return undefined;
    throw error;
  }
}

/** Adds to each error record its task's stderr, as the field `stderrText`. */
export function addStderr(
  context: JobContext,
  errors: AsyncIterable<JobError>,
): AsyncGenerator<JobError & { stderrText?: string | undefined }> {
  return runOrdered(errors, async (error) => ({ ...error, stderrText: await readStderr(context, error) }), { limit: 4 });
}

function shorten(line: string, most: number): string {
  return line.length <= most ? line : `${line.slice(0, most)} ... (${line.length} characters)`;
}

/** Formats a task's stderr, or its last `most` lines, shortened; a prefix separates it from messages of this program. */
export function quoteStderr(text: string, most = Infinity): string[] {
  const longest = most === Infinity ? Infinity : longestLine;
  const lines = text.replace(/\n$/, '').split('\n');
  const left = Math.max(0, lines.length - most);
  const more = leftOut.test(lines[0] ?? '') ? 'more' : `${left} lines`;
  return [
    ...(left > 0 ? [`  | ... ${more} before`] : []),
    ...lines.slice(left).map((line) => `  | ${escapeControl(shorten(line, longest))}`),
  ];
}
