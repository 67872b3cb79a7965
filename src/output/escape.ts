/**
 * Text of services and file names must not reach a terminal raw: control characters could move the cursor or hide text,
 * overrides of the writing direction could disguise it.
 */
// oxlint-disable-next-line no-control-regex
const unsafe = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
// In JSON and YAML the control characters below 0x20 are escaped already, and line ends are the format's own.
const unsafeInData = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

const printable = /^[ -~]*$/;

/** Whether text is what most is: a terminal shows it as it is, and each character takes one column. */
export function isPlain(text: string): boolean {
  return printable.test(text);
}

const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function toHex(character: string, digits: number): string {
  return character.charCodeAt(0).toString(16).padStart(digits, '0');
}

function escapeCharacter(character: string): string {
  return shortEscapes[character] ?? (character < '\u0100' ? `\\x${toHex(character, 2)}` : `\\u${toHex(character, 4)}`);
}

/** Text on one line that a terminal shows as it is: `\n`, `\x1b`, `\u202e` instead of the characters. */
export function escapeControl(text: string): string {
  if (isPlain(text)) return text;
  return text.replace(unsafe, escapeCharacter);
}

/** JSON, or YAML whose unsafe strings are double-quoted, that a terminal shows as it is; its value is unchanged. */
export function escapeData(text: string): string {
  return text.replace(unsafeInData, (character) => `\\u${toHex(character, 4)}`);
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
  return text.search(unsafe) >= 0;
}
