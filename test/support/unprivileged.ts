import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Programs that refuse to run for root, or should not: where the tests run for root they run for another user. */

/** The user for whom they run then. */
const nobody = 65534;

const isRoot = process.getuid?.() === 0;

/** Words before a command that runs without privileges, and ends with this process, however that dies. */
export const unprivileged: readonly [string, ...string[]] = [
  'setpriv',
  '--pdeathsig',
  'KILL',
  ...(isRoot ? [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'] : []),
];

/** Gives a file or a folder with everything in it to the user of such commands. */
export function giveAway(path: string): void {
  if (isRoot) execFileSync('chown', ['-R', `${nobody}:${nobody}`, path]);
}

/** A program that a Debian package brings. @throws {Error} which names the package, when it is not installed */
export function requireProgram(file: string, debianPackage: string): string {
  if (!existsSync(file)) throw new Error(`${file} is not installed: apt-get install ${debianPackage}`);
  return file;
}
