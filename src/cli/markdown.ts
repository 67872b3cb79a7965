import type { AnyCommand, Group } from './command.ts';
import type { LoadedNoun } from './tree.ts';

/** Escapes bars, which would end the cell. */
function escape(text: string): string {
  return text.replaceAll('|', '\\|');
}

/** The commands of a group, without its name: `list`, `get`. */
function listVerbs({ commands }: Group): string[] {
  return Object.entries(commands).flatMap(([name, child]: [string, AnyCommand | Group]) =>
    child.kind === 'group' ? listVerbs(child).map((verb) => `${name} ${verb}`) : [name],
  );
}

/** The table of all commands for README.md, in the order of their declarations. */
export function printCommandTable(nouns: readonly LoadedNoun[]): string {
  const rows = nouns.map(({ name, summary, node }) => {
    const verbs = node.kind === 'group' ? listVerbs(node) : [];
    const cells = [`\`cloud ${name}\``, verbs.map((verb) => `\`${verb}\``).join(', '), summary];
    return `| ${cells.map(escape).join(' | ')} |`;
  });
  return ['| command | verbs | what it is for |', '| --- | --- | --- |', ...rows].join('\n');
}
