import type { Operation } from '../../api/operation.ts';
import type { At } from './at.ts';

/** Parts of the specification that can be checked apart. */
export const areas = ['storage', 'jobs', 'compute'] as const;
export type Area = (typeof areas)[number];

/** One statement of the specification, and how to find out whether a service keeps to it. */
export interface Check {
  readonly area: Area;
  /** Number and title of the section in its document. */
  readonly section: string;
  /** Names the check within its area: `put-directory`. */
  readonly id: string;
  readonly statement: string;
  /** Operations that the check exercises on purpose. */
  readonly operations: readonly string[];
  /** True when it leaves the account as it is: it runs with --read-only too. */
  readonly reads: boolean;
  /** Returns when the service does what is stated. @throws {Mismatch} and {Skip} */
  readonly run: (at: At) => Promise<unknown> | void;
}

/** A check as the table of a section has it, under its id. */
interface Row {
  readonly states: string;
  readonly operations?: readonly Operation[];
  readonly reads?: true;
  readonly run: Check['run'];
}

/** The table of a section, in its order. */
export type Rows = Readonly<Record<string, Row>>;

/** The checks of one section. */
export function section(area: Area, title: string, rows: Rows): Check[] {
  return Object.entries(rows).map(([id, { states, operations = [], reads = false, run }]) => ({
    area,
    section: title,
    id,
    statement: states,
    operations: operations.map(({ name }) => name),
    reads,
    run,
  }));
}

/** The table of one document, in the order of its sections. */
export type Checks = readonly Check[];
