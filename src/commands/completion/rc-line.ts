import { chmodSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { isSystemError } from '../../base/errors.ts';
import { findWriteTarget } from '../../transfer/local/write-target.ts';

/** The line in a shell's own set-up: marked, so that it is replaced instead of doubled, and what it changed can be taken back to the byte. */

/** What stands at the end of the line. What the file was like before follows it. */
const marker = '# cloud completion';
const wasAbsent = ' (made this file)';
const lackedNewline = ' (after a last line without an end)';

/** What a set-up file has, byte for byte; undefined when there is none. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1');
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Replaces a file whole, with its permissions; one that is a link, as dotfiles in a repository are, is written through. */
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

/** Whether a line is ours: marked, or as an earlier release wrote it, for a file that it installed. */
function createTest(installed: string): (line: string) => boolean {
  return (line) => line.includes(marker) || (line.endsWith(`source ${installed}`) && /^(?:source|\(\( \$\+functions)/.test(line));
}

/**
 * Adds the line, or puts it in the place of that of an earlier installation.
 * @param installed the file that the line reads, as a word for a shell
 * @returns what was done, in words; nothing when the line was there
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

/** Removes the line, and what came with it. */
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
  // Only what still stands at the end had no newline.
  else replace(file, line.endsWith(lackedNewline) && at === rest.length - 1 && left.endsWith('\n') ? left.slice(0, -1) : left);
  return [`Removed from ${file}: ${line.slice(0, line.indexOf(` ${marker}`) < 0 ? undefined : line.indexOf(` ${marker}`))}`];
}
