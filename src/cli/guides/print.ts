import { wrap } from '../../output/width.ts';
import type { Block, Guide } from './guide.ts';

const indent = '  ';

function indentText(text: string, width: number, by = indent): string[] {
  return wrap(text.replaceAll('`', ''), width - by.length).map((line) => by + line);
}

function printBlock(block: Block, width: number): string[] {
  if (typeof block === 'string') return [...indentText(block, width), ''];
  if ('lines' in block) return [...block.lines.map((line) => `    ${line}`), ''];
  return [...block.terms.flatMap(([term, meaning]) => [indent + term, ...indentText(meaning, width, '      ')]), ''];
}

/** Formats a guide for the terminal. */
export function printGuide({ summary, sections }: Guide, width: number): string {
  const lines = sections.flatMap(({ title, blocks }) => [title, ...blocks.flatMap((block) => printBlock(block, width))]);
  return `${[...wrap(`${summary}.`, width), '', ...lines].join('\n').trimEnd()}\n`;
}
