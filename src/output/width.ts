/** The width of text in terminal columns. Expects text without control characters (`escapeControl`). */

const simple = /^[\u0020-\u007e\u00a0-\u00ac\u00ae-\u02ff\u0370-\u0482\u048a-\u0530\u2010-\u2027]*$/;
/** Unicode properties. Created for the first text that is not simple: compiling them takes about 1 ms. */
interface Characters {
  readonly emoji: RegExp;
  readonly wide: RegExp;
  readonly zero: RegExp;
  readonly drawn: RegExp;
}

function describeCharacters(): Characters {
  return {
    emoji: /^(?:\p{Emoji_Presentation}|\p{Regional_Indicator}{2}|\p{Emoji}\ufe0f|[\d#*]\ufe0f?\u20e3)/u,
    // East Asian Width W and F (Unicode Standard Annex 11), in addition to emoji.
    wide: /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u33ff\u3400-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]/u,
    // Characters that are drawn over the previous one: marks, joiners, and the vowels and finals of decomposed Hangul.
    zero: /[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff\ud7b0-\ud7ff]/u,
    // Grapheme clusters: a flag, a keycap, an emoji with all characters joined to it, or a character with its marks.
    // Intl.Segmenter provides them too, but takes time quadratic in the length of the text.
    drawn:
      /\p{Regional_Indicator}{2}|[\d#*]\ufe0f?\u20e3|\p{Extended_Pictographic}(?:[\p{M}\p{Cf}\p{Emoji_Modifier}]|(?<=\u200d)\p{Extended_Pictographic})*|.[\p{M}\p{Cf}\u1160-\u11ff\ud7b0-\ud7ff]*/gsu,
  };
}

let described: Characters | undefined;

function findCharacters(): Characters {
  return (described ??= describeCharacters());
}

function splitGraphemes(text: string): string[] {
  return text.match(findCharacters().drawn) ?? [];
}

function measureGrapheme(grapheme: string): number {
  const { emoji, wide, zero } = findCharacters();
  if (emoji.test(grapheme)) return 2;
  let width = 0;
  for (const character of grapheme) if (!zero.test(character)) width += wide.test(character) ? 2 : 1;
  return width;
}

/** The width of text in terminal columns. */
export function measure(text: string): number {
  if (simple.test(text)) return text.length;
  let width = 0;
  for (const grapheme of splitGraphemes(text)) width += measureGrapheme(grapheme);
  return width;
}

/** Pads text with spaces to a width. */
export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - measure(text)));
}

/** Truncates text to a width, ending in `…`. */
export function truncate(text: string, width: number): string {
  if (measure(text) <= width) return text;
  let head = '';
  let used = 1;
  for (const grapheme of splitGraphemes(text)) {
    used += measureGrapheme(grapheme);
    if (used > width) break;
    head += grapheme;
  }
  return `${head}…`;
}

/** Splits a word into parts that fit on a line; a character that is wider than the line is a part of its own. */
function breakWord(word: string, width: number): string[] {
  if (measure(word) <= width) return [word];
  const pieces: string[] = [];
  let piece = '';
  let used = 0;
  for (const grapheme of splitGraphemes(word)) {
    const more = measureGrapheme(grapheme);
    if (piece !== '' && used + more > width) {
      pieces.push(piece);
      piece = '';
      used = 0;
    }
    piece += grapheme;
    used += more;
  }
  return [...pieces, piece];
}

/** Wraps text between words, and inside words that are wider than a line. Drops only spaces at line breaks. */
export function wrap(text: string, width: number): string[] {
  if (measure(text) <= width) return [text];
  const lines: string[] = [];
  let line: string | undefined;
  for (const word of text.split(' ').flatMap((word) => breakWord(word, width))) {
    if (line !== undefined && measure(line) + 1 + measure(word) <= width) line += ` ${word}`;
    else {
      if (line !== undefined) lines.push(line);
      line = word;
    }
  }
  return line === undefined ? lines : [...lines, line];
}
