import { command } from '../cli/command.ts';
import { printCommandHelp, printGroupHelp, printRootHelp } from '../cli/help.ts';
import { some } from '../cli/parameters.ts';
import { findCommand } from '../cli/tree.ts';
import { text } from '../output/kinds.ts';
import { nouns } from './index.ts';

export const help = command({
  summary: 'Show the help of a command',
  arguments: { command: some('Words of the command', { values: 'command' }) },
  run: async ({ args, world }) => {
    const { node, path } = await findCommand(nouns, args.command);
    const width = Math.min(100, world.stdout.columns());
    if (node === undefined) return text(printRootHelp(nouns, width));
    return text(node.kind === 'group' ? printGroupHelp(path, node, width) : printCommandHelp(path, node, width));
  },
  examples: [
    { line: 'cloud help', help: 'All commands' },
    { line: 'cloud help stor put', help: 'One command' },
  ],
});
