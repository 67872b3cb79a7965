import { UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';

/** The placeholder for the path in a line of `find --exec`. */
const placeholder = '{}';

/** Characters that separate arguments outside quotes. */
const separators = new Set([' ', '\t', '\n', ';', '&', '|', '(', ')', '<', '>', '`']);

/** Parts of a line that a shell evaluates again after expansion, so that a name could become code. */
const evaluated = /\(\(|\$\[|<<|\beval\b|(^|\s)-\w*c(\s|$)/;

/** A placeholder in a line. */
interface Occurrence {
  readonly at: number;
  readonly quote: string;
  /** True if the placeholder is an argument of its own. */
  readonly isOwn: boolean;
}

function findPlaceholders(line: string): Occurrence[] {
  const found: Occurrence[] = [];
  let quote = '';
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] ?? '';
    if (line.startsWith(placeholder, at)) {
      const [before, after] = [line[at - 1] ?? ' ', line[at + placeholder.length] ?? ' '];
      found.push({ at, quote, isOwn: quote === '' && separators.has(before) && separators.has(after) });
    } else if (character === '\\' && quote !== "'") at += 1;
    else if (quote === '' ? character === "'" || character === '"' : character === quote) quote = quote === '' ? character : '';
  }
  // With a placeholder behind a backslash, or an unclosed quote, the line is ambiguous.
  const isClear = quote === '' && found.length === line.split(placeholder).length - 1;
  return isClear ? found : found.map((each) => ({ ...each, isOwn: false }));
}

const expansions: Readonly<Record<string, string>> = { '': '"$1"', '"': '$1', "'": `'"$1"'` };

function replacePlaceholders(line: string, found: readonly Occurrence[]): string {
  let replaced = line;
  for (const { at, quote } of found.toReversed())
    replaced = replaced.slice(0, at) + (expansions[quote] ?? '') + replaced.slice(at + placeholder.length);
  return replaced;
}

/**
 * Replaces each `{}` in a shell command by `"$1"`. Each `{}` has to be an argument of its own, so that a name never becomes part of the
 * text that a shell parses.
 * @throws {UsageError} for `{}` elsewhere, with the command to type
 */
export function prepareLine(line: string): string {
  if (!line.includes(placeholder)) return line;
  if (evaluated.test(line))
    throw new UsageError('--exec: {} is in a line that a shell evaluates twice: a name could become a command', {
      hint: `pass the path as an argument: --exec 'sh -c "ls \\"\\$1\\"" sh "$1"'; it is in $CLOUD_PATH too`,
    });
  const found = findPlaceholders(line);
  const wrong = found.find(({ isOwn }) => !isOwn);
  if (wrong === undefined && found.length > 0) return replacePlaceholders(line, found);
  const where = wrong?.quote === '' || wrong === undefined ? 'within a word' : 'inside quotes';
  const bare = line.replaceAll(/(["'])\{\}\1/g, placeholder);
  throw new UsageError(`--exec: {} is ${where}, but must be a separate argument`, {
    hint: `the path is "$1": --exec ${quoteShell(replacePlaceholders(bare, findPlaceholders(bare)))}`,
  });
}
