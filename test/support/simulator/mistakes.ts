import type { ScenarioName } from './directed-histories.ts';
import type { Mutation } from './storage-history.ts';

/**
 * Mistakes that the simulator must find: each takes one rule of the protocols away, for the time of a simulation, by changing a statement
 * on its way to the server.
 */

/** A rule, and how the product is without it. */
export interface Mistake extends Required<Mutation> {
  readonly rule: string;
  /** The histories for which the rule is there; each of them must find that it is missing. */
  readonly shownBy: readonly ScenarioName[];
}

/** Changes statements. */
function without(pattern: RegExp, replacement: string): Required<Mutation> {
  return { rewrite: (sql) => sql.replace(pattern, replacement) };
}

/** The lock of one row of a table. */
function withoutLock(table: string, columns: readonly [string, string], lock: string): Required<Mutation> {
  const [first, second] = columns;
  return without(new RegExp(`(from "${table}" where "${first}" = \\$1 and "${second}" = \\$2) ${lock}$`, 'u'), '$1');
}

const entryKey = ['parent', 'name'] as const;
const uploadKey = ['id', 'account'] as const;

export const mistakes: readonly Mistake[] = [
  {
    rule: 'a write needs a lease that is in force',
    shownBy: ['sleepBeforeWrite'],
    ...without(/select id from gateways where id = \$1 and until > clock_timestamp\(\) for key share/u, 'select $$1::text as id'),
  },
  {
    rule: 'what began under a lease that has ended does not write under the next',
    shownBy: ['sleepBeforeWrite'],
    rewrite: (sql, process) =>
      sql.replace(/(select id from gateways where) id = \$1( and until)/u, `$1 $$1::text is not null and address = '${process}'$2`),
  },
  {
    rule: 'the lease of a write stays until the write has ended',
    shownBy: ['loseLeaseInWrite'],
    ...without(/(select id from gateways where id = \$1 and until > clock_timestamp\(\)) for key share/u, '$1'),
  },
  {
    rule: 'a gateway tells when the oldest of what runs there began',
    shownBy: ['writeSlowly', 'readSlowly', 'readPartsSlowly'],
    ...without(/(update gateways set .*oldest = )(to_timestamp\(.*\))(\s+where)/su, '$1greatest($2, clock_timestamp())$3'),
  },
  {
    rule: 'what counts is when a note was seen, and not when it was made',
    shownBy: ['readDuringRemoval'],
    ...without(/where seen < cast\(/u, 'where noted < cast('),
  },
  {
    rule: 'what a note tells of is no orphan',
    shownBy: ['readSlowly'],
    ...without(/select bytes from garbage where bytes in/u, 'select bytes from garbage where false and bytes in'),
  },
  {
    rule: 'what a collector removes has no name',
    shownBy: ['writeSlowly'],
    rewrite: (sql, process) =>
      process === 'operator' ? sql.replace('exists (select 1 from entries where content = value)', 'false') : sql,
  },
  {
    rule: 'of those who write an entry one comes after the other',
    shownBy: ['writeSameVersion'],
    ...withoutLock('entries', entryKey, 'for no key update'),
  },
  {
    rule: 'what gets another name stays as it is meanwhile',
    shownBy: ['linkAndRemove'],
    ...withoutLock('entries', entryKey, 'for share'),
  },
  {
    rule: 'who puts something into a directory keeps it there',
    shownBy: ['fillAndRemove'],
    ...withoutLock('entries', entryKey, 'for key share'),
  },
  {
    rule: 'who removes a directory has it alone',
    shownBy: ['fillAndRemove'],
    ...withoutLock('entries', entryKey, 'for update'),
  },
  {
    rule: 'an upload that gets a part stays open meanwhile',
    shownBy: ['addPartToEnded'],
    ...withoutLock('uploads', uploadKey, 'for share'),
  },
  {
    rule: 'who ends an upload has it alone',
    shownBy: ['addPartToEnded', 'commitAndAbort'],
    ...withoutLock('uploads', uploadKey, 'for update'),
  },
  {
    rule: 'an outcome counts for the attempt that the row names',
    shownBy: ['recordLate'],
    ...without(/(update "job_tasks" .*)"attempt" = (\$\d+)/su, '$1$2::bigint is not null'),
  },
  {
    rule: 'a lease of a task is renewed for the attempt that the row names',
    shownBy: ['recordLate'],
    ...without(/(update job_tasks set lease = .*) and attempt = cast\(value ->> 3 as bigint\)/su, '$1'),
  },
  {
    rule: 'a task that is over is recorded no more',
    shownBy: ['recordAgain'],
    ...without(/(update "job_tasks" .* and )"state" = (\$\d+)/su, '$1$2::text is not null'),
  },
  {
    rule: 'of those who record tasks of a job one comes after the other',
    shownBy: ['recordTogether'],
    ...without(/(from "jobs" where "id" = \$1) for update/u, '$1'),
  },
  {
    rule: 'a task that another one takes is not taken',
    shownBy: ['claimSame'],
    ...without(/(select number from job_tasks where .*) for update skip locked/su, '$1'),
  },
  {
    rule: 'of those who count the tasks of an account one comes after the other',
    shownBy: ['claimLimited'],
    ...without(/(select id from accounts where id = \$1) for no key update/u, '$1'),
  },
  {
    rule: 'one process brings a database to the newest version, and others wait',
    shownBy: ['migrateTogether'],
    ...without(/(from "steps" where "number" = \$1) for update/u, '$1'),
  },
];
