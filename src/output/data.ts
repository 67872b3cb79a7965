/** Formats for programs: lossless values under the service's own field names. */
import { PartialError } from '../base/errors.ts';
import { writeNested } from './cell.ts';
import { escapeControl, escapeData, escapeYaml, hasControl, quoteName } from './escape.ts';
import { readField } from './field.ts';
import type { Row, Rows } from './kinds.ts';
import type { Writer } from './writer.ts';

/** On a terminal, JSON is indented and control characters are escaped. */
export interface DataStyle {
  readonly terminal: boolean;
}

function writeJson(value: Row, { terminal }: DataStyle): string {
  return terminal ? escapeData(JSON.stringify(value, null, 2)) : JSON.stringify(value);
}

export async function writeJsonRecord(value: Row, style: DataStyle, writer: Writer): Promise<void> {
  await writer.write(`${writeJson(value, style)}\n`);
}

/** Writes one JSON array as the rows arrive. Closes it even if some items failed, but not if rows are missing. */
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

/** Writes one JSON object a line, each as it arrives. */
export async function writeJsonLines(rows: Rows, { terminal }: DataStyle, writer: Writer): Promise<void> {
  for await (const row of rows) {
    const json = JSON.stringify(row);
    await writer.write(`${terminal ? escapeData(json) : json}\n`);
  }
}

/** Writes the value of one field a line, quoted if it contains line ends; skips rows without the field. */
export async function writeNames(rows: Rows, id: string, { terminal }: DataStyle, writer: Writer): Promise<void> {
  for await (const row of rows) {
    const name = writeNested(readField(row, id));
    const line = quoteName(name);
    if (name !== '') await writer.write(`${terminal ? escapeControl(line) : line}\n`);
  }
}

/** True if only double quotes preserve the text: it has control characters, or spaces that a block scalar would lose. */
function needsQuotes(text: string): boolean {
  return hasControl(text.replaceAll('\n', '')) || /^\s|[ \t](?:\n|$)/.test(text);
}

async function createYamlWriter({ terminal }: DataStyle): Promise<(value: object) => string> {
  const { Document, visit, Scalar } = await import('yaml');
  return (value) => {
    const document = new Document(value, { aliasDuplicateObjects: false, compat: 'yaml-1.1' });
    visit(document, {
      Scalar(_, scalar) {
        if (typeof scalar.value === 'string' && needsQuotes(scalar.value)) scalar.type = Scalar.QUOTE_DOUBLE;
      },
    });
    const yaml = document.toString({ lineWidth: 0 });
    return terminal ? escapeYaml(yaml) : yaml;
  };
}

export async function writeYamlRecord(value: Row, style: DataStyle, writer: Writer): Promise<void> {
  const write = await createYamlWriter(style);
  await writer.write(write(value));
}

/** Writes one YAML sequence as the rows arrive. */
export async function writeYamlArray(rows: Rows, style: DataStyle, writer: Writer): Promise<void> {
  const write = await createYamlWriter(style);
  let isEmpty = true;
  for await (const row of rows) {
    await writer.write(write([row]));
    isEmpty = false;
  }
  if (isEmpty) await writer.write('[]\n');
}

/** How a delimited format writes cells and lines. */
interface Dialect {
  readonly separator: string;
  readonly lineEnd: string;
  readonly writeCell: (text: string, terminal: boolean) => string;
}

/** Quotes cells that contain a separator, quote or line end, or spaces at either end; doubles quotes (RFC 4180). */
function quoteCell(text: string, terminal: boolean): string {
  const shown = terminal ? escapeControl(text) : text;
  return /[",\r\n]|^\s|\s$/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}

const tabEscapes: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r', '\\': '\\\\' };

function escapeCell(text: string, terminal: boolean): string {
  const escaped = text.replaceAll(/[\t\n\r\\]/g, (character) => tabEscapes[character] ?? character);
  return terminal ? escapeControl(escaped) : escaped;
}

/** Comma-separated values (RFC 4180), with CR LF as line end. */
export const csv: Dialect = { separator: ',', lineEnd: '\r\n', writeCell: quoteCell };
/** Tab-separated values: `\t`, `\n`, `\r` and `\\` represent tabs, line ends and backslashes in cells. */
export const tsv: Dialect = { separator: '\t', lineEnd: '\n', writeCell: escapeCell };

/** Writes rows as lines of cells, each as it arrives; the header contains the field names. */
export async function writeDelimited(
  rows: Rows,
  keys: readonly string[],
  dialect: Dialect,
  { terminal, header }: DataStyle & { readonly header: boolean },
  writer: Writer,
): Promise<void> {
  function joinLine(cells: readonly string[]): string {
    const line = cells.map((cell) => dialect.writeCell(cell, terminal)).join(dialect.separator);
    // Unquoted, a line of one empty cell would be an empty line.
    return `${line === '' && dialect === csv ? '""' : line}${dialect.lineEnd}`;
  }
  if (header) await writer.write(joinLine(keys));
  for await (const row of rows) await writer.write(joinLine(keys.map((key) => writeNested(readField(row, key)))));
}
