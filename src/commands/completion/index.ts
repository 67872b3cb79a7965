import { command, group, type AnyCommand } from '../../cli/command.ts';
import { printBash } from '../../cli/completion/bash.ts';
import { printFish } from '../../cli/completion/fish.ts';
import { readWords, type Words } from '../../cli/completion/words.ts';
import { printZsh } from '../../cli/completion/zsh.ts';
import { flag } from '../../cli/parameters.ts';
import { wantsRows } from '../../cli/rows.ts';
import { loadNouns } from '../../cli/tree.ts';
import { createContradiction } from '../../base/errors.ts';
import { record, text } from '../../output/kinds.ts';
import { nouns } from '../index.ts';
import { install, uninstall, type Shell } from './install.ts';

const printers: Readonly<Record<Shell, (words: Words) => string>> = { bash: printBash, zsh: printZsh, fish: printFish };
const options = {
  install: flag('Install the script for this user instead of printing it'),
  uninstall: flag('Remove everything that --install added'),
};

/** A command that prints the script; with `--install` or `--uninstall`, it changes files instead. */
function shellCommand(shell: Shell, spec: Pick<AnyCommand, 'summary' | 'description' | 'examples'>): AnyCommand {
  return command({
    ...spec,
    options,
    fields: ['shell', 'change'],
    changes: true,
    run: async (invocation) => {
      const { world, note } = invocation;
      const { install: installs, uninstall: removes } = invocation.options;
      if (installs && removes) throw createContradiction('--install', '--uninstall');
      if (!installs && !removes) return text(printers[shell](readWords(await loadNouns(nouns))));
      for (const line of (removes ? uninstall : install)(shell, world)) note(line);
      const done = { shell, change: removes ? 'uninstalled' : 'installed' };
      return wantsRows(invocation) ? record(done, { id: 'shell' }) : undefined;
    },
  });
}

const bash = shellCommand('bash', {
  summary: 'Print or install the completion script for bash',
  description:
    '--install puts the script where the package bash-completion loads it on first use. If a new bash does not load that package, --install adds a line to ~/.bashrc. --uninstall removes that line again.',
  examples: [
    { line: 'cloud completion bash --install', help: 'For every new shell' },
    { line: 'source <(cloud completion bash)', help: 'In this shell' },
  ],
});

const zsh = shellCommand('zsh', {
  summary: 'Print or install the completion script for zsh',
  description:
    '--install adds a line to .zshrc in the configuration folder of zsh. The line loads the script, and turns completion on if nothing else does. --uninstall removes that line again.',
  examples: [
    { line: 'cloud completion zsh --install', help: 'For every new shell' },
    { line: 'cloud completion zsh > "${fpath[1]}/_cloud"', help: 'Into a folder of your choice' },
  ],
});

const fish = shellCommand('fish', {
  summary: 'Print or install the completion script for fish',
  description: '--install puts the script where fish loads it on first use.',
  examples: [
    { line: 'cloud completion fish --install', help: 'For every new shell' },
    { line: 'cloud completion fish | source', help: 'In this shell' },
  ],
});

export const completion = group({
  summary: 'Completion for bash, zsh and fish',
  description:
    'Commands, options, their values, and names of files and profiles complete without starting a process. Names of keys, images, users and other resources of the account, and paths of the object storage, are requested from the services. A request takes two seconds at most, and its result is cached for ten seconds.',
  commands: { bash, zsh, fish },
});
