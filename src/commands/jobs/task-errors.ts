import type { ByteStream } from '../../api/message.ts';
import type { JobError } from '../../api/objects.ts';
import { ApiError } from '../../base/errors.ts';
import { runOrdered } from '../../base/parallel.ts';
import { escapeControl } from '../../output/escape.ts';
import { readRemotePath } from '../../transfer/path.ts';
import type { JobContext } from './find.ts';

/** Most bytes of a task's stderr that are shown: its end says why the task failed. */
const largestStderr = 16 * 1024 * 1024;
/** Characters of a line of it that are quoted. */
const longestLine = 1000;

/** An error record in one line: `phase 0: /demo/stor/a: user command exited with code 3 (UserTaskError)`. */
export function describeError({ phaseNum, input, what, message, code }: JobError): string {
  const place = input === undefined ? [what] : [...(phaseNum === undefined ? [] : [`phase ${phaseNum}`]), input];
  return `${place.join(': ')}: ${message} (${code})`;
}

/** The line that stands for the bytes before those that were read. */
const leftOut = /^\.\.\. \d+ bytes before$/;

/** The end of a body, with a line that says how much is left out before. */
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

/** What a failed task wrote last to its stderr; undefined when nothing was saved, or when it may not be read. */
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

/** Error records with what their tasks wrote to stderr, as the field `stderrText`. */
export function addStderr(
  context: JobContext,
  errors: AsyncIterable<JobError>,
): AsyncGenerator<JobError & { stderrText?: string | undefined }> {
  return runOrdered(errors, async (error) => ({ ...error, stderrText: await readStderr(context, error) }), { limit: 4 });
}

function shorten(line: string, most: number): string {
  return line.length <= most ? line : `${line.slice(0, most)} ... (${line.length} characters)`;
}

/** All of a task's stderr, or its last lines, shortened; set off from what this program says. */
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
