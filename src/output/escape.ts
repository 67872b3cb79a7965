/**
 * Text of services and file names must not reach a terminal raw: control characters could move the cursor or hide text,
 * overrides of the writing direction could disguise it, and characters that are not shown make two names look the same.
 */

/** What a terminal would obey, or not show at all: controls, ends of lines and paragraphs, Default_Ignorable_Code_Point, Bidi_Control. */
const unseen = String.raw`\u007f-\u009f\u2028\u2029\p{Default_Ignorable_Code_Point}\p{Bidi_Control}`;
/** Within emoji these are seen by what they join or colour. */
const inEmoji = String.raw`(?<=\p{Emoji})\ufe0f|(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})`;

/** Made when text is not plain: compiling what Unicode says of characters takes 1 ms. */
interface Patterns {
  readonly text: RegExp;
  /** In JSON and YAML the control characters below 0x20 are escaped already, and line ends are the format's own. */
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

/** Whether text is what most is: a terminal shows it as it is, and each character takes one column. */
export function isPlain(text: string): boolean {
  return printable.test(text);
}

const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function toHex(unit: number, digits: number): string {
  return unit.toString(16).padStart(digits, '0');
}

/** As JavaScript and Python write it: `\x1b`, `\u202e`, `\U000e0041`. */
function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return (
    shortEscapes[character] ?? (code < 0x100 ? `\\x${toHex(code, 2)}` : code < 0x10000 ? `\\u${toHex(code, 4)}` : `\\U${toHex(code, 8)}`)
  );
}

/** Text on one line that a terminal shows as it is: `\n`, `\x1b`, `\u202e` instead of the characters. */
export function escapeControl(text: string): string {
  if (isPlain(text)) return text;
  return text.replace(findPatterns().text, escapeCharacter);
}

/** JSON that a terminal shows as it is; its value is unchanged. */
export function escapeData(text: string): string {
  return text.replace(findPatterns().data, (character) =>
    Array.from({ length: character.length }, (_, at) => `\\u${toHex(character.charCodeAt(at), 4)}`).join(''),
  );
}

/** The same for YAML whose unsafe strings are double-quoted: there one escape stands for the whole character. */
export function escapeYaml(text: string): string {
  return text.replace(findPatterns().data, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x10000 ? `\\u${toHex(code, 4)}` : `\\U${toHex(code, 8)}`;
  });
}

/** Text on as many lines as it has, tabs included, that a terminal shows as it is. */
export function escapeLines(text: string): string {
  return text
    .split('\n')
    .map((line) => line.split('\t').map(escapeControl).join('\t'))
    .join('\n');
}

/** Whether a terminal would do more with the text than show it. */
export function hasControl(text: string): boolean {
  return !isPlain(text) && text.search(findPatterns().text) >= 0;
}

// oxlint-disable-next-line no-control-regex
const breaksLines = /[\u0000-\u001f\u007f]|^"/;

/**
 * A name for a list of one name a line, where a newline would make two of it: as git prints paths, in double quotes with escapes, when it holds a control
 * character or begins with a quotation mark.
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
