import { command, group } from '../cli/command.ts';
import { printBash } from '../cli/completion/bash.ts';
import { printFish } from '../cli/completion/fish.ts';
import { readWords, type Words } from '../cli/completion/words.ts';
import { printZsh } from '../cli/completion/zsh.ts';
import { loadNouns } from '../cli/tree.ts';
import { text } from '../output/kinds.ts';
import { nouns } from './index.ts';

async function print(printer: (words: Words) => string) {
  return text(printer(readWords(await loadNouns(nouns))));
}

const bash = command({
  summary: 'Print the completion script for bash',
  description: 'To install it, add this line to ~/.bashrc:\n  source <(cloud completion bash)',
  run: () => print(printBash),
  examples: [
    { line: 'source <(cloud completion bash)', help: 'In this shell, and from ~/.bashrc in each' },
    {
      line: 'cloud completion bash > ~/.local/share/bash-completion/completions/cloud',
      help: 'Loaded by the package bash-completion when first needed',
    },
  ],
});

const zsh = command({
  summary: 'Print the completion script for zsh',
  description:
    'To install it, once:\n  cloud completion zsh > "${fpath[1]}/_cloud"\nand start a new shell. It needs completion to be on: autoload -U compinit && compinit in ~/.zshrc.',
  run: () => print(printZsh),
  examples: [
    { line: 'cloud completion zsh > "${fpath[1]}/_cloud"', help: 'For every new shell' },
    { line: 'source <(cloud completion zsh)', help: 'In this shell, after compinit' },
  ],
});

const fish = command({
  summary: 'Print the completion script for fish',
  description: 'To install it, add this line to ~/.config/fish/config.fish:\n  cloud completion fish | source',
  run: () => print(printFish),
  examples: [
    { line: 'cloud completion fish | source', help: 'In this shell' },
    { line: 'cloud completion fish > ~/.config/fish/completions/cloud.fish', help: 'For every new shell' },
  ],
});

export const completion = group({
  summary: 'Completion for bash, zsh and fish',
  description: 'Commands, options, their values, and names of files and profiles complete without starting a process.',
  commands: { bash, zsh, fish },
});
