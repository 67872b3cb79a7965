import { writeCell, type CellStyle } from './cell.ts';
import type { Paint } from './colour.ts';
import { readField, titleOf } from './field.ts';
import type { Column, Row, Rows } from './kinds.ts';
import { measure, pad, truncate } from './width.ts';
import type { Writer } from './writer.ts';

/** What a table looks like. */
export interface TableStyle extends CellStyle {
  readonly header: boolean;
  /** Columns of the terminal; undefined where nothing is truncated. */
  readonly columns: number | undefined;
  /** Key of the column that is never truncated. */
  readonly id: string;
  readonly paint: Paint;
}

/** Rows that decide about the widths. The rest is written as it arrives, so that memory stays flat; a wider cell moves its line only. */
const widthRows = 10_000;
const gap = '  ';
/** A truncated column keeps this much. */
const leastWidth = 8;

/** A column with what the rows so far say about it. */
interface Layout {
  readonly column: Column;
  readonly title: string;
  width: number;
  right: boolean;
}

/** Cells of numbers are recognised by the values when the column does not say. */
function isNumeric(column: Column, rows: readonly Row[]): boolean {
  if (column.as !== undefined) return column.as === 'number' || column.as === 'size';
  const values = rows.map((row) => readField(row, column.key)).filter((value) => value !== undefined && value !== null);
  return values.length > 0 && values.every((value) => typeof value === 'number');
}

function layOut(column: Column, index: number, rows: readonly Row[], cells: readonly string[][], header: boolean): Layout {
  const title = column.title ?? titleOf(column.key);
  let width = header ? measure(title) : 0;
  for (const line of cells) width = Math.max(width, measure(line[index] ?? ''));
  return { column, title, width, right: isNumeric(column, rows) };
}

/** Narrows the widest columns of free text until the table fits, or until they are as narrow as makes sense. */
function fitLayouts(layouts: readonly Layout[], id: string, available: number): void {
  const flexible = layouts.filter(({ column, right }) => column.key !== id && !right && column.as !== 'time' && column.as !== 'yes');
  let excess = layouts.reduce((sum, { width }) => sum + width + gap.length, -gap.length) - available;
  while (excess > 0) {
    const [widest, next] = flexible.toSorted((a, b) => b.width - a.width);
    if (widest === undefined || widest.width <= leastWidth) return;
    // Down to the second widest, then both by turns.
    const target = Math.max(leastWidth, widest.width - excess, Math.min(next?.width ?? 0, widest.width - 1));
    excess -= widest.width - target;
    widest.width = target;
  }
}

/** A cell in its column: cut on a terminal, filled with spaces. */
function fitCell(cell: string, { width, right }: Layout, cut: boolean): string {
  const missing = width - measure(cell);
  if (missing < 0) return cut ? pad(truncate(cell, width), width, right) : cell;
  return right ? ' '.repeat(missing) + cell : cell + ' '.repeat(missing);
}

function joinCells(cells: readonly string[], layouts: readonly Layout[], cut: boolean): string {
  let line = '';
  for (const [index, layout] of layouts.entries()) line += (index === 0 ? '' : gap) + fitCell(cells[index] ?? '', layout, cut);
  return line.trimEnd();
}

/** Writes the rows as a borderless table: an upper-case header, columns two spaces apart, numbers to the right, no trailing spaces. */
export async function writeTable(rows: Rows, columns: readonly Column[], style: TableStyle, writer: Writer): Promise<void> {
  const writeCells = (row: Row): string[] => columns.map(({ key, as }) => writeCell(readField(row, key), as, style));
  let early: Row[] | undefined = [];
  let layouts: Layout[] = [];

  async function begin(seen: readonly Row[]): Promise<void> {
    const cells = seen.map(writeCells);
    layouts = columns.map((column, index) => layOut(column, index, seen, cells, style.header));
    if (style.columns !== undefined) fitLayouts(layouts, style.id, style.columns);
    if (style.header)
      await writeLine(
        layouts.map(({ title }) => title),
        style.paint.bold,
      );
    for (const line of cells) await writeLine(line);
  }
  function writeLine(cells: readonly string[], paint = (text: string): string => text): Promise<void> | undefined {
    return writer.write(`${paint(joinCells(cells, layouts, style.columns !== undefined))}\n`);
  }

  try {
    for await (const row of rows) {
      if (early === undefined) {
        await writeLine(writeCells(row));
        continue;
      }
      early.push(row);
      if (early.length < widthRows) continue;
      await begin(early);
      early = undefined;
    }
  } catch (error) {
    // Rows that came before a failure are shown; a header alone would look like an empty list.
    if (early !== undefined && early.length > 0) await begin(early);
    throw error;
  }
  if (early !== undefined) await begin(early);
}
