import { command } from '../../cli/command.ts';
import { choice, maybe } from '../../cli/parameters.ts';
import { record, text } from '../../output/kinds.ts';
import { takeAccess } from '../../rbac/access.ts';
import { buildGraph, printDot, printMermaid } from './draw.ts';
import { readDocument } from '../../rbac/read.ts';
import { readAccount } from './export.ts';
import { fileHelp } from './words.ts';

export const graph = command({
  summary: 'Draw users, roles, policies and tagged resources as a graph',
  description:
    'Draws the account, or a document. Dashed lines lead from users to roles that they must request, dotted lines from roles to the resources with their tag.',
  arguments: { file: maybe(`${fileHelp}; default the account`, { values: 'file' }) },
  options: {
    output: choice('Output format: dot for Graphviz, mermaid for Markdown', ['dot', 'mermaid', 'json', 'yaml'], {
      short: 'o',
      placeholder: 'FORM',
    }),
  },
  run: async (invocation) => {
    const { args, options, global } = invocation;
    const document = args.file === undefined ? await readAccount(invocation) : await readDocument(invocation, args.file);
    const trees = Object.entries(document.trees ?? {}).map(([path, names]) => [`${path}/**`, names] as const);
    const drawn = buildGraph(takeAccess(document), { ...document.tags, ...Object.fromEntries(trees) });
    if (global.json || options.output === 'json' || options.output === 'yaml') return record(drawn, { id: 'nodes' });
    return text(options.output === 'mermaid' ? printMermaid(drawn) : printDot(drawn));
  },
  examples: [
    { line: 'cloud rbac graph > access.dot', help: 'For Graphviz: dot -Tsvg access.dot' },
    { line: 'cloud rbac graph rbac.yaml -o mermaid', help: 'A document as a Mermaid chart' },
  ],
});
