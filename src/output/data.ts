/** The formats for programs: exact values under the service's own names. */
import { PartialError } from '../base/errors.ts';
import { writeNested } from './cell.ts';
import { escapeControl, escapeData, escapeYaml, hasControl, quoteName } from './escape.ts';
import { readField } from './field.ts';
import type { Row, Rows } from './kinds.ts';
import type { Writer } from './writer.ts';

/** Where the data goes: a terminal gets JSON spread over lines, and no control characters. */
export interface DataStyle {
  readonly terminal: boolean;
}

function writeJson(value: Row, { terminal }: DataStyle): string {
  return terminal ? escapeData(JSON.stringify(value, null, 2)) : JSON.stringify(value);
}

/** One JSON object. */
export async function writeJsonRecord(value: Row, style: DataStyle, writer: Writer): Promise<void> {
  await writer.write(`${writeJson(value, style)}\n`);
}

/** One JSON array, written as the rows arrive. It is closed also when some items failed, but not when rows are missing. */
export async function writeJsonArray(rows: Rows, style: DataStyle, writer: Writer): Promise<void> {
  const [separator, end] = style.terminal ? [',\n  ', '\n]\n'] : [',', ']\n'];
  let before = style.terminal ? '[\n  ' : '[';
  let isEmpty = true;
  try {
    for await (const row of rows) {
      const json = writeJson(row, style);
      await writer.write(before + (style.terminal ? json.replaceAll('\n', '\n  ') : json));
      before = separator;
      isEmpty = false;
    }
  } catch (error) {
    if (error instanceof PartialError) await writer.write(isEmpty ? '[]\n' : end);
    throw error;
  }
  await writer.write(isEmpty ? '[]\n' : end);
}

/** One JSON object a line, each written when it arrives. */
export async function writeJsonLines(rows: Rows, { terminal }: DataStyle, writer: Writer): Promise<void> {
  for await (const row of rows) {
    const json = JSON.stringify(row);
    await writer.write(`${terminal ? escapeData(json) : json}\n`);
  }
}

/** The value of one field a line, quoted where it would be two; rows without it are left out. */
export async function writeNames(rows: Rows, id: string, { terminal }: DataStyle, writer: Writer): Promise<void> {
  for await (const row of rows) {
    const name = writeNested(readField(row, id));
    const line = quoteName(name);
    if (name !== '') await writer.write(`${terminal ? escapeControl(line) : line}\n`);
  }
}

/** Whether only double quotes carry the text unchanged: control characters, and spaces where a block of lines would lose them. */
function needsQuotes(text: string): boolean {
  return hasControl(text.replaceAll('\n', '')) || /^\s|[ \t](?:\n|$)/.test(text);
}

async function createYamlWriter({ terminal }: DataStyle): Promise<(value: object) => string> {
  const { Document, visit, Scalar } = await import('yaml');
  return (value) => {
    const document = new Document(value, { aliasDuplicateObjects: false });
    visit(document, {
      Scalar(_, scalar) {
        if (typeof scalar.value === 'string' && needsQuotes(scalar.value)) scalar.type = Scalar.QUOTE_DOUBLE;
      },
    });
    const yaml = document.toString({ lineWidth: 0 });
    return terminal ? escapeYaml(yaml) : yaml;
  };
}

/** One YAML mapping. */
export async function writeYamlRecord(value: Row, style: DataStyle, writer: Writer): Promise<void> {
  const write = await createYamlWriter(style);
  await writer.write(write(value));
}

/** One YAML sequence, written as the rows arrive. */
export async function writeYamlArray(rows: Rows, style: DataStyle, writer: Writer): Promise<void> {
  const write = await createYamlWriter(style);
  let isEmpty = true;
  for await (const row of rows) {
    await writer.write(write([row]));
    isEmpty = false;
  }
  if (isEmpty) await writer.write('[]\n');
}

/** How a format of cells and lines writes them. */
interface Dialect {
  readonly separator: string;
  readonly lineEnd: string;
  readonly writeCell: (text: string, terminal: boolean) => string;
}

/** Cells with a separator, quote or line end, or with spaces at an end, are quoted; quotes are doubled (RFC 4180). */
function quoteCell(text: string, terminal: boolean): string {
  const shown = terminal ? escapeControl(text) : text;
  return /[",\r\n]|^\s|\s$/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}

const tabEscapes: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r', '\\': '\\\\' };

function escapeCell(text: string, terminal: boolean): string {
  const escaped = text.replaceAll(/[\t\n\r\\]/g, (character) => tabEscapes[character] ?? character);
  return terminal ? escapeControl(escaped) : escaped;
}

/** Comma-separated values as RFC 4180 has them, line ends of CR LF included. */
export const csv: Dialect = { separator: ',', lineEnd: '\r\n', writeCell: quoteCell };
/** Tab-separated values: `\t`, `\n`, `\r` and `\\` stand for tabs, line ends and backslashes in cells. */
export const tsv: Dialect = { separator: '\t', lineEnd: '\n', writeCell: escapeCell };

/** Rows as lines of cells, each written when it arrives; the header has the names of the fields. */
export async function writeDelimited(
  rows: Rows,
  keys: readonly string[],
  dialect: Dialect,
  { terminal, header }: DataStyle & { readonly header: boolean },
  writer: Writer,
): Promise<void> {
  function joinLine(cells: readonly string[]): string {
    const line = cells.map((cell) => dialect.writeCell(cell, terminal)).join(dialect.separator);
    // A line of one empty cell would look like no line at all.
    return `${line === '' && dialect === csv ? '""' : line}${dialect.lineEnd}`;
  }
  if (header) await writer.write(joinLine(keys));
  for await (const row of rows) await writer.write(joinLine(keys.map((key) => writeNested(readField(row, key)))));
}
