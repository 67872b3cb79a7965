import { isRecord } from '../base/is-record.ts';
import { escapeControl } from './escape.ts';
import type { CellKind, CellWriter } from './kinds.ts';
import { formatAge, formatSize } from './units.ts';

/** Options for the display of values. */
export interface CellStyle {
  /** Shows times as ages, else as ISO 8601. */
  readonly ages: boolean;
  /** Shows sizes in bytes, else with units. */
  readonly bytes?: boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Placeholder for missing and empty values, so that the number of cells in a line is constant. */
const emptyCell = '-';

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

/** The name, login or id of an object. */
function findName(value: object): string | undefined {
  const { name, login, id } = value as Record<string, unknown>;
  return [name, login, id].find((each) => typeof each === 'string');
}

function writeItem(value: unknown): string {
  if (typeof value === 'string') return value;
  if (isRecord(value)) return findName(value) ?? JSON.stringify(value);
  return writeNested(value);
}

function writeObject(value: object): string {
  const entries: [string, unknown][] = Object.entries(value);
  if (entries.every(([, each]) => isScalar(each))) return entries.map(([key, each]) => `${key}=${String(each)}`).join(', ');
  return JSON.stringify(value);
}

/** A time as an age, or in UTC to the second: listings have milliseconds that headers lack, and the same time must look the same. */
function writeTime(value: string | number, { ages, now }: CellStyle): string {
  const iso = typeof value === 'string' ? value : writeMoment(value);
  return ages ? formatAge(iso, now()) : iso.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z$/, '$1Z');
}

function writeMoment(milliseconds: number): string {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? String(milliseconds) : date.toISOString();
}

function writeValue(value: unknown, as: CellKind | CellWriter | undefined, style: CellStyle): string {
  if (typeof as === 'function') return value === undefined || value === null ? '' : as(value);
  if (typeof value === 'string') return as === 'time' ? writeTime(value, style) : value;
  if (typeof value === 'number') {
    if (as === 'size') return style.bytes === true ? String(value) : formatSize(value);
    return as === 'time' ? writeTime(value, style) : String(value);
  }
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map(writeItem).join(', ');
  return typeof value === 'object' && value !== null ? writeObject(value) : '';
}

/** Formats a value for display, without escaping control characters. */
export function writeRaw(value: unknown, as: CellKind | CellWriter | undefined, style: CellStyle): string {
  return writeValue(value, as, style) || emptyCell;
}

/** Formats a value for display, on one line, with control characters escaped. */
function writeCell(value: unknown, as: CellKind | CellWriter | undefined, style: CellStyle): string {
  return escapeControl(writeRaw(value, as, style));
}

/** Formats a value for a card: one line, or one line for each item if an item of a list contains commas or spaces. */
export function writeCardLines(value: unknown, as: CellKind | CellWriter | undefined, style: CellStyle): string[] {
  if (!Array.isArray(value) || typeof as === 'function') return [writeCell(value, as, style)];
  const items = value.map((item) => escapeControl(writeItem(item)));
  return items.some((item) => /[\s,]/.test(item)) ? items : [items.join(', ') || emptyCell];
}

/** Formats a value for programs, without loss: text as it is, lists and objects as JSON, missing values as empty text. */
export function writeNested(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
