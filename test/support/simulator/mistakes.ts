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

/** The function that puts objects without one of its rules: another function, which is called in its place. */
interface MistakenFunction {
  readonly name: string;
  readonly pattern: RegExp;
  readonly replacement: string;
}

export const mistakenFunctions: readonly MistakenFunction[] = [
  { name: 'put_without_lease', pattern: /if own_lease is not null then/u, replacement: 'if false then' },
  { name: 'put_without_seen', pattern: /if is_bound and/gu, replacement: 'if false and' },
  { name: 'put_without_own', pattern: /for no key update/u, replacement: '' },
  { name: 'put_without_present', pattern: /(name = above_name) for key share/u, replacement: '$1' },
];

/** The definition of a mistaken function. @param definition of `put_object`, as the server tells it */
export function defineMistaken(definition: string, { name, pattern, replacement }: MistakenFunction): string {
  if (!pattern.test(definition)) throw new Error(`put_object has no ${String(pattern)}`);
  return definition.replace('put_object(', `${name}(`).replace(pattern, replacement);
}

/** Calls it. */
function calling(name: MistakenFunction['name']): Required<Mutation> {
  return { rewrite: (sql) => sql.replace('select put_object(', `select ${name}(`) };
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
    rule: 'an object is put by one statement under a lease that is in force',
    shownBy: ['sleepBeforePut'],
    ...calling('put_without_lease'),
  },
  {
    rule: 'an object is put by one statement in the place of the version that was looked up',
    shownBy: ['putReplaced'],
    ...calling('put_without_seen'),
  },
  {
    rule: 'who puts an object by one statement has its entry',
    shownBy: ['putDuringRemoval'],
    ...calling('put_without_own'),
  },
  {
    rule: 'who puts an object by one statement keeps its directory there',
    shownBy: ['putIntoRemoved'],
    ...calling('put_without_present'),
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
