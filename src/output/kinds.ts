import type { Writer } from './writer.ts';

/** The results of commands. Commands never print: `render` writes these. */

/** A JSON object of a service, with the service's own field names. */
export type Row = object;

/** Rows in memory, or rows that arrive page by page. */
export type Rows = Iterable<Row> | AsyncIterable<Row>;

/** The display of a value in tables and cards; data formats always contain the exact value. */
export type CellKind = 'text' | 'size' | 'time' | 'number' | 'yes' | 'list';

/** Formats a value for display when no kind fits. */
export type CellWriter = (value: unknown) => string;

/** One column of a table, or one line of a card. */
export interface Column<K extends string = string> {
  /** Field of the row; `error.code` is a nested field. */
  readonly key: K;
  /** Heading; derived from the key when absent: `published_at` becomes `PUBLISHED-AT`. */
  readonly title?: string;
  /** Shown only with `--long`. */
  readonly long?: boolean;
  /** Derived from the type of the value when absent. `size`: bytes; `time`: ISO 8601 or epoch milliseconds. */
  readonly as?: CellKind | CellWriter;
}

/** A column, or only its key. */
export type ColumnSpec<K extends string = string> = K | Column<K>;

/** Columns of rows of type `R`: its fields, and fields of these. */
export type ColumnsOf<R> = readonly ColumnSpec<(keyof R & string) | `${keyof R & string}.${string}`>[];

export interface Records {
  readonly kind: 'records';
  readonly rows: Rows;
  readonly columns: readonly ColumnSpec[];
  /** The field that `-o name` prints; never truncated in a table. */
  readonly id: string;
  /** Further fields that rows may have, so that `--columns` accepts a field that none of the rows has. */
  readonly fields?: readonly string[];
  /** Default sort field of tables, if the order of the service is meaningless to users. */
  readonly order?: string;
  /** Sizes keep their units even with `--long`. */
  readonly humanSizes?: boolean;
}

export interface Single extends Pick<Records, 'id' | 'fields'> {
  readonly kind: 'record';
  readonly value: Row;
  /** Fields shown in a card; all fields when absent. */
  readonly columns?: readonly ColumnSpec[];
}

export type Output =
  | Records
  | Single
  /** Text written unchanged: help, shell exports, scripts. */
  | { readonly kind: 'text'; readonly text: string }
  /** Texts written unchanged as they arrive, those of one turn of the event loop together. */
  | { readonly kind: 'texts'; readonly texts: AsyncIterable<string> }
  /** Bytes written unchanged. */
  | { readonly kind: 'bytes'; readonly body: AsyncIterable<Uint8Array> }
  /** @property exitCode exit code of a program that was run; 0 when absent */
  | { readonly kind: 'none'; readonly exitCode?: number };

export function records(rows: Rows, shape: Omit<Records, 'kind' | 'rows'>): Output {
  return { kind: 'records', rows, ...shape };
}

export function record(value: Row, shape: Omit<Single, 'kind' | 'value'>): Output {
  return { kind: 'record', value, ...shape };
}

/** Our own text, written unchanged; a newline is added if missing. */
export function text(text: string): Output {
  return { kind: 'text', text };
}

/** Many short texts of our own, such as lines, written unchanged as they arrive. */
export function texts(each: AsyncIterable<string>): Output {
  return { kind: 'texts', texts: each };
}

/** Bytes of an object, written as they arrive. */
export function bytes(body: AsyncIterable<Uint8Array>): Output {
  return { kind: 'bytes', body };
}

/** No output. */
export const none: Output = { kind: 'none' };

/** The values of `--output`. */
export const formats = ['table', 'json', 'jsonl', 'yaml', 'csv', 'tsv', 'name'] as const;
export type Format = (typeof formats)[number];

/** Output options of the command line. */
export interface RenderOptions {
  readonly format: Format;
  /** `--columns`: fields in the requested order; the output's own columns when absent. */
  readonly columns?: readonly string[] | 'all' | undefined;
  /** `--sort`: fields, the most important first; `-size` is descending. */
  readonly sort?: readonly string[] | undefined;
  /** Tables, cards, CSV and TSV start with headings. */
  readonly header: boolean;
  /** `--long`: more columns, dates instead of ages, and sizes in bytes. */
  readonly long: boolean;
  readonly colour: boolean;
  /** Milliseconds since the epoch, for ages. */
  readonly now: () => number;
  /** `--jq`: filters JSON before it is written. */
  readonly filter?: Filter | undefined;
}

/** `--jq`: filters JSON on the way to a writer. */
export interface Filter {
  /** @param isEach filters record by record, else as a whole */
  readonly filterTo: (writer: Writer, isEach: boolean, isTerminal: boolean) => Writer;
}
