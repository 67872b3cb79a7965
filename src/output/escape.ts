/**
 * Escapes text of services and file names for the terminal: control characters could move the cursor or hide text, bidirectional overrides
 * could disguise it, and invisible characters make different names look the same.
 */

/** Characters that a terminal interprets or hides: controls, line and paragraph separators, Default_Ignorable_Code_Point, Bidi_Control. */
const unseen = String.raw`\u007f-\u009f\u2028\u2029\p{Default_Ignorable_Code_Point}\p{Bidi_Control}`;
/** Within emoji these characters are visible by their effect: they join or colour. */
const inEmoji = String.raw`(?<=\p{Emoji})\ufe0f|(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})`;

/** Created for the first text that is not printable ASCII: compiling the Unicode properties takes 1 ms. */
interface Patterns {
  readonly text: RegExp;
  /** For JSON and YAML, where control characters below 0x20 are already escaped and line ends belong to the format. */
  readonly data: RegExp;
}
let made: Patterns | undefined;

function findPatterns(): Patterns {
  made ??= {
    text: new RegExp(String.raw`(?!${inEmoji})[\u0000-\u001f${unseen}]`, 'gu'),
    data: new RegExp(`(?!${inEmoji})[${unseen}]`, 'gu'),
  };
  return made;
}

const printable = /^[ -~]*$/;

/** True for printable ASCII. */
export function isPlain(text: string): boolean {
  return printable.test(text);
}

const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function toHex(unit: number, digits: number): string {
  return unit.toString(16).padStart(digits, '0');
}

/** Escapes as in JavaScript and Python: `\x1b`, `\u202e`, `\U000e0041`. */
function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return (
    shortEscapes[character] ?? (code < 0x100 ? `\\x${toHex(code, 2)}` : code < 0x10000 ? `\\u${toHex(code, 4)}` : `\\U${toHex(code, 8)}`)
  );
}

/** Escapes text to one line that is safe for a terminal: `\n`, `\x1b`, `\u202e`. */
export function escapeControl(text: string): string {
  if (isPlain(text)) return text;
  return text.replace(findPatterns().text, escapeCharacter);
}

/** Escapes JSON so that it is safe for a terminal, without changing its value. */
export function escapeData(text: string): string {
  return text.replace(findPatterns().data, (character) =>
    Array.from({ length: character.length }, (_, at) => `\\u${toHex(character.charCodeAt(at), 4)}`).join(''),
  );
}

/** Like `escapeData`, for YAML whose unsafe strings are double-quoted: one escape represents a whole code point. */
export function escapeYaml(text: string): string {
  return text.replace(findPatterns().data, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x10000 ? `\\u${toHex(code, 4)}` : `\\U${toHex(code, 8)}`;
  });
}

/** Escapes text so that it is safe for a terminal, keeping line ends and tabs. */
export function escapeLines(text: string): string {
  return text
    .split('\n')
    .map((line) => line.split('\t').map(escapeControl).join('\t'))
    .join('\n');
}

/** True if the text contains characters that must be escaped for a terminal. */
export function hasControl(text: string): boolean {
  return !isPlain(text) && text.search(findPatterns().text) >= 0;
}

// oxlint-disable-next-line no-control-regex
const breaksLines = /[\u0000-\u001f\u007f]|^"/;

/**
 * Quotes a name for lists of one name a line, as git quotes paths: in double quotes with escapes, if it contains a control character or
 * starts with a quotation mark.
 */
export function quoteName(name: string): string {
  if (!breaksLines.test(name)) return name;
  // oxlint-disable-next-line no-control-regex
  const escaped = name.replaceAll(/[\u0000-\u001f\u007f"\\]/g, (character) =>
    character === '"' || character === '\\'
      ? `\\${character}`
      : (shortEscapes[character] ?? `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`),
  );
  return `"${escaped}"`;
}
