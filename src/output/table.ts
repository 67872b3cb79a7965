import { writeRaw, type CellStyle } from './cell.ts';
import type { Paint } from './colour.ts';
import { escapeControl, isPlain } from './escape.ts';
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
const leastWidth = 6;

/** A column with what the rows so far say about it. */
interface Layout {
  readonly column: Column;
  readonly title: string;
  width: number;
  right: boolean;
}

/** What a cell shows, and the columns that it takes. */
interface Cell {
  readonly text: string;
  readonly width: number;
}

/** Text that is plain is as wide as it is long. */
function makeCell(raw: string): Cell {
  if (isPlain(raw)) return { text: raw, width: raw.length };
  const text = escapeControl(raw);
  return { text, width: measure(text) };
}

/** The width of the same cell, without making it. */
function measureRaw(raw: string): number {
  return isPlain(raw) ? raw.length : makeCell(raw).width;
}

/** A column as wide as its widest cell. Cells of numbers are recognised by the values when the column does not say. */
function layOut(column: Column, rows: readonly Row[], style: TableStyle): Layout {
  const { key, as } = column;
  const title = column.title ?? titleOf(key);
  let [numbers, others] = [0, 0];
  const texts = rows.map((row) => {
    const value = readField(row, key) ?? undefined;
    if (typeof value === 'number') numbers += 1;
    else if (value !== undefined) others += 1;
    return writeRaw(value, as, style);
  });
  // Nearly every column is plain, and a look at all of it takes less than one at each cell.
  const measureText = isPlain(texts.join('')) ? (text: string) => text.length : measureRaw;
  const width = texts.reduce((widest, text) => Math.max(widest, measureText(text)), style.header ? measureRaw(title) : 0);
  return { column, title, width, right: as === undefined ? numbers > 0 && others === 0 : as === 'number' || as === 'size' };
}

/** Columns that people type next: cut after all others. */
const names = new Set(['name', 'login', 'path', 'file', 'line']);

/**
 * Narrows columns of free text until the table fits: the last ones first, names last. A table that cannot fit is left as wide as it is,
 * because cells that are cut in lines that wrap say less than whole ones.
 * @returns whether it fits
 */
function fitLayouts(layouts: readonly Layout[], id: string, available: number): boolean {
  const flexible = layouts.filter(({ column, right }) => column.key !== id && !right && column.as !== 'time' && column.as !== 'yes');
  const least = ({ title }: Layout): number => Math.max(leastWidth, measureRaw(title));
  const order = [
    ...flexible.filter(({ column }) => !names.has(column.key)).toReversed(),
    ...flexible.filter(({ column }) => names.has(column.key)).toReversed(),
  ];
  const spare = order.map((layout) => Math.max(0, layout.width - least(layout)));
  let excess = layouts.reduce((sum, { width }) => sum + width + gap.length, -gap.length) - available;
  if (spare.reduce((sum, each) => sum + each, 0) < excess) return false;
  for (const [at, layout] of order.entries()) {
    const cut = Math.min(Math.max(0, excess), spare[at] ?? 0);
    layout.width -= cut;
    excess -= cut;
  }
  return true;
}

/** Most gaps are short: these are made once. */
const shortBlanks = Array.from({ length: 100 }, (_, count) => ' '.repeat(count));

function blanks(count: number): string {
  return count <= 0 ? '' : (shortBlanks[count] ?? ' '.repeat(count));
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

/**
 * The line of a row whose cells are plain and need not be cut; undefined for any other. Nearly every row is such a one, and a look at the
 * whole line takes less than one at each cell.
 */
function joinPlain(row: Row, layouts: readonly Layout[], style: TableStyle): string | undefined {
  let line = '';
  let missing = 0;
  let total = 0;
  let isWider = false;
  for (const { column, width, right } of layouts) {
    const text = writeRaw(readField(row, column.key), column.as, style);
    const rest = width - text.length;
    line += blanks(right ? missing + rest : missing) + text;
    missing = gap.length + (right ? 0 : Math.max(0, rest));
    total += Math.max(width, text.length) + gap.length;
    isWider ||= rest < 0;
  }
  if (isWider && style.columns !== undefined && total - gap.length > style.columns) return undefined;
  return isPlain(line) ? line.trimEnd() : undefined;
}

/** The line of a row. */
function joinRow(row: Row, layouts: readonly Layout[], style: TableStyle): string {
  const plain = joinPlain(row, layouts, style);
  if (plain !== undefined) return plain;
  const cells = layouts.map(({ column }) => makeCell(writeRaw(readField(row, column.key), column.as, style)));
  return joinCells(cells, layouts, style.columns);
}

/** Writes the rows as a borderless table: an upper-case header, columns two spaces apart, numbers to the right, no trailing spaces. */
export async function writeTable(rows: Rows, columns: readonly Column[], given: TableStyle, writer: Writer): Promise<void> {
  let style = given;
  let early: Row[] | undefined = [];
  let layouts: readonly Layout[] = [];

  async function begin(seen: readonly Row[]): Promise<void> {
    layouts = columns.map((column) => layOut(column, seen, style));
    if (given.columns !== undefined && !fitLayouts(layouts, given.id, given.columns)) style = { ...given, columns: undefined };
    if (style.header) {
      const titles = layouts.map(({ title }) => makeCell(title));
      await writer.write(`${style.paint.bold(joinCells(titles, layouts, style.columns))}\n`);
    }
    for (const row of seen) {
      const full = writer.write(`${joinRow(row, layouts, style)}\n`);
      if (full !== undefined) await full;
    }
  }

  // One turn for each would take longer than its line.
  if (Array.isArray(rows) && rows.length < widthRows) return await begin(rows as readonly Row[]);
  try {
    for await (const row of rows) {
      if (early === undefined) {
        const full = writer.write(`${joinRow(row, layouts, style)}\n`);
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
