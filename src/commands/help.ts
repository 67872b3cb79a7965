import { build } from '../base/build.ts';
import { command, type AnyCommand, type GlobalValues, type Group } from '../cli/command.ts';
import { globalOptions, outputOptions, settingOptions } from '../cli/globals.ts';
import { helpTopics, tableTopics, topics } from '../cli/guides/index.ts';
import { printGuide } from '../cli/guides/print.ts';
import { printCommandHelp, printGroupHelp, printOptionTopic, printRootHelp, printUsage } from '../cli/help.ts';
import { optionTopics, some, type Option, type Options, type OptionTopic } from '../cli/parameters.ts';
import { kebab } from '../config/settings.ts';
import { findCommand, findNoun, loadNouns, type Found } from '../cli/tree.ts';
import { withFirstHint } from '../base/error-copies.ts';
import { UsageError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import { record, text, type Output, type Row } from '../output/kinds.ts';
import { wrap } from '../output/width.ts';
import { nouns } from './index.ts';

const topicNames = [...helpTopics.keys()];
const topicList = topicNames.join(', ');

/** The options of a topic, each as declared by the first command that has it. */
function findTopicOptions(nodes: readonly (AnyCommand | Group)[], topic: string): Options {
  const found: Record<string, Option> = {};
  for (const node of nodes) {
    const options = node.kind === 'group' ? findTopicOptions(Object.values(node.commands), topic) : node.options;
    for (const [name, option] of Object.entries(options)) if (option.topic === topic) found[name] ??= option;
  }
  return found;
}

async function printTableTopic(topic: string, width: number): Promise<string> {
  if (topic === 'options') {
    const lines = [
      ...printOptionTopic('Output options', outputOptions(), width),
      '',
      ...printOptionTopic('Connection options', settingOptions(), width),
      '',
      'Help for any command: --help, or -h unless the command uses -h itself (stor ls, du)',
    ];
    return `${lines.join('\n')}\n`;
  }
  const nodes = (await loadNouns(nouns)).map(({ node }) => node);
  const title = optionTopics[topic as OptionTopic];
  return `${printOptionTopic(title, findTopicOptions(nodes, topic), width).join('\n')}\n`;
}

function describeOptions(options: Options): Row[] {
  return Object.entries(options).map(([name, { kind, help, short, placeholder, choices, topic }]) => ({
    name: `--${kebab(name)}`,
    ...(short !== undefined && { short: `-${short}` }),
    kind,
    ...(placeholder !== undefined && { placeholder }),
    ...(choices !== undefined && { choices: [...choices] }),
    ...(topic !== undefined && { topic }),
    help,
  }));
}

function describeNode(path: readonly string[], node: AnyCommand | Group): Row[] {
  if (node.kind === 'group') return Object.entries(node.commands).flatMap(([name, child]) => describeNode([...path, name], child));
  return [
    {
      command: path.join(' '),
      summary: node.summary,
      usage: printUsage(path, node),
      aliases: [...(node.aliases ?? [])],
      description: node.description,
      arguments: Object.entries(node.arguments).map(([name, { help, optional, variadic, choices }]) => ({
        name: kebab(name).toUpperCase(),
        help,
        optional,
        variadic,
        ...(choices !== undefined && { choices: [...choices] }),
      })),
      options: describeOptions(node.options),
      examples: node.examples.map(({ line, help }) => ({ line, help })),
    },
  ];
}

/** The whole tree of commands as data for programs. */
async function describeTree(): Promise<Output> {
  const commands = (await loadNouns(nouns)).flatMap(({ name, node }) => describeNode([name], node));
  return record({ version: build.version, globalOptions: describeOptions(globalOptions()), commands }, { id: 'version' });
}

/** @throws {UsageError} for a word that is closer to a topic than to any noun */
function refuseNearTopic(word: string): void {
  const near = nearest(word, [...topicNames, ...nouns.map(({ name }) => name)]);
  if (near !== undefined && topicNames.includes(near)) throw new UsageError(`"${word}" is not a topic`, { hint: `cloud help ${near}` });
}

/** Finds a command; the hint of the error for an unknown one is a line of `cloud help`. */
async function findHelped(words: readonly string[]): Promise<Found> {
  try {
    return await findCommand(nouns, words);
  } catch (error) {
    if (!(error instanceof UsageError) || error.hint === undefined) throw error;
    throw withFirstHint(error, error.hint.replace(/^cloud (?!.*--help$)/, 'cloud help '));
  }
}

function printNode(path: readonly string[], node: AnyCommand | Group, width: number): string {
  return node.kind === 'group' ? printGroupHelp(path, node, width) : printCommandHelp(path, node, width);
}

/** The command line of an alias, and the help of its command; undefined if there is no such alias. */
async function printAlias(name: string, config: string, width: number): Promise<string | undefined> {
  const { openAliases, splitWords } = await import('../config/aliases.ts');
  const line = openAliases(config).list().get(name);
  if (line === undefined) return undefined;
  const { node, path } = await findCommand(nouns, splitWords(line));
  return `cloud ${name} is an alias for: cloud ${line}\n${node === undefined ? '' : `\n${printNode(path, node, width)}`}`;
}

function wantsData({ json, output }: GlobalValues): boolean {
  return json || (output !== undefined && output !== 'table');
}

export const help = command({
  summary: 'Show the help of a command or of a topic',
  description: `Topics: ${topicList}. The manual has more: man cloud, man cloud-images, man cloud-signing.`,
  usage: '[COMMAND...|TOPIC]',
  arguments: { command: some('Command or topic', { values: 'command' }) },
  run: async ({ args, world, global, paths }) => {
    const width = Math.min(100, world.stdout.columns());
    const [word = ''] = args.command;
    if (args.command.length === 0 && wantsData(global)) return await describeTree();
    const isNoun = findNoun(nouns, word) !== undefined;
    const topic = isNoun ? undefined : topics.find(({ topic, page }) => topic === word || (page === word && page !== 'cloud'));
    if (Object.hasOwn(tableTopics, word)) return text(await printTableTopic(word, width));
    if (topic) return text(printGuide(topic, width));
    const alias = isNoun || word === '' ? undefined : await printAlias(word, paths.config, width);
    if (alias !== undefined) return text(alias);
    if (!isNoun) refuseNearTopic(word);
    const { node, path } = await findHelped(args.command);
    if (node === undefined) return text(`${printRootHelp(nouns, width)}${wrap(`Topics: cloud help ${topicList}`, width).join('\n')}\n`);
    return text(printNode(path, node, width));
  },
  examples: [
    { line: 'cloud help stor put', help: 'One command' },
    { line: 'cloud help exit-codes', help: 'A topic' },
    { line: 'cloud help options', help: 'The options of every command' },
    { line: 'cloud help -j', help: 'All commands with their options, for programs' },
  ],
});
