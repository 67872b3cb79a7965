import { writeRaw, type CellStyle } from './cell.ts';
import type { Paint } from './colour.ts';
import { escapeControl, isPlain } from './escape.ts';
import { readField, titleOf } from './field.ts';
import type { Column, Row, Rows } from './kinds.ts';
import { measure, truncate } from './width.ts';
import type { Writer } from './writer.ts';

export interface TableStyle extends CellStyle {
  readonly header: boolean;
  /** Width of the terminal in columns; undefined to disable truncation. */
  readonly columns: number | undefined;
  /** Key of the column that is never truncated. */
  readonly id: string;
  readonly paint: Paint;
}

/** Rows that determine the widths. Later rows are written as they arrive, to bound the memory; a wider cell shifts only its own line. */
const widthRows = 10_000;
const gap = '  ';
/** Smallest width of a truncated column. */
const leastWidth = 6;

/** A column with its width and alignment. */
interface Layout {
  readonly column: Column;
  readonly title: string;
  width: number;
  right: boolean;
}

/** The text of a cell, and its width in terminal columns. */
interface Cell {
  readonly text: string;
  readonly width: number;
}

/** Escapes a cell. The width of printable ASCII is its length. */
function makeCell(raw: string): Cell {
  if (isPlain(raw)) return { text: raw, width: raw.length };
  const text = escapeControl(raw);
  return { text, width: measure(text) };
}

/** The width of a cell, without creating it. */
function measureRaw(raw: string): number {
  return isPlain(raw) ? raw.length : makeCell(raw).width;
}

/** Makes a column as wide as its widest cell. Without a declared kind, columns that contain only numbers are right-aligned. */
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
  // Most columns are printable ASCII, and testing the whole column is faster than testing each cell.
  const measureText = isPlain(texts.join('')) ? (text: string) => text.length : measureRaw;
  const width = texts.reduce((widest, text) => Math.max(widest, measureText(text)), style.header ? measureRaw(title) : 0);
  return { column, title, width, right: as === undefined ? numbers > 0 && others === 0 : as === 'number' || as === 'size' };
}

/** Columns with values that users type in the next command: truncated after all others. */
const names = new Set(['name', 'login', 'path', 'file', 'line']);

/**
 * Narrows columns of free text until the table fits: the last ones first, names last. A table that cannot fit keeps its full width, because
 * truncated cells in lines that wrap are less readable than whole ones.
 * @returns true if the table fits
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

/** Most gaps are short, so these strings are created once. */
const shortBlanks = Array.from({ length: 100 }, (_, count) => ' '.repeat(count));

function blanks(count: number): string {
  return count <= 0 ? '' : (shortBlanks[count] ?? ' '.repeat(count));
}

/** True if a line exceeds the terminal unless its cells are truncated; cells of later rows are not truncated if their line has room. */
function isTooWide(cells: readonly Cell[], layouts: readonly Layout[], columns: number): boolean {
  let width = gap.length * (layouts.length - 1);
  for (let index = 0; index < layouts.length; index += 1) width += Math.max(layouts[index]?.width ?? 0, cells[index]?.width ?? 0);
  return width > columns;
}

/** Joins cells to a line without trailing spaces. */
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
 * The line of a row whose cells are printable ASCII and fit; undefined for other rows. Most rows are like this, and testing the whole line
 * is faster than testing each cell.
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

function joinRow(row: Row, layouts: readonly Layout[], style: TableStyle): string {
  const plain = joinPlain(row, layouts, style);
  if (plain !== undefined) return plain;
  const cells = layouts.map(({ column }) => makeCell(writeRaw(readField(row, column.key), column.as, style)));
  return joinCells(cells, layouts, style.columns);
}

/** Writes rows as a borderless table: header in upper case, columns two spaces apart, numbers right-aligned, no trailing spaces. */
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

  // Iterating asynchronously takes longer for each row than writing it.
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
    // Shows the rows that arrived before a failure; a header alone would look like an empty list.
    if (early !== undefined && early.length > 0) await begin(early);
    throw error;
  }
  if (early !== undefined) await begin(early);
}
