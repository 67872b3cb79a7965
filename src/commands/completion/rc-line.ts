import { chmodSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { unlessNoEntry, isSystemError } from '../../base/errors.ts';
import { findWriteTarget } from '../../transfer/local/write-target.ts';

/** The line in a shell's set-up file. It is marked, so that it is replaced and not added twice, and can be removed without a trace. */

/** The mark at the end of the line. A note on the earlier state of the file follows it. */
const marker = '# cloud completion';
const wasAbsent = ' (made this file)';
const lackedNewline = ' (after a last line without an end)';

/** Reads a set-up file byte for byte; undefined when it does not exist. */
function read(file: string): string | undefined {
  return unlessNoEntry(() => readFileSync(file, 'latin1'));
}

/** Replaces a file as a whole and keeps its permissions; a symbolic link, as in dotfiles that are kept in a repository, is followed. */
function replace(file: string, content: string): void {
  const target = existsSync(file) ? findWriteTarget(file).file : file;
  const mode = statSync(target, { throwIfNoEntry: false })?.mode;
  const temporary = `${target}.cloud-new`;
  try {
    writeFileSync(temporary, content, { encoding: 'latin1', mode: 0o600 });
    if (mode !== undefined) chmodSync(temporary, mode & 0o7777);
    renameSync(temporary, target);
  } catch (error) {
    rmSync(temporary, { force: true });
    if (isSystemError(error)) error.path = file;
    throw error;
  }
}

/** Returns a test for our lines: marked ones, and those that earlier releases wrote for this installed file. */
function createTest(installed: string): (line: string) => boolean {
  return (line) => line.includes(marker) || (line.endsWith(`source ${installed}`) && /^(?:source|\(\( \$\+functions)/.test(line));
}

/**
 * Adds the line, or replaces the line of an earlier installation.
 * @param installed the file that the line reads, quoted for the shell
 * @returns messages that say what was done; none when the line was there
 */
export function addLine(file: string, line: string, installed: string): string[] {
  const isOurs = createTest(installed);
  const text = read(file);
  const lines = text?.split('\n') ?? [];
  const [earlier, ...others] = lines.filter(isOurs);
  if (earlier !== undefined && text !== undefined) {
    const suffix = [wasAbsent, lackedNewline].find((each) => earlier.endsWith(each)) ?? '';
    const wanted = `${line} ${marker}${suffix}`;
    if (earlier === wanted && others.length === 0) return [];
    const at = lines.indexOf(earlier);
    replace(
      file,
      lines
        .map((each, place) => (place === at ? wanted : each))
        .filter((each, place) => place === at || !isOurs(each))
        .join('\n'),
    );
    return [`Replaced in ${file}: ${line}`];
  }
  const suffix = text === undefined ? wasAbsent : text !== '' && !text.endsWith('\n') ? lackedNewline : '';
  replace(file, `${text ?? ''}${suffix === lackedNewline ? '\n' : ''}${line} ${marker}${suffix}\n`);
  return [`Added to ${file}: ${line}`];
}

/** Removes the line, and the file or newline that was added with it. */
export function removeLine(file: string, installed: string): string[] {
  const isOurs = createTest(installed);
  const text = read(file);
  const lines = text?.split('\n') ?? [];
  const at = lines.findIndex(isOurs);
  if (text === undefined || at < 0) return [];
  const [line = ''] = lines.splice(at, 1);
  const rest = lines.filter((each) => !isOurs(each));
  const left = rest.join('\n');
  if (line.endsWith(wasAbsent) && left === '') rmSync(existsSync(file) ? findWriteTarget(file).file : file);
  // The newline before the line was ours only if the text before it is still the end of the file.
  else replace(file, line.endsWith(lackedNewline) && at === rest.length - 1 && left.endsWith('\n') ? left.slice(0, -1) : left);
  return [`Removed from ${file}: ${line.slice(0, line.indexOf(` ${marker}`) < 0 ? undefined : line.indexOf(` ${marker}`))}`];
}
