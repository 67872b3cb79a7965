import { command, group, type Context } from '../../cli/command.ts';
import { printBash } from '../../cli/completion/bash.ts';
import { printFish } from '../../cli/completion/fish.ts';
import { readWords, type Words } from '../../cli/completion/words.ts';
import { printZsh } from '../../cli/completion/zsh.ts';
import { flag } from '../../cli/parameters.ts';
import { loadNouns } from '../../cli/tree.ts';
import { createContradiction } from '../../base/errors.ts';
import { text, type Output } from '../../output/kinds.ts';
import { nouns } from '../index.ts';
import { install, uninstall, type Shell } from './install.ts';

const printers: Readonly<Record<Shell, (words: Words) => string>> = { bash: printBash, zsh: printZsh, fish: printFish };
const options = {
  install: flag('Install it for this user instead of printing it'),
  uninstall: flag('Remove what --install put anywhere'),
};

/** Returns the script; with `--install` or `--uninstall`, changes files and prints notes instead. */
async function provide(
  shell: Shell,
  context: Context & { readonly options: { install: boolean; uninstall: boolean } },
): Promise<Output | undefined> {
  const { install: installs, uninstall: removes } = context.options;
  if (installs && removes) throw createContradiction('--install', '--uninstall');
  if (removes) for (const line of uninstall(shell, context.world)) context.note(line);
  if (removes) return undefined;
  if (!installs) return text(printers[shell](readWords(await loadNouns(nouns))));
  for (const line of install(shell, context.world)) context.note(line);
  return undefined;
}

const bash = command({
  summary: 'Print or install the completion script for bash',
  description:
    'With --install it is put where the package bash-completion finds it when it is first needed; where no new bash loads that package, ~/.bashrc gets a line that reads it. --uninstall leaves that file as it was.',
  options,
  run: (invocation) => provide('bash', invocation),
  examples: [
    { line: 'cloud completion bash --install', help: 'For every new shell' },
    { line: 'source <(cloud completion bash)', help: 'In this shell' },
  ],
});

const zsh = command({
  summary: 'Print or install the completion script for zsh',
  description:
    'With --install, .zshrc in the folder that zsh uses gets a line that reads it, and that turns completion on where nothing did. --uninstall leaves that file as it was.',
  options,
  run: (invocation) => provide('zsh', invocation),
  examples: [
    { line: 'cloud completion zsh --install', help: 'For every new shell' },
    { line: 'cloud completion zsh > "${fpath[1]}/_cloud"', help: 'In a folder of your own choice' },
  ],
});

const fish = command({
  summary: 'Print or install the completion script for fish',
  description: 'With --install it is put where fish finds it when it is first needed.',
  options,
  run: (invocation) => provide('fish', invocation),
  examples: [
    { line: 'cloud completion fish --install', help: 'For every new shell' },
    { line: 'cloud completion fish | source', help: 'In this shell' },
  ],
});

export const completion = group({
  summary: 'Completion for bash, zsh and fish',
  description:
    'Commands, options, their values, and names of files and profiles complete without starting a process. Names of keys, images, users and all else that is in the account, and paths of the object storage, are asked for: two seconds at most, and answers are kept for ten.',
  commands: { bash, zsh, fish },
});
