import type { Kysely } from 'kysely';
import type { Phase } from '../../api/objects.ts';
import type { Caller } from '../handler.ts';
import type { AccountRow, Schema } from '../store/schema.ts';
import type { Place } from '../storage/paths.ts';
import type { Slots } from './slots.ts';
import type { Source } from './sources.ts';
import type { Zone } from './zone.ts';

/** An object that is to be made of bytes that were stored. */
export interface NewObject {
  readonly place: Place;
  /** Id in the byte store; null for no bytes. */
  readonly content: string | null;
  readonly size: number;
  /** Base64. */
  readonly md5: string;
}

/** Why a task cannot be done: what its error record says. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  /** Paths of the objects that hold the standard error and the core file. */
  readonly stderr?: string | undefined;
  readonly core?: string | undefined;
  /** Those of them that are to be made with the record. */
  readonly objects?: readonly NewObject[];
}

/** A task that this service has claimed. */
export interface Task {
  readonly job: ActiveJob;
  readonly phase: ActivePhase;
  readonly number: number;
  /** Null for a reducer. */
  readonly input: string | null;
  readonly origin: string | null;
  /** Times that the service itself failed it. */
  readonly tries: number;
  /** What a map task reads. */
  source: Source | undefined;
}

/** A zone with the number of tasks that were handed to it and are not over. */
export interface ActiveZone {
  readonly zone: Zone;
  readonly slots: Slots;
  load: number;
}

/** A phase whose tasks this service does. */
export interface ActivePhase extends Phase {
  readonly number: number;
  /** Number of the latest task that was claimed; -1 before the first. */
  claimed: number;
  /** Claimed and not begun. */
  readonly queue: Task[];
  readonly zones: Set<ActiveZone>;
  /** Zones that are being made. */
  opening: number;
  /** Whether the database may have tasks that wait. */
  mayHaveMore: boolean;
  isClaiming: boolean;
  /** Milliseconds of the latest task. */
  pace: number;
  /** Zones in a row that did not come up. */
  lostZones: number;
  /** Set when init or an asset failed: what becomes of every task. */
  broken: Failure | undefined;
}

/** What decides about the rights of a job's creator beside who that is. */
export interface Access {
  /** Roles that the request named; the creator's default ones when it named none. */
  readonly named?: readonly string[] | undefined;
  readonly sourceip: string;
  readonly userAgent?: string | undefined;
}

/** A job that runs, as this service knows it. */
export interface ActiveJob {
  readonly id: string;
  readonly account: AccountRow;
  /** The creator: inputs are read with the creator's rights. */
  readonly caller: Caller;
  readonly access: Access;
  readonly phases: readonly ActivePhase[];
  /** Tasks under way, until their outcome is recorded. */
  readonly running: Set<Promise<void>>;
  cancelled: boolean;
  /** Set when the end of the job is being written. */
  isEnding: boolean;
}

function createPhase(phase: Phase, number: number): ActivePhase {
  return {
    ...phase,
    number,
    claimed: -1,
    queue: [],
    zones: new Set(),
    opening: 0,
    mayHaveMore: true,
    isClaiming: false,
    pace: Infinity,
    lostZones: 0,
    broken: undefined,
  };
}

/** A job that is not done; undefined when it is, or when its account is gone. */
export async function loadJob(db: Kysely<Schema>, id: string): Promise<ActiveJob | undefined> {
  const row = await db.selectFrom('jobs').selectAll().where('id', '=', id).where('state', '=', 'running').executeTakeFirst();
  if (!row) return undefined;
  const account = await db.selectFrom('accounts').selectAll().where('id', '=', row.account).executeTakeFirst();
  if (!account) return undefined;
  const user = row.user === null ? undefined : await db.selectFrom('users').selectAll().where('id', '=', row.user).executeTakeFirst();
  const gone: Caller = { kind: 'anonymous' };
  return {
    id,
    account,
    caller: row.user === null ? { kind: 'account', account } : user ? { kind: 'user', account, user } : gone,
    access: JSON.parse(row.access) as Access,
    phases: (JSON.parse(row.phases) as Phase[]).map(createPhase),
    running: new Set(),
    cancelled: false,
    isEnding: false,
  };
}
