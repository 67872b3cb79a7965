import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Programs that tests compare with, and the Debian package of each. */
export const packages = {
  bash: 'bash',
  zsh: 'zsh',
  fish: 'fish',
  mandoc: 'mandoc',
  man: 'man-db',
  faketime: 'faketime',
  jq: 'jq',
  ip: 'iproute2',
  lintian: 'lintian',
} as const;

type Witness = keyof typeof packages;

/** `CLOUD_WITNESSES=required`, as in `.ci/run`: an absent witness is a failure instead of a line in the report. */
export const areRequired = process.env['CLOUD_WITNESSES'] === 'required';

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Whether a program is installed. */
export function hasProgram(name: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => isExecutable(join(folder, name)));
}

/** One line that names the witnesses this machine lacks and how to install them; undefined when none is absent. */
export function describeAbsent(): string | undefined {
  const absent = Object.entries(packages).filter(([name]) => !hasProgram(name));
  if (absent.length === 0) return undefined;
  const [names, wanted] = [absent.map(([name]) => name), absent.map(([, each]) => each)];
  return `Absent witnesses: ${names.join(', ')}. Their tests are left out; to run them: apt-get install ${wanted.join(' ')}\n`;
}

/** Whether a witness is absent, for `describe.skipIf` and `it.skipIf`; the report of the run names it. */
export function lacks(name: Witness): boolean {
  return !hasProgram(name);
}
