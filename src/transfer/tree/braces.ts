import { UsageError } from '../../base/errors.ts';

/** Maximum number of words that the braces of one word may expand to. */
const mostWords = 10_000;

interface Group {
  readonly before: string;
  readonly alternatives: readonly string[];
  readonly after: string;
}

/** The brace group that opens at a position; undefined for a literal brace: without an end, or without a comma. */
function readGroup(word: string, start: number): Group | undefined {
  const alternatives: string[] = [];
  let depth = 0;
  let begin = start + 1;
  for (let at = start; at < word.length; at += 1) {
    const character = word[at];
    if (character === '\\') at += 1;
    else if (character === '{') depth += 1;
    else if (character === ',' && depth === 1) {
      alternatives.push(word.slice(begin, at));
      begin = at + 1;
    } else if (character === '}') {
      depth -= 1;
      if (depth > 0) continue;
      if (alternatives.length === 0) return undefined;
      return { before: word.slice(0, start), alternatives: [...alternatives, word.slice(begin, at)], after: word.slice(at + 1) };
    }
  }
  return undefined;
}

function findGroup(word: string): Group | undefined {
  for (let at = 0; at < word.length; at += 1) {
    if (word[at] === '\\') at += 1;
    else if (word[at] === '{') {
      const group = readGroup(word, at);
      if (group) return group;
    }
  }
  return undefined;
}

/** Expands `{a,b}` in a word, as a shell does. @throws {UsageError} when there are too many words */
export function expandBraces(word: string): string[] {
  const words: string[] = [];
  const rest = [word];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const group = findGroup(next);
    if (group === undefined) words.push(next);
    else rest.push(...group.alternatives.map((each) => group.before + each + group.after).toReversed());
    if (words.length + rest.length > mostWords) throw new UsageError(`"${word}": its braces expand to more than ${mostWords} names`);
  }
  return words;
}
