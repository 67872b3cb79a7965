import type { Kysely, Selectable } from 'kysely';
import type { Phase } from '../../api/objects.ts';
import type { JobTaskRow } from '../store/job-schema.ts';
import type { AccountRow, Schema } from '../store/schema.ts';
import { loadParty, type Party } from './party.ts';
import { readPhases } from './phases.ts';
import type { Slots } from './slots.ts';
import type { Zone } from './zone.ts';
import type { Failure, NewObject } from './outcome.ts';

/** An object that a task may read. */
export type Source = Pick<NewObject, 'place' | 'content' | 'size'>;

/** Columns of a claimed task. */
export const claimedColumns = ['number', 'input', 'origin', 'tries', 'adder', 'given', 'attempt', 'lost'] as const;

/** The row of a claimed task. */
export type ClaimedRow = Readonly<Pick<Selectable<JobTaskRow>, (typeof claimedColumns)[number]>>;

/** A task that this engine has claimed. */
export interface Task extends ClaimedRow {
  readonly job: ActiveJob;
  readonly phase: ActivePhase;
  /** The input of a map task. */
  source: Source | undefined;
}

/** A zone, with the number of tasks that were handed to it and have not ended. */
export interface ActiveZone {
  readonly zone: Zone;
  readonly slots: Slots;
  load: number;
  /** Runs while a task runs. */
  timer: NodeJS.Timeout | undefined;
  /** True if the running task takes so long that no other task may wait behind it. */
  isLate: boolean;
}

/** What is kept of a phase while its job runs. Its commands are read for each zone: those of ten thousand jobs would fill the memory. */
type KeptOfPhase = Pick<Phase, 'type' | 'count' | 'disk'>;

/** A phase whose tasks this engine runs. */
export interface ActivePhase extends KeptOfPhase {
  readonly number: number;
  /** Number of the latest task that was claimed; -1 before the first. */
  claimed: number;
  /** Claimed tasks that have not begun. */
  readonly queue: Task[];
  readonly zones: Set<ActiveZone>;
  /** Number of zones being opened; `starting` has those among them whose init runs. */
  opening: number;
  readonly starting: Set<Zone>;
  /** True if the database may have waiting tasks. */
  mayHaveMore: boolean;
  isClaiming: boolean;
  /** Factor by which more tasks are claimed than can begin: none of the latest ones could begin, because their inputs cannot be read. */
  surplus: number;
  /** Duration of the latest task, milliseconds. */
  pace: number;
  /** Number of consecutive zones that failed to start. */
  lostZones: number;
  /** Set when init or an asset failed: the outcome of every task. */
  broken: Failure | undefined;
}

/** A running job, as this engine knows it. */
export interface ActiveJob {
  readonly id: string;
  readonly account: AccountRow;
  /** The clock of the service, milliseconds since the epoch: rules of roles need the time. */
  readonly now: () => number;
  /** The party that created the job: objects are read with its rights. */
  readonly creator: Party;
  readonly phases: readonly ActivePhase[];
  /** Sequence number of the last slot that the job got; 0 if it never got one. */
  served: number;
  /** Tasks whose outcome is not recorded yet. */
  readonly running: Set<Promise<void>>;
  cancelled: boolean;
  /** Aborts the storing of outputs when the job was cancelled or is over, or the service is shutting down. */
  readonly stopping: AbortController;
  /** True while the end of the job is being written. */
  isEnding: boolean;
  /** Why this engine cannot continue the job at present; undefined if it can. */
  problem: string | undefined;
}

function createPhase({ type, count, disk }: KeptOfPhase, number: number): ActivePhase {
  return {
    type,
    count,
    disk,
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

/** Loads a running job; undefined if it is done or its account no longer exists. */
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
    phases: readPhases(row).map(createPhase),
    served: 0,
    running: new Set(),
    stopping: new AbortController(),
    cancelled: false,
    isEnding: false,
    problem: undefined,
  };
}
