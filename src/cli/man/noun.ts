import type { AnyCommand, Example, Group } from '../command.ts';
import { printUsage } from '../help.ts';
import type { LoadedNoun } from '../tree.ts';
import { printArguments, printOptions } from './options.ts';
import { bold, italic, joinPage, listing, paragraph, prose, references, section, subsection } from './roff.ts';

type Entry = readonly [path: readonly string[], node: AnyCommand];

function listCommands(path: readonly string[], node: AnyCommand | Group): Entry[] {
  if (node.kind === 'command') return [[path, node]];
  return Object.entries(node.commands).flatMap(([name, child]) => listCommands([...path, name], child));
}

/** The usage line: literal words in bold, placeholders in italics. */
function printSynopsis([path, command]: Entry): string {
  const words = ['cloud', ...path].join(' ');
  const rest = printUsage(path, command).slice(words.length + 1);
  return `${bold(words)} ${italic(rest)}`;
}

function printParagraphs(text: string): string[] {
  return text.split('\n').flatMap((each) => (each.startsWith('  ') ? listing([each.trim()]) : paragraph(each)));
}

function printExamples(examples: readonly Example[]): string[] {
  return examples.flatMap(({ line, help }) => [...paragraph(`${help}:`), ...listing([line])]);
}

function printAliases({ aliases = [] }: AnyCommand): string[] {
  return aliases.length === 0 ? [] : ['.PP', `Also ${aliases.map(bold).join(', ')}.`];
}

function printCommand(entry: Entry): string[] {
  const [path, command] = entry;
  const { description } = command;
  return subsection(
    ['cloud', ...path].join(' '),
    paragraph(`${command.summary}.`),
    ['.PP', printSynopsis(entry)],
    ...(description === undefined ? [] : [printParagraphs(description)]),
    printAliases(command),
    printArguments(command.arguments),
    printOptions(command.options),
    printExamples(command.examples),
  );
}

/** The page of a noun: its commands with arguments, options and examples. */
export function printNounPage(
  { name, aliases, summary, node }: LoadedNoun,
  related: readonly (readonly [string, 1 | 7])[],
  version: string,
): string {
  const entries = listCommands([name], node);
  const description = node.kind === 'group' ? node.description : undefined;
  const fallback = node.kind === 'group' ? node.fallback : undefined;
  return joinPage(
    { name: `cloud-${name}`, section: 1, summary: summary.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase()), version },
    [
      ['.SH SYNOPSIS', ...entries.flatMap((entry, at) => [...(at === 0 ? [] : ['.br']), printSynopsis(entry)])],
      section(
        'DESCRIPTION',
        ...(description === undefined ? [] : [printParagraphs(description)]),
        ...(aliases.length === 0 ? [] : [['.PP', `${bold(`cloud ${aliases.join(', ')}`)} is the same.`]]),
        ...(fallback === undefined ? [] : [['.PP', prose(`The default command is \`${fallback}\`.`)]]),
        ['.PP', `For the options of every command, settings, files and exit status, see ${bold('cloud')}(1).`],
      ),
      ['.SH COMMANDS', ...entries.flatMap(printCommand)],
      section('SEE ALSO', references([['cloud', 1], ...related])),
    ],
  );
}
