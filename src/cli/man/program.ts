import { settingNames, settings, type Setting } from '../../config/settings.ts';
import { outputOptions, settingOptions } from '../globals.ts';
import { exitCodeHelp, fileHelp, outputHelp } from '../guides/program.ts';
import type { Guide } from '../guides/guide.ts';
import type { LoadedNoun } from '../tree.ts';
import { printOptions } from './options.ts';
import { bold, entry, italic, joinPage, listing, paragraph, reference, references, section, subsection } from './roff.ts';

function printNouns(nouns: readonly LoadedNoun[]): string[] {
  const sections = [...new Set(nouns.map((noun) => noun.section))];
  return sections.flatMap((title) =>
    subsection(
      title,
      nouns.filter((noun) => noun.section === title).flatMap(({ name, summary }) => ['.TP', reference(`cloud-${name}`, 1), `${summary}.`]),
    ),
  );
}

/** Environment variables, including those of older tools. */
function printEnvironment(): string[] {
  return settingNames.flatMap((name) => {
    const { env, help, legacy = [] }: Setting = settings[name];
    if (env === undefined) return [];
    const also = legacy.length === 0 ? '' : ` Also ${legacy.map((variable) => `\`${variable}\``).join(', ')} when no profile is in use.`;
    return entry(bold(env), `${help}.${also}`);
  });
}

export function printProgramPage(nouns: readonly LoadedNoun[], guides: readonly Guide[], version: string): string {
  return joinPage({ name: 'cloud', section: 1, summary: 'manage a cloud and its object storage', version }, [
    [
      '.SH SYNOPSIS',
      `${bold('cloud')} ${italic('COMMAND')} [${italic('ARGUMENT...')}] [${italic('OPTION...')}]`,
      '.br',
      `${bold('cloud')} ${italic('COMMAND')} ${bold('--help')}`,
    ],
    section(
      'DESCRIPTION',
      paragraph(
        'One command for the two services of a cloud: the compute management API with accounts, keys, users, roles, policies, images and packages, and the object storage with directories, objects, jobs and uploads. It also contains both services, to try and test everything on this machine.',
      ),
      listing(['cloud local try', 'cloud profile create work', 'cloud images list']),
    ),
    ['.SH COMMANDS', ...printNouns(nouns)],
    section('OUTPUT OPTIONS', paragraph(outputHelp), printOptions(outputOptions())),
    section('CONNECTION OPTIONS', printOptions(settingOptions())),
    section(
      'ENVIRONMENT',
      paragraph(
        'Options take precedence over these variables, and the variables over the current profile. With `--profile`, the profile takes precedence: of the variables that follow, only those for limits, retries, parallel transfers and output defaults are used then, where the profile has no value.',
      ),
      printEnvironment(),
      entry(
        `${bold('PAGER')}, ${bold('CLOUD_PAGER')}`,
        'Program that shows tables longer than the terminal. `CLOUD_PAGER` takes precedence; an empty value turns the pager off.',
      ),
      entry(
        bold('CLOUD_HOME'),
        'Absolute path of a folder for configuration, state, cache and data, in place of those below. `cloud local run` sets it for its program.',
      ),
      entry(`${bold('NO_COLOR')}, ${bold('CLICOLOR_FORCE')}`, 'Turn colour off or on, unless `--color` is given.'),
    ),
    section(
      'FILES',
      fileHelp.flatMap(([file, help]) => entry(bold(file), help)),
    ),
    section(
      'EXIT STATUS',
      exitCodeHelp.flatMap(([code, help]) => entry(bold(code), help)),
    ),
    section(
      'SEE ALSO',
      references([...guides.map(({ page }) => [page, 7] as const), ...nouns.map(({ name }) => [`cloud-${name}`, 1] as const)]),
    ),
  ]);
}
