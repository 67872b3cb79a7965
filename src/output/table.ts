import { writeCell, type CellStyle } from './cell.ts';
import type { Paint } from './colour.ts';
import { readField, titleOf } from './field.ts';
import type { Column, Row, Rows } from './kinds.ts';
import { measure, truncate } from './width.ts';
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

/** What a cell shows, and the columns that it takes: measuring costs most of a table, so it is done once. */
interface Cell {
  text: string;
  width: number;
}

/** Cells of numbers are recognised by the values when the column does not say. */
function isNumeric(column: Column, rows: readonly Row[]): boolean {
  if (column.as !== undefined) return column.as === 'number' || column.as === 'size';
  let found = false;
  for (const row of rows) {
    const value = readField(row, column.key) ?? undefined;
    if (value !== undefined && typeof value !== 'number') return false;
    found ||= value !== undefined;
  }
  return found;
}

function layOut(column: Column, index: number, rows: readonly Row[], cells: readonly Cell[][], header: boolean): Layout {
  const title = column.title ?? titleOf(column.key);
  let width = header ? measure(title) : 0;
  for (const line of cells) width = Math.max(width, line[index]?.width ?? 0);
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

function blanks(count: number): string {
  return count <= 0 ? '' : ' '.repeat(count);
}

/** Whether a line is wider than the terminal unless its cells are cut; one of a later row that has room is not cut. */
function isTooWide(cells: readonly Cell[], layouts: readonly Layout[], columns: number): boolean {
  let width = gap.length * (layouts.length - 1);
  for (let index = 0; index < layouts.length; index += 1) width += Math.max(layouts[index]?.width ?? 0, cells[index]?.width ?? 0);
  return width > columns;
}

/** Cells in their columns, without spaces at the end. */
function joinCells(cells: readonly Cell[], layouts: readonly Layout[], columns: number | undefined): string {
  const cuts = columns !== undefined && isTooWide(cells, layouts, columns);
  let line = '';
  let missing = 0;
  for (let index = 0; index < layouts.length; index += 1) {
    const [cell, layout] = [cells[index], layouts[index]];
    if (cell === undefined || layout === undefined) continue;
    const isCut = cuts && cell.width > layout.width;
    const text = isCut ? truncate(cell.text, layout.width) : cell.text;
    const rest = layout.width - (isCut ? measure(text) : cell.width);
    line += blanks(layout.right ? missing + rest : missing) + text;
    missing = gap.length + (layout.right ? 0 : Math.max(0, rest));
  }
  return line.trimEnd();
}

/** Writes the rows as a borderless table: an upper-case header, columns two spaces apart, numbers to the right, no trailing spaces. */
export async function writeTable(rows: Rows, columns: readonly Column[], style: TableStyle, writer: Writer): Promise<void> {
  const measureCell = (text: string): Cell => ({ text, width: measure(text) });
  const makeCells = (): Cell[] => columns.map(() => ({ text: '', width: 0 }));
  /** Makes the cells of a row in the place of others. */
  function fillCells(cells: Cell[], row: Row): Cell[] {
    for (let index = 0; index < columns.length; index += 1) {
      const [cell, column] = [cells[index], columns[index]];
      if (cell === undefined || column === undefined) continue;
      cell.text = writeCell(readField(row, column.key), column.as, style);
      cell.width = measure(cell.text);
    }
    return cells;
  }
  const late = makeCells();
  let early: Row[] | undefined = [];
  let layouts: Layout[] = [];

  async function begin(seen: readonly Row[]): Promise<void> {
    const cells = seen.map((row) => fillCells(makeCells(), row));
    layouts = columns.map((column, index) => layOut(column, index, seen, cells, style.header));
    if (style.columns !== undefined) fitLayouts(layouts, style.id, style.columns);
    if (style.header)
      await writeLine(
        layouts.map(({ title }) => measureCell(title)),
        style.paint.bold,
      );
    for (const line of cells) {
      const full = writeLine(line);
      if (full !== undefined) await full;
    }
  }
  function writeLine(cells: readonly Cell[], paint = (text: string): string => text): Promise<void> | undefined {
    return writer.write(`${paint(joinCells(cells, layouts, style.columns))}\n`);
  }

  try {
    for await (const row of rows) {
      if (early === undefined) {
        const full = writeLine(fillCells(late, row));
        if (full !== undefined) await full;
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
