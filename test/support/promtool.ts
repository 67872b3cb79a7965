import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The checker of Prometheus. Its package would start a server on the machine, so that `.ci/run` unpacks the program alone. */

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Path of promtool: that of the variable `CLOUD_PROMTOOL`, else one in the PATH; undefined where there is none, so that what it checks is left out. */
export function findPromtool(): string | undefined {
  const { CLOUD_PROMTOOL: given, PATH = '' } = process.env;
  if (given !== undefined) return given;
  return PATH.split(delimiter)
    .map((folder) => join(folder, 'promtool'))
    .find(isProgram);
}

/** Runs promtool. @returns what it says @throws with all of that when it finds something wrong */
export function runPromtool(words: readonly string[], input = ''): string {
  const program = findPromtool();
  if (program === undefined) throw new Error('promtool is absent: set CLOUD_PROMTOOL to where it is');
  try {
    return execFileSync(program, words, { input, encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`promtool ${words.join(' ')}: ${stdout ?? ''}${stderr ?? ''}`, { cause: error });
  }
}
