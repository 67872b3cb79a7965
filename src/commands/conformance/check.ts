import { compute } from '../../api/compute.ts';
import type { Operation, Operations } from '../../api/operation.ts';
import { storage } from '../../api/storage.ts';
import type { At } from './at.ts';

/** Parts of the specification that can be checked separately. */
export const areas = ['storage', 'jobs', 'compute'] as const;
export type Area = (typeof areas)[number];

/** One statement of the specification, and the test whether a service conforms to it. */
export interface Check {
  readonly area: Area;
  /** Number and title of the section in its document. */
  readonly section: string;
  /** Names the check within its area: `put-directory`. */
  readonly id: string;
  readonly statement: string;
  /** Operations that the check exercises on purpose. */
  readonly operations: readonly string[];
  /** True for a check that changes nothing in the account: it also runs with --read-only. */
  readonly reads: boolean;
  /** Returns when the service conforms. @throws {Mismatch} and {Skip} */
  readonly run: (at: At) => Promise<unknown> | void;
}

/** A check in the table of a section, where its id is the key. */
interface Row {
  readonly states: string;
  /** Given where the statement does not name them. */
  readonly operations?: readonly Operation[];
  readonly reads?: true;
  readonly run: Check['run'];
}

/** The table of a section, in the order in which its checks run. */
export type Rows = Readonly<Record<string, Row>>;

const tables: Readonly<Record<Area, Operations>> = { storage, jobs: storage, compute };

/** Names of the operations that a statement names, as `CreateKey`. */
function findOperations(area: Area, statement: string): string[] {
  const words = Array.from(statement.matchAll(/\b[A-Z]\w+/gu), ([word]) => word.charAt(0).toLowerCase() + word.slice(1));
  return [...new Set(words)].filter((word) => Object.hasOwn(tables[area], word));
}

/** The checks of one section. */
export function section(area: Area, title: string, rows: Rows): Check[] {
  return Object.entries(rows).map(([id, { states, operations, reads = false, run }]) => ({
    area,
    section: title,
    id,
    statement: states,
    operations: operations?.map(({ name }) => name) ?? findOperations(area, states),
    reads,
    run,
  }));
}

/** The checks of a section that all change nothing. */
export function readingSection(area: Area, title: string, rows: Rows): Check[] {
  return section(area, title, rows).map((check) => ({ ...check, reads: true }));
}

/** The checks of one document, in the order of its sections. */
export type Checks = readonly Check[];
