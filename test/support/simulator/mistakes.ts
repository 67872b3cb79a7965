import type { Mutation, Work } from './storage-history.ts';

/**
 * Mistakes that the simulator must find: each takes one rule of the protocols away, for the time of a simulation, by changing a statement
 * on its way to the server.
 */

/** A rule, and how the product is without it. */
export interface Mistake extends Mutation {
  readonly rule: string;
  readonly work: Work;
  /** A seed by which it is found. */
  readonly seed: number;
}

/** Changes statements. */
function without(pattern: RegExp, replacement: string): Pick<Mutation, 'rewrite'> {
  return { rewrite: (sql) => sql.replace(pattern, replacement) };
}

export const mistakes: readonly Mistake[] = [
  {
    rule: 'who puts something into a directory keeps it there',
    work: 'directories',
    seed: 1,
    ...without(/(from "entries" where "parent" = \$1 and "name" = \$2) for key share/u, '$1'),
  },
  {
    rule: 'who removes a directory has it alone',
    work: 'directories',
    seed: 1,
    ...without(/(from "entries" where "parent" = \$1 and "name" = \$2) for update/u, '$1'),
  },
];
