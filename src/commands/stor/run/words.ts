import { UsageError } from '../../../base/errors.ts';

/** Characters with a meaning in shells only. */
const shellOnly = /^(?:[|&;<>]|\$\(|\$\{|`)/;

/** Characters that a line of plain words does not have. */
const special = /['"\\#|&;<>$`]/;

/** Characters between words. As in a shell, others, such as a no-break space, are part of a word. */
const blank = /[ \t\n]/;

/** Reads a part of a word from a position, passing its text to `add`. @returns the position after it */
function readPart(line: string, at: number, add: (text: string) => void): number {
  const character = line[at] ?? '';
  if (character === "'") {
    const end = line.indexOf("'", at + 1);
    if (end < 0) throw new UsageError('a quote is not closed');
    add(line.slice(at + 1, end));
    return end + 1;
  }
  if (character === '\\') {
    if (at + 1 >= line.length) throw new UsageError('the line ends with a backslash');
    add(line[at + 1] ?? '');
    return at + 2;
  }
  if (character !== '"') {
    if (shellOnly.test(line.slice(at)))
      throw new UsageError(`"${character}" is shell syntax, but the lines are not read by a shell`, {
        hint: 'if it is part of a name, quote it',
      });
    add(character);
    return at + 1;
  }
  let end = at + 1;
  for (; end < line.length && line[end] !== '"'; end += 1) {
    if (line[end] === '\\' && /["\\$`]/.test(line[end + 1] ?? '')) end += 1;
    add(line[end] ?? '');
  }
  if (end >= line.length) throw new UsageError('a quote is not closed');
  return end + 1;
}

/**
 * Splits a line into words with the quotes and backslashes of a POSIX shell; nothing else is expanded. A `#` starts a comment.
 * @throws {UsageError} for an unclosed quote, and for shell syntax
 */
export function splitWords(line: string): string[] {
  if (!special.test(line)) return line.split(/[ \t\n]+/).filter((word) => word !== '');
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < line.length;) {
    if (blank.test(line[at] ?? '')) {
      if (word !== undefined) words.push(word);
      word = undefined;
      at += 1;
    } else if (word === undefined && line[at] === '#') break;
    else {
      word ??= '';
      at = readPart(line, at, (text) => {
        word = `${word ?? ''}${text}`;
      });
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}
