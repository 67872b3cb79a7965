import type { Kysely } from 'kysely';
import type { Phase } from '../../api/objects.ts';
import type { AccountRow, Schema } from '../store/schema.ts';
import type { Place } from '../storage/paths.ts';
import { loadParty, type Party } from './party.ts';
import type { Slots } from './slots.ts';
import type { Zone } from './zone.ts';
import type { Failure } from './outcome.ts';

/** An object that a task may read. */
export interface Source {
  readonly place: Place;
  readonly content: string | null;
  readonly size: number;
}

/** A task that this service has claimed. */
export interface Task {
  readonly job: ActiveJob;
  readonly phase: ActivePhase;
  readonly number: number;
  /** Null for a reducer. */
  readonly input: string | null;
  readonly origin: string | null;
  /** Number of who added the input that it comes from; null for the creator of the job. */
  readonly adder: number | null;
  /** 1 when a task of the phase before named the input, 0 when the service wrote it. */
  readonly given: number;
  /** Times that the service itself failed it. */
  readonly tries: number;
  /** Number of the claim, which its outcome is recorded for; 0 where one process does all tasks. */
  readonly attempt: number;
  /** Times that whoever did it was lost. */
  readonly lost: number;
  /** What a map task reads. */
  source: Source | undefined;
}

/** A zone with the number of tasks that were handed to it and are not over. */
export interface ActiveZone {
  readonly zone: Zone;
  readonly slots: Slots;
  load: number;
  /** Runs while a task does. */
  timer: NodeJS.Timeout | undefined;
  /** Whether the task under way takes so long that none is to wait behind it. */
  isLate: boolean;
}

/** A phase whose tasks this service does. */
export interface ActivePhase extends Phase {
  readonly number: number;
  /** Number of the latest task that was claimed; -1 before the first. */
  claimed: number;
  /** Claimed and not begun. */
  readonly queue: Task[];
  readonly zones: Set<ActiveZone>;
  /** Zones that are being made, and those of them whose init runs. */
  opening: number;
  readonly starting: Set<Zone>;
  /** Whether the database may have tasks that wait. */
  mayHaveMore: boolean;
  isClaiming: boolean;
  /** Times as many tasks are claimed as can be begun: of the latest ones none could, as their inputs cannot be read. */
  surplus: number;
  /** Milliseconds of the latest task. */
  pace: number;
  /** Zones in a row that did not come up. */
  lostZones: number;
  /** Set when init or an asset failed: what becomes of every task. */
  broken: Failure | undefined;
}

/** A job that runs, as this service knows it. */
export interface ActiveJob {
  readonly id: string;
  readonly account: AccountRow;
  /** The clock of the service, milliseconds since the epoch: rules of roles ask for it. */
  readonly now: () => number;
  /** Who created it: objects are read with the creator's rights. */
  readonly creator: Party;
  /** Others who added inputs, by their number, as far as they were needed. */
  readonly adders: Map<number, Party>;
  readonly phases: readonly ActivePhase[];
  /** When it got a slot last, as a number that grows with each that is given; 0 for never. */
  served: number;
  /** Tasks under way, until their outcome is recorded. */
  readonly running: Set<Promise<void>>;
  cancelled: boolean;
  /** Set when the end of the job is being written. */
  isEnding: boolean;
  /** What keeps this service from going on with the job, while something does. */
  problem: string | undefined;
}

function createPhase(phase: Phase, number: number): ActivePhase {
  return {
    ...phase,
    number,
    claimed: -1,
    queue: [],
    zones: new Set(),
    opening: 0,
    starting: new Set(),
    mayHaveMore: true,
    isClaiming: false,
    surplus: 1,
    pace: Infinity,
    lostZones: 0,
    broken: undefined,
  };
}

/** A job that is not done; undefined when it is, or when its account is gone. */
export async function loadJob(db: Kysely<Schema>, id: string, now: () => number): Promise<ActiveJob | undefined> {
  const row = await db.selectFrom('jobs').selectAll().where('id', '=', id).where('state', '=', 'running').executeTakeFirst();
  if (!row) return undefined;
  const account = await db.selectFrom('accounts').selectAll().where('id', '=', row.account).executeTakeFirst();
  if (!account) return undefined;
  return {
    id,
    now,
    account,
    creator: await loadParty(db, { account: row.creator ?? row.account, user: row.user, access: row.access }),
    adders: new Map(),
    phases: (JSON.parse(row.phases) as Phase[]).map(createPhase),
    served: 0,
    running: new Set(),
    cancelled: false,
    isEnding: false,
    problem: undefined,
  };
}
