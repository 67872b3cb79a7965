import { command } from '../cli/command.ts';
import { topics } from '../cli/guides/index.ts';
import { printGuide } from '../cli/guides/print.ts';
import { printCommandHelp, printGroupHelp, printRootHelp } from '../cli/help.ts';
import { some } from '../cli/parameters.ts';
import { findCommand, findNoun } from '../cli/tree.ts';
import { UsageError } from '../errors.ts';
import { nearest } from '../nearest.ts';
import { text } from '../output/kinds.ts';
import { wrap } from '../output/width.ts';
import { nouns } from './index.ts';

const topicList = topics.map(({ topic }) => topic).join(', ');

/** @throws {UsageError} for a word that is nearer to a topic than to any noun */
function refuseNearTopic(word: string): void {
  const near = nearest(word, [...topics.map(({ topic }) => topic), ...nouns.map(({ name }) => name)]);
  if (topics.some(({ topic }) => topic === near)) throw new UsageError(`"${word}" is no topic`, { hint: `cloud help ${near ?? ''}` });
}

export const help = command({
  summary: 'Show the help of a command or of a topic',
  description: `Topics: ${topicList}. The same and more is in the manual: man cloud, man cloud-images, man cloud-signing.`,
  usage: '[COMMAND...|TOPIC]',
  arguments: { command: some('Words of the command, or a topic', { values: 'command' }) },
  run: async ({ args, world }) => {
    const width = Math.min(100, world.stdout.columns());
    const [word = ''] = args.command;
    const isNoun = findNoun(nouns, word) !== undefined;
    const topic = isNoun ? undefined : topics.find(({ topic, page }) => topic === word || (page === word && page !== 'cloud'));
    if (topic) return text(printGuide(topic, width));
    if (!isNoun) refuseNearTopic(word);
    const { node, path } = await findCommand(nouns, args.command);
    if (node === undefined) return text(`${printRootHelp(nouns, width)}${wrap(`Topics: cloud help ${topicList}`, width).join('\n')}\n`);
    return text(node.kind === 'group' ? printGroupHelp(path, node, width) : printCommandHelp(path, node, width));
  },
  examples: [
    { line: 'cloud help stor put', help: 'One command' },
    { line: 'cloud help exit-codes', help: 'A topic' },
    { line: 'cloud help policy-language', help: 'A guide' },
  ],
});
