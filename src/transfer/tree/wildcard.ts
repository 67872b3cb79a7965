import { UsageError } from '../../base/errors.ts';

type Test = (letter: string) => boolean;

/** A part of a pattern: one character, any number of characters, or any number of whole directories. */
interface Piece {
  readonly kind: 'one' | 'many' | 'folders';
  readonly test: Test;
}

const notSlash: Test = (letter) => letter !== '/';

/** Reads `[a-z]` or `[!a-z]` at the start of a pattern; undefined for a literal bracket. */
function readClass(pattern: string): { test: Test; length: number } | undefined {
  const found = /^\[([!^]?)(\]?[^\]]*)\]/.exec(pattern);
  if (!found) return undefined;
  const [whole, negation = '', content = ''] = found;
  const source = content.replace(/[\\^[\]]/g, '\\$&');
  const expression = new RegExp(`^[${negation === '' ? '' : '^/'}${source}]$`, 'su');
  return { test: (letter) => expression.test(letter), length: whole.length };
}

function readChunks(pattern: string, classes: boolean): Piece[] {
  const pieces: Piece[] = [];
  for (let at = 0; at < pattern.length;) {
    const letter = String.fromCodePoint(pattern.codePointAt(at) ?? 0);
    if (letter === '\\' && at + 1 < pattern.length) {
      const escaped = String.fromCodePoint(pattern.codePointAt(at + 1) ?? 0);
      pieces.push({ kind: 'one', test: (other) => other === escaped });
      at += 1 + escaped.length;
      continue;
    }
    const group = classes && letter === '[' ? readClass(pattern.slice(at)) : undefined;
    const sign = ['**/', '**', '*', '?'].find((each) => pattern.startsWith(each, at));
    if (sign === '**/') pieces.push({ kind: 'folders', test: notSlash });
    else if (sign === '**') pieces.push({ kind: 'many', test: () => true });
    else if (sign === '*') pieces.push({ kind: 'many', test: notSlash });
    else if (sign === '?') pieces.push({ kind: 'one', test: notSlash });
    else pieces.push({ kind: 'one', test: group?.test ?? ((other) => other === letter) });
    at += sign?.length ?? group?.length ?? letter.length;
  }
  return pieces;
}

/** Adds a state, and those that can be reached from it without consuming a character. */
function enter(pieces: readonly Piece[], places: Set<number>, place: number): void {
  let next = place;
  while (!places.has(next)) {
    places.add(next);
    const kind = pieces[next]?.kind;
    if (kind === 'one' || kind === undefined) return;
    next += 1;
  }
}

/** States inside a directory's name are distinguished from those at its beginning by negative numbers. */
function insideOf(place: number): number {
  return -1 - place;
}

function step(pieces: readonly Piece[], places: ReadonlySet<number>, letter: string): Set<number> {
  const next = new Set<number>();
  for (const place of places) {
    const index = place < 0 ? insideOf(place) : place;
    const piece = pieces[index];
    if (piece === undefined) continue;
    if (piece.kind === 'folders') {
      if (letter !== '/') next.add(insideOf(index));
      else if (place < 0) enter(pieces, next, index);
    } else if (piece.test(letter)) enter(pieces, next, piece.kind === 'one' ? index + 1 : index);
  }
  return next;
}

/**
 * Compiles a pattern into a test for names or paths: `*` and `?` stop at slashes, `**` does not; a backslash escapes the next character.
 * Without `classes` brackets are literal. All alternatives are followed in parallel, so that matching takes at most time proportional to
 * the length of the pattern times that of the text.
 * @throws {UsageError} for an invalid class, such as `[z-a]`
 */
export function createMatcher(pattern: string, { classes = true }: { classes?: boolean } = {}): (text: string) => boolean {
  let pieces: Piece[];
  try {
    pieces = readChunks(pattern, classes);
  } catch (error) {
    throw new UsageError(`"${pattern}" is not a pattern`, { cause: error, hint: 'patterns have *, ?, [a-z], [!a-z] and **' });
  }
  const start = new Set<number>();
  enter(pieces, start, 0);
  return (text) => {
    let places: ReadonlySet<number> = start;
    for (const letter of text) {
      places = step(pieces, places, letter);
      if (places.size === 0) return false;
    }
    return places.has(pieces.length);
  };
}
