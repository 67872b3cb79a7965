import { writeCardLines, type CellStyle } from './cell.ts';
import type { Paint } from './colour.ts';
import { readField, titleOf } from './field.ts';
import type { Column, Row } from './kinds.ts';
import { measure, pad, wrap } from './width.ts';
import type { Writer } from './writer.ts';

export interface CardStyle extends CellStyle {
  readonly header: boolean;
  /** Width of the terminal in columns, at which long values are wrapped; undefined to disable wrapping. */
  readonly columns: number | undefined;
  readonly paint: Paint;
}

type Line = [field: string, value: string];

function listLines(value: Row, columns: readonly Column[], style: CardStyle): Line[] {
  const lines: Line[] = style.header ? [['FIELD', 'VALUE']] : [];
  for (const { key, title, as } of columns) {
    const field = readField(value, key);
    if (field === undefined) continue;
    for (const [index, line] of writeCardLines(field, as, style).entries()) lines.push([index === 0 ? (title ?? titleOf(key)) : '', line]);
  }
  return lines;
}

const gap = 2;
/** Below this width, wrapping by the terminal reads better. */
const leastWidth = 20;
const noBorders = Object.fromEntries(
  ['top', 'bottom', 'left', 'right', 'mid'].flatMap((line) => ['', '-left', '-mid', '-right'].map((end) => [`${line}${end}`, ''])),
);

async function drawCard(lines: readonly Line[], width: number, { columns = 0, header, paint }: CardStyle): Promise<string> {
  const { default: Table } = await import('cli-table3');
  const table = new Table({
    chars: { ...noBorders, middle: ' '.repeat(gap) },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  const available = Math.max(leastWidth, columns - width - gap);
  for (const [index, [field, value]] of lines.entries()) {
    // Wrapped here, because cli-table3 truncates words that are wider than their column, such as keys.
    const wrapped = wrap(value, available);
    table.push(header && index === 0 ? [paint.bold(field), paint.bold(value)] : [field, wrapped.join('\n')]);
  }
  return table.toString();
}

/** Writes one record as `FIELD  VALUE` lines; wraps long values on a terminal. Omits fields that the record lacks. */
export async function writeCard(value: Row, columns: readonly Column[], style: CardStyle, writer: Writer): Promise<void> {
  const lines = listLines(value, columns, style);
  if (lines.length === 0) return;
  const width = lines.reduce((most, [field]) => Math.max(most, measure(field)), 0);
  const text =
    style.columns === undefined
      ? lines.map(([field, value]) => `${pad(field, width + gap)}${value}`).join('\n')
      : await drawCard(lines, width, style);
  await writer.write(`${text.replaceAll(/(?<! ) +$/gm, '')}\n`);
}
