import { quoteShell } from '../../src/base/quote.ts';
import { splitWords } from '../../src/config/aliases.ts';

/** What a reader writes in the place of words in capitals. */
const values: Readonly<Record<string, string>> = {
  NAME: 'spare',
  ADDRESS: 'jill@example.com',
  FILE: 'other.pem',
  SOURCE: 'stor:one',
  TARGET: 'stor:copied',
  PATH: 'one',
};

const fillIn = (line: string): string => line.replaceAll(/(?<=\s)[A-Z]+(?=\s|$)/g, (word) => values[word] ?? word);

const print = (words: readonly string[]): string => ['cloud', ...words.map(quoteShell)].join(' ');

/** Options of the wrong lines that are followed by a value. */
const valued = new Set(['--bwlimit', '--max-requests-per-second', '--password']);

/** The words without an option, and without its value. */
function leaveOut(words: readonly string[], [option = '', value]: readonly string[]): string[] {
  const at = words.findLastIndex((word, place) => word === option && (value === undefined || words[place + 1] === value));
  const length = value !== undefined || valued.has(option) ? 2 : 1;
  return words.filter((_, place) => place < at || place >= at + length);
}

/** The word that a message complains of: what it has in quotes, or else one that it repeats. */
function findWrong(words: readonly string[], message: string): string {
  const [, quoted = ''] = /"([^"]+)"/.exec(message) ?? [];
  return words.find((word) => word === quoted) ?? words.findLast((word) => message.includes(word)) ?? words.at(-1) ?? '';
}

/** Gives an option its value, in place of the one that the message names or that has the wrong value. */
function setOption(words: readonly string[], message: string, [option = '', value = '']: readonly string[]): string {
  const at = words.indexOf(option);
  if (at >= 0) return print([...words.slice(0, at + 1), value, ...words.slice(at + 2)]);
  const [, named = ''] = /^(--[\w-]+): /.exec(message) ?? [];
  const other = words.includes(named) ? words.indexOf(named) : words.indexOf(findWrong(words, message)) - 1;
  const isOption = words[other]?.startsWith('-') === true;
  return print(isOption ? [...words.slice(0, other), option, value, ...words.slice(other + 2)] : [...words, option, value]);
}

/** The lines of one hint that somebody types who has typed a wrong line and reads the answer. */
function followOne(words: readonly string[], message: string, hint: string): string[] {
  const wrong = findWrong(words, message);
  const replace = (right: string): string[] => [print(words.map((word) => (word === wrong ? right : word)))];
  const whole = [...hint.matchAll(/(?:^|: )((?:cloud|ssh-keygen|printf|mkdir|ls) .*?)(?=$|;|, and the )/gm)].map(([, line = '']) =>
    fillIn(line),
  );
  if (whole.length > 0) return whole[0]?.startsWith('mkdir ') === true ? [...whole, print(words)] : whole;
  const [, added] = /\badd (-\S+)/.exec(hint) ?? [];
  if (added !== undefined) return [print([...words, added])];
  const [, meant] = /did you mean (.+?)\?/.exec(hint) ?? [];
  if (meant !== undefined) return meant.includes(' ') ? [setOption(words, message, splitWords(meant))] : replace(meant);
  const [, out] = /\bleave out (-.+?)(?= or |$)/.exec(hint) ?? [];
  if (out !== undefined) return [print(leaveOut(words, splitWords(out)))];
  const [, option] = /(?:^|: |such as |there are |write )(--?[a-z].*?)(?=$|; |, | or )/.exec(hint) ?? [];
  if (option?.includes(' ') === true) return [setOption(words, message, splitWords(option))];
  if (option !== undefined) return [print([...leaveOut(words, [wrong]), option])];
  const [, sample] = /(?:there are:? |: )([^ ,]+)(?:,|$)/.exec(hint) ?? [];
  return sample === undefined ? [] : replace(sample);
}

/** The lines that the hints of a message make somebody type; none where they leave alone. */
export function followHints(line: string, message: string, hint: string): string[] {
  return hint.split('\n').flatMap((each) => followOne(splitWords(line), message, each));
}
