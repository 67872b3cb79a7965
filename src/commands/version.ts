import { realpathSync } from 'node:fs';
import { build } from '../base/build.ts';
import { quietly } from '../base/errors.ts';
import { command } from '../cli/command.ts';
import { record } from '../output/kinds.ts';

/** The path of the program, with symbolic links resolved. */
export function findInstallPath(program: string): string {
  return quietly(() => realpathSync(program), program);
}

export const version = command({
  summary: 'Show version, commit, Node.js, system and install path',
  description:
    'cloud --version shows the same in one line, without the path. For a bug report, use cloud doctor: it shows all of this and more.',
  options: {},
  run: async ({ world }) =>
    record(
      { ...build, node: world.release, system: world.system, program: findInstallPath(world.program) },
      { id: 'version', columns: ['version', 'commit', 'date', 'node', 'system', 'program'] },
    ),
  examples: [
    { line: 'cloud version', help: 'Which release is installed, and where?' },
    { line: 'cloud version --jq .version', help: 'For scripts' },
  ],
});
