import { command, group } from '../cli/command.ts';
import { extensionName } from '../cli/extend.ts';
import { many, one } from '../cli/parameters.ts';
import { createAbsentError } from '../cli/named.ts';
import { createAttempts } from '../cli/attempts.ts';
import { finishChanges, showRows, wantsRows } from '../cli/rows.ts';
import { listCommand } from '../cli/shapes.ts';
import { record } from '../output/kinds.ts';
import { splitWords as splitShellWords } from './stor/run/words.ts';
import { quoteShell } from '../base/quote.ts';
import { findNoun } from '../cli/tree.ts';
import { openAliases, splitWords } from '../config/aliases.ts';
import { UsageError } from '../base/errors.ts';
import { nouns } from './index.ts';

export const alias = group({
  summary: 'Aliases: your own names for command lines',
  description:
    'cloud NAME runs the command line of the alias, followed by the other arguments. An alias cannot replace a command. A program cloud-NAME on the PATH runs as cloud NAME: it gets the other arguments and the environment (CLOUD_PROFILE, ...) unchanged.',
  commands: {
    list: listCommand({
      summary: 'List aliases',
      aliases: ['ls'],
      columns: ['name', 'line'],
      id: 'name',
      fetch: ({ paths }) => [...openAliases(paths.config).list()].map(([name, line]) => ({ name, line })),
      examples: [
        { line: 'cloud alias list', help: 'All aliases' },
        { line: 'cloud alias list -j', help: 'As JSON' },
      ],
    }),
    set: command({
      summary: 'Set an alias for a command line',
      aliases: ['create', 'add'],
      arguments: { name: one('Name of lowercase letters, digits and dashes'), line: one('Command line without cloud, as one argument') },
      fields: ['name', 'line'],
      changes: true,
      run: async (invocation) => {
        const { args, paths, note } = invocation;
        const { name, line } = args;
        if (!extensionName.test(name))
          throw new UsageError(`"${name}" is not a valid alias`, { hint: 'use lowercase letters, digits and dashes' });
        if (findNoun(nouns, name))
          throw new UsageError(`"${name}" is a command of cloud`, {
            hint: `choose another name: cloud alias set my-${name} ${quoteShell(line)}`,
          });
        const [first = ''] = splitWords(line);
        if (!findNoun(nouns, first))
          throw new UsageError(`"${first}" is not a command of cloud`, { hint: `cloud alias set ${name} 'images list --os linux'` });
        // Refuses shell syntax, such as a pipe, which would become an argument of the command.
        splitShellWords(line);
        const placeholder = splitWords(line).find((word) => /^\$(?:\d+|[@*])$/.test(word));
        if (placeholder !== undefined)
          throw new UsageError(`an alias has no placeholders such as ${placeholder}: the other arguments follow its line`, {
            hint: `put the option that takes ${placeholder} at the end of the line, without ${placeholder}`,
          });
        openAliases(paths.config).set(name, line);
        note(`cloud ${name} now runs cloud ${line}`);
        return wantsRows(invocation) ? record({ name, line }, { id: 'name' }) : undefined;
      },
      examples: [
        { line: "cloud alias set linux 'images list --os linux'", help: 'Run it as cloud linux -j' },
        { line: "cloud alias set backup 'stor sync --delete --yes docs stor:docs'", help: 'Run it as cloud backup -n' },
      ],
    }),
    delete: command({
      summary: 'Delete aliases',
      aliases: ['rm'],
      arguments: { name: many('Name of an alias', { values: 'alias' }) },
      fields: ['name'],
      changes: true,
      run: async (invocation) => {
        const { args, paths, note } = invocation;
        const aliases = openAliases(paths.config);
        const attempts = createAttempts(invocation, args.name.length);
        const deleted = attempts.rows(args.name, async (name) => {
          if (!aliases.remove(name)) throw createAbsentError('alias', name, aliases.list().keys(), 'cloud alias list');
          note(`Deleted alias ${name}`);
          return { name };
        });
        return await showRows(invocation, finishChanges(invocation, deleted), { columns: ['name'], id: 'name' });
      },
      examples: [
        { line: 'cloud alias delete linux', help: 'One' },
        { line: 'cloud alias delete $(cloud alias list -o name)', help: 'All' },
      ],
    }),
  },
});
