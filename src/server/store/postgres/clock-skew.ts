/**
 * The difference between the clock of a process and the database's. Clients date their signed requests, and a gateway refuses dates that
 * are minutes from its own: through a gateway with a wrong clock every request of theirs fails.
 */

/** Milliseconds of difference that are no problem. */
export const mostSkew = 60_000;

/**
 * Milliseconds by which a clock is ahead of the database's, as few as the duration of the query allows.
 * @param database time of the database, milliseconds since 1970
 * @param begun by the clock, before the query
 * @param ended by the clock, after its response
 */
export function measureSkew(database: number, begun: number, ended: number): number {
  if (begun > database) return begun - database;
  return Math.min(0, ended - database);
}

/** Says that a clock is wrong; undefined if it is not. */
export function describeSkew(skew: number): string | undefined {
  if (Math.abs(skew) <= mostSkew) return undefined;
  const seconds = Math.round(Math.abs(skew) / 1000);
  return `the clock of this machine is ${seconds} s ${skew > 0 ? 'ahead of' : 'behind'} the clock of the database`;
}
