import type { Block, Guide } from '../guides/guide.ts';
import { bold, entry, joinPage, listing, paragraph, references, section } from './roff.ts';

function printBlock(block: Block): string[] {
  if (typeof block === 'string') return paragraph(block);
  if ('lines' in block) return listing(block.lines);
  return block.terms.flatMap(([term, meaning]) => entry(bold(term), meaning));
}

/** A guide as a page of section 7. */
export function printGuidePage({ page, summary, sections }: Guide, others: readonly Guide[], version: string): string {
  const lines = sections.map(({ title, blocks }) => section(title.toUpperCase(), ...blocks.map(printBlock)));
  const related = others.filter((other) => other.page !== page).map((other) => [other.page, 7] as const);
  return joinPage({ name: page, section: 7, summary, version }, [...lines, section('SEE ALSO', references([['cloud', 1], ...related]))]);
}
