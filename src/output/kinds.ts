import type { Writer } from './writer.ts';

/** What a command returns. Commands never print: `render` turns these into text. */

/** A JSON object of a service, with the service's own field names. */
export type Row = object;

/** Rows at hand, or rows that arrive as pages do. */
export type Rows = Iterable<Row> | AsyncIterable<Row>;

/** How a value is written in tables and cards; the data formats always have the exact value. */
export type CellKind = 'text' | 'size' | 'time' | 'number' | 'yes' | 'list';

/** How a value is written that no kind fits. */
export type CellWriter = (value: unknown) => string;

/** One column of a table, or one line of a card. */
export interface Column {
  /** Field of the row; `error.code` is a field of a field. */
  readonly key: string;
  /** Heading; made from the key when absent: `published_at` has `PUBLISHED-AT`. */
  readonly title?: string;
  /** Shown only with `--long`. */
  readonly long?: boolean;
  /** By the value's own type when absent. `size`: bytes; `time`: ISO 8601 or epoch milliseconds. */
  readonly as?: CellKind | CellWriter;
}

/** A column, or just its key. */
export type ColumnSpec = string | Column;

/** A list. */
export interface Records {
  readonly kind: 'records';
  readonly rows: Rows;
  readonly columns: readonly ColumnSpec[];
  /** The field that `-o name` prints; never truncated in a table. */
  readonly id: string;
  /** Fields that a row may have beside the columns, so that `--columns` knows a field that no row happens to have. */
  readonly fields?: readonly string[];
  /** What tables are sorted by without `--sort`, where the order of the service says nothing to people. */
  readonly order?: string;
  /** Sizes keep their units with `--long`, too. */
  readonly humanSizes?: boolean;
}

/** One object. */
export interface Single {
  readonly kind: 'record';
  readonly value: Row;
  /** What a card shows; every field when absent. */
  readonly columns?: readonly ColumnSpec[];
  readonly id: string;
  readonly fields?: readonly string[];
}

export type Output =
  | Records
  | Single
  /** Text as it is: help, shell exports, scripts. */
  | { readonly kind: 'text'; readonly text: string }
  /** Bytes as they are. */
  | { readonly kind: 'bytes'; readonly body: AsyncIterable<Uint8Array> }
  /** @property exitCode that of a program that was run; 0 when absent */
  | { readonly kind: 'none'; readonly exitCode?: number };

/** A list of records, in a table, as JSON, ... */
export function records(rows: Rows, shape: Omit<Records, 'kind' | 'rows'>): Output {
  return { kind: 'records', rows, ...shape };
}

/** One record, as a card, as JSON, ... */
export function record(value: Row, shape: Omit<Single, 'kind' | 'value'>): Output {
  return { kind: 'record', value, ...shape };
}

/** Text of our own, written as it is; a newline is added when it ends without one. */
export function text(text: string): Output {
  return { kind: 'text', text };
}

/** Bytes of an object, written as they come. */
export function bytes(body: AsyncIterable<Uint8Array>): Output {
  return { kind: 'bytes', body };
}

/** Nothing to say. */
export const none: Output = { kind: 'none' };

/** The values of `--output`. */
export const formats = ['table', 'json', 'jsonl', 'yaml', 'csv', 'tsv', 'name'] as const;
export type Format = (typeof formats)[number];

/** What the user asked for, once for the whole command. */
export interface RenderOptions {
  readonly format: Format;
  /** `--columns`: fields in the order wanted; the output's own columns when absent. */
  readonly columns?: readonly string[] | 'all' | undefined;
  /** `--sort`: fields, the most important first; `-size` is descending. */
  readonly sort?: readonly string[] | undefined;
  /** Whether tables, cards, CSV and TSV begin with their headings. */
  readonly header: boolean;
  /** `--long`: more columns, dates instead of ages, and sizes in bytes. */
  readonly long: boolean;
  readonly colour: boolean;
  /** Milliseconds since the epoch, for ages. */
  readonly now: () => number;
  /** `--jq`: JSON goes through it before it is written. */
  readonly filter?: Filter | undefined;
}

/** `--jq`: something that JSON goes through on its way to a writer. */
export interface Filter {
  /** @param isEach record by record; as a whole otherwise */
  readonly filterTo: (writer: Writer, isEach: boolean, isTerminal: boolean) => Writer;
}
