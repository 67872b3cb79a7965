/** Lines of a shell whose commands of `cloud` run in the process of the test. */

/** A part of a line, and whether it runs only after success of the part before. */
interface LinePart {
  readonly needsSuccess: boolean;
  /** For bash: what it prints is the input of the command, or all there is to the part. */
  readonly shell?: string;
  /** Words of a command of `cloud`. */
  readonly words?: readonly string[];
}

/** A word that bash gives to a program as it stands, but for the quotation marks. */
const word = /(?:[\w./:=,@%+-]|'[^']*'|"[^"$`\\!]*")+/gu;

/** Programs with an effect on files only, or that print their arguments. */
const helpers = new Set(['chmod', 'cp', 'echo', 'head', 'ln', 'mkdir', 'mkfifo', 'mv', 'printf', 'rm', 'seq', 'touch', 'true', 'truncate']);

/** Splits at `;`, line ends, `&&` and `|`, outside of quotation marks. Undefined where the line has more than those. */
function splitLine(line: string): { operator: string; text: string }[] | undefined {
  const parts = [{ operator: ';', text: '' }];
  for (const [piece] of line.matchAll(/'[^']*'|"(?:[^"\\`]|\\.)*"|&&|\|\||[^]/gu)) {
    if (['&', '||', '(', ')', '`', '#', '{', '}', "'", '"', '\\', '!'].includes(piece)) return undefined;
    if (['&&', ';', '\n', '|'].includes(piece)) parts.push({ operator: piece, text: '' });
    else (parts.at(-1) ?? { text: '' }).text += piece;
  }
  return parts;
}

/** The words of a command of `cloud` that needs nothing of a shell. */
function readCommand(text: string): string[] | undefined {
  const [first, ...words] = text.trim().match(word) ?? [];
  // What is between the words is blank.
  if (first !== 'cloud' || text.replaceAll(word, '').trim() !== '') return undefined;
  return words.map((each) => each.replaceAll(/'([^']*)'|"([^"]*)"/gu, '$1$2'));
}

/** Takes a line apart into commands of `cloud` and what bash does for them; undefined for lines with more syntax than that. */
function readLine(line: string): LinePart[] | undefined {
  const read: LinePart[] = [];
  let piped: string | undefined;
  const parts = splitLine(line)?.filter(({ operator, text }) => text.trim() !== '' || !';\n'.includes(operator));
  if (parts === undefined) return undefined;
  for (const [at, { operator, text }] of parts.entries()) {
    const isPiped = parts[at + 1]?.operator === '|';
    const words = readCommand(text);
    const needsSuccess = operator === '&&';
    if (words !== undefined && !isPiped) read.push({ needsSuccess, words, ...(piped !== undefined && { shell: piped }) });
    else if (words !== undefined || operator === '|' || !helpers.has(text.trim().split(' ')[0] ?? '')) return undefined;
    else if (!isPiped) read.push({ needsSuccess, shell: text });
    // A command after a pipe takes its place in the line from the program before.
    else if (needsSuccess) return undefined;
    piped = isPiped ? text : undefined;
  }
  return read;
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What runs the parts of a line. */
interface Runners<R extends Ended> {
  bash(line: string): Promise<R>;
  cloud(words: readonly string[], input: string): Promise<R>;
}

/**
 * Runs a line as a shell does: a command after `&&` only after success; a helper program before `|` writes the input of its command.
 * @returns what the parts printed, and how the last one that ran ended
 * @throws when the line has more syntax than `;`, `&&`, `|` after a helper program, and quotation marks
 */
export async function runLine<R extends Ended>(line: string, { bash, cloud }: Runners<R>): Promise<Ended> {
  const parts = readLine(line);
  if (parts === undefined) throw new Error(`this line needs a shell: ${line}`);
  let ended: Ended = { code: 0, stdout: '', stderr: '' };
  for (const { needsSuccess, shell, words } of parts) {
    if (needsSuccess && ended.code !== 0) continue;
    const helper = shell === undefined ? undefined : await bash(shell);
    const command = words === undefined ? undefined : await cloud(words, helper?.stdout ?? '');
    const last = command ?? helper ?? ended;
    const stdout = ended.stdout + last.stdout;
    const stderr = ended.stderr + (helper?.stderr ?? '') + (command?.stderr ?? '');
    ended = { code: last.code, stdout, stderr };
  }
  return ended;
}
