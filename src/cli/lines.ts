import { UsageError } from '../base/errors.ts';

/**
 * Lists that users give in files and on stdin: names, patterns, command lines. One item per line; a CR before the line end and a byte order
 * mark at the beginning, as editors on Windows write them, are not part of an item. Everything else is: only LF ends a line.
 */

const newline = 0x0a;

/** Longest line of a stream, in bytes. */
const longestLine = 1024 * 1024;

/** Decodes bytes. @throws {TypeError} unless they are UTF-8 */
const decode = (bytes: Uint8Array): string => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);

/** The number of the first line that is not UTF-8. @param first the number of the first line */
function findWrong(bytes: Buffer, first: number, separator: number): number {
  let number = first;
  for (let from = 0; ; number += 1) {
    const at = bytes.indexOf(separator, from);
    try {
      decode(bytes.subarray(from, at < 0 ? bytes.length : at));
    } catch {
      return number;
    }
    if (at < 0) return number;
    from = at + 1;
  }
}

function decodeAll(bytes: Buffer, first: number, source: string, separator = newline): string {
  try {
    return decode(bytes);
  } catch (error) {
    const unit = separator === newline ? 'line' : 'name';
    throw new UsageError(`${source}, ${unit} ${findWrong(bytes, first, separator)}: not UTF-8`, { cause: error });
  }
}

/** @param bytes lines without the end of the last one */
function decodeLines(bytes: Buffer, first: number, source: string): string[] {
  const text = decodeAll(bytes, first, source);
  const lines = (first === 1 ? text.replace(/^\uFEFF/, '') : text).split('\n');
  return text.includes('\r') ? lines.map((line) => line.replace(/\r$/, '')) : lines;
}

/** The lines of a list, empty ones included. @param source name of the list in messages @throws {UsageError} unless it is UTF-8 */
export function splitLines(bytes: Buffer, source: string): string[] {
  return decodeLines(bytes, 1, source);
}

/** A name in double quotes with escapes, as `quoteName` writes one. */
const quoted = /^"(?=.*\\)(?:[^"\\]|\\(?:["\\abtnvfr]|[0-7]{3}))*"$/;

/**
 * The names in a list: NUL-terminated if it has any NUL, else one per line. Empty names are left out.
 * @param source name of the list in messages
 * @throws {UsageError} unless the list is UTF-8, and for a line that is the quoted form of a name
 */
export function splitNames(bytes: Buffer, source: string): string[] {
  if (bytes.includes(0))
    return decodeAll(bytes, 1, source, 0)
      .split('\0')
      .filter((name) => name !== '');
  const lines = splitLines(bytes, source);
  const at = lines.findIndex((line) => quoted.test(line));
  if (at >= 0)
    throw new UsageError(`${source}, line ${at + 1}: ${lines[at] ?? ''} is a quoted name`, {
      hint: 'terminate names with NUL: cloud stor find -0, cloud stor ls -0',
    });
  return lines.filter((name) => name !== '');
}

/**
 * The lines of a stream as they arrive, those of each chunk as one list, empty lines included.
 * @param source name of the stream in messages
 * @throws {UsageError} for a line that is not UTF-8 or too long; earlier lines of the same chunk are not returned either
 */
export async function* streamLineLists(stream: AsyncIterable<Uint8Array>, source: string): AsyncGenerator<string[]> {
  let rest: Uint8Array[] = [];
  let length = 0;
  let number = 1;
  for await (const chunk of stream) {
    const end = chunk.lastIndexOf(newline);
    if (end >= 0) {
      const lines = decodeLines(Buffer.concat([...rest, chunk.subarray(0, end)]), number, source);
      yield lines;
      number += lines.length;
      [rest, length] = [[], 0];
    }
    const tail = chunk.subarray(end + 1);
    if (tail.length > 0) rest.push(tail);
    length += tail.length;
    if (length > longestLine) throw new UsageError(`${source}, line ${number}: longer than ${longestLine / 1024 ** 2} MiB`);
  }
  if (length > 0) yield decodeLines(Buffer.concat(rest), number, source);
}

/** The lines of `streamLineLists`, one by one. */
export async function* streamLines(stream: AsyncIterable<Uint8Array>, source: string): AsyncGenerator<string> {
  for await (const lines of streamLineLists(stream, source)) yield* lines;
}
