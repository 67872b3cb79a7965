import { UsageError } from '../base/errors.ts';
import type { OutputStream } from '../base/world.ts';
import { writeCard } from './card.ts';
import { createPaint } from './colour.ts';
import {
  csv,
  tsv,
  writeDelimited,
  writeJsonArray,
  writeJsonLines,
  writeJsonRecord,
  writeNames,
  writeYamlArray,
  writeYamlRecord,
} from './data.ts';
import { columnOf, pickFields } from './field.ts';
import type { Column, Format, Output, Records, RenderOptions, Row, Rows, Single } from './kinds.ts';
import { collectRows, findFields, listDeclared, listFields, sortRows } from './rows.ts';
import { writeTable, type TableStyle } from './table.ts';
import { createWriter, writeText, type Writer } from './writer.ts';

/** True for formats that contain whole records unless `--columns` is used; the others have columns. */
function hasWholeRecords(format: Format): boolean {
  return format === 'json' || format === 'jsonl' || format === 'yaml';
}

/** Rows, and the columns to write; undefined for whole records. */
interface Selected {
  readonly rows: Rows;
  readonly columns: readonly Column[] | undefined;
}

async function selectColumns(rows: Rows, output: Records | Single, options: RenderOptions): Promise<Selected> {
  const declared = output.columns?.map(columnOf);
  const describe = (key: string): Column => declared?.find((column) => column.key === key) ?? columnOf(key);
  const { columns: wanted, format, long } = options;
  if (format === 'name') return { rows, columns: undefined };
  if (wanted !== undefined && wanted !== 'all') {
    const found = await findFields(wanted, listDeclared(output), rows);
    return { rows: found.rows, columns: found.keys.map(describe) };
  }
  if (hasWholeRecords(format)) return { rows, columns: undefined };
  if (wanted === undefined && declared !== undefined) return { rows, columns: declared.filter((column) => long || column.long !== true) };
  const all = await collectRows(rows);
  const fields = listFields(all);
  const first = (declared ?? []).map(({ key }) => key).filter((key) => all.length === 0 || fields.has(key));
  return { rows: all, columns: [...new Set([...first, ...fields])].map(describe) };
}

async function* pickRows(rows: Rows, keys: readonly string[]): AsyncGenerator<Row> {
  for await (const row of rows) yield pickFields(row, keys);
}

/** The properties of an output that affect formatting. */
type Place = Pick<OutputStream, 'isTerminal' | 'columns'>;

/** The output that a filter reads is formatted for programs. */
const pipe: Place = { isTerminal: false, columns: () => 80 };

async function chooseStyle({ id, ...output }: Records | Single, options: RenderOptions, out: Place): Promise<TableStyle> {
  const { header, long, now, colour } = options;
  const isList = output.kind === 'records';
  const columns = out.isTerminal ? out.columns() : undefined;
  return {
    header,
    now,
    id,
    columns,
    ages: isList && out.isTerminal && !long,
    bytes: isList && long && output.humanSizes !== true,
    paint: await createPaint(colour),
  };
}

/** Writes the formats in which a single record looks like a list of one. */
async function writeRows(selected: Selected, id: string, options: RenderOptions, terminal: boolean, writer: Writer): Promise<void> {
  const { columns = [] } = selected;
  const keys = columns.map(({ key }) => key);
  const rows = selected.columns !== undefined && hasWholeRecords(options.format) ? pickRows(selected.rows, keys) : selected.rows;
  const style = { terminal, header: options.header };
  switch (options.format) {
    case 'json':
      return writeJsonArray(rows, style, writer);
    case 'jsonl':
      return writeJsonLines(rows, style, writer);
    case 'yaml':
      return writeYamlArray(rows, style, writer);
    case 'csv':
      return writeDelimited(rows, keys, csv, style, writer);
    case 'tsv':
      return writeDelimited(rows, keys, tsv, style, writer);
    case 'name':
      return writeNames(rows, id, style, writer);
    case 'table':
      throw new Error('tables are written by writeTable');
  }
}

async function renderRecords(output: Records, options: RenderOptions, out: Place, writer: Writer): Promise<void> {
  const usual = options.format === 'table' && output.order !== undefined ? [output.order] : [];
  const order = options.sort === undefined || options.sort.length === 0 ? usual : options.sort;
  const sorted = order.length === 0 ? output.rows : await sortRows(output.rows, order, listDeclared(output));
  const selected = await selectColumns(sorted, output, options);
  if (options.format !== 'table') return writeRows(selected, output.id, options, out.isTerminal, writer);
  return writeTable(selected.rows, selected.columns ?? [], await chooseStyle(output, options, out), writer);
}

async function renderRecord(output: Single, options: RenderOptions, out: Place, writer: Writer): Promise<void> {
  const selected = await selectColumns([output.value], output, options);
  const style = { terminal: out.isTerminal };
  if (options.format === 'table') {
    return writeCard(output.value, selected.columns ?? [], await chooseStyle(output, options, out), writer);
  }
  if (options.format !== 'json' && options.format !== 'yaml') return writeRows(selected, output.id, options, out.isTerminal, writer);
  const keys = selected.columns?.map(({ key }) => key);
  const value = keys ? pickFields(output.value, keys) : output.value;
  return options.format === 'json' ? writeJsonRecord(value, style, writer) : writeYamlRecord(value, style, writer);
}

async function writeOutput(output: Exclude<Output, { kind: 'none' }>, options: RenderOptions, out: Place, writer: Writer): Promise<void> {
  switch (output.kind) {
    case 'records':
      return renderRecords(output, options, out, writer);
    case 'record':
      return renderRecord(output, options, out, writer);
    case 'text':
      if (options.filter) throw new UsageError('--jq filters JSON, and this command prints text');
      return writeText(output.text, writer);
    case 'texts':
      for await (const each of output.texts) await writer.write(each);
      return undefined;
    case 'bytes':
      for await (const chunk of output.body) await writer.writeBytes(chunk);
      return undefined;
  }
}

/**
 * Writes the result of a command to `out`, as the options request. Rows that arrived before a failure are written before it is thrown.
 * @throws {UsageError} for an unknown field in `--columns` or `--sort`; the stream's own error, {@link ClosedPipe} when its reader has
 * closed it.
 */
export async function render(output: Output, options: RenderOptions, out: OutputStream): Promise<void> {
  if (output.kind === 'none') return;
  const { filter } = options;
  const isEach = options.format === 'jsonl' && output.kind !== 'bytes' && output.kind !== 'texts';
  const writer = filter ? filter.filterTo(createWriter(out), isEach, out.isTerminal) : createWriter(out);
  try {
    await writeOutput(output, options, filter ? pipe : out, writer);
  } catch (error) {
    // Report the failure that ended the work, not errors of closing.
    await writer.close().catch(() => undefined);
    throw error;
  }
  await writer.close();
}
