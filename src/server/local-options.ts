import type { Headers } from '../api/message.ts';
import type { Replay } from './recording/replay.ts';
import type { IsolationKind } from '../api/isolation.ts';
import type { ShownIsolation } from './jobs/shown-isolation.ts';
import type { AccountOptions, LocalAccount } from './seed/local-accounts.ts';
import type { ServiceSettings } from './settings.ts';

/** Options of the local service; the settings of `cloud local start`. */
export interface LocalOptions extends Omit<ServiceSettings, 'faults'>, AccountOptions {
  /** 0 selects any free port. */
  readonly computePort: number;
  readonly storPort: number;
  /** Plain HTTP, which then counts as secure. */
  readonly http?: boolean;
  readonly host?: string | undefined;
  readonly datacenter?: string | undefined;
  /** Run jobs although other machines can reach the service. */
  readonly allowJobs?: boolean | undefined;
  /** The required kind of isolation of tasks; when absent, the strongest kind that the machine supports. */
  readonly isolation?: IsolationKind | undefined;
  /** Number of concurrent tasks of jobs, and the time limit of a task in milliseconds. */
  readonly jobSlots?: number | undefined;
  readonly jobTimeLimit?: number | undefined;
  /** Fault rules, in the format of `createFaults`. */
  readonly faults?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  readonly log?: (line: string) => void;
  /** Headers added to every response; see `createGate`. */
  readonly headers?: Headers;
  /** A recording that is served in place of the services; closed with them. */
  readonly replay?: Replay | undefined;
}

/** The running local service, and what a client needs to use it. */
export interface LocalService extends LocalAccount, ShownIsolation {
  readonly computeUrl: string;
  readonly storUrl: string;
  /** Additional accounts that the options request. */
  readonly accounts: readonly LocalAccount[];
  /** Certificate of the authority to trust; undefined for plain HTTP. */
  readonly caFile: string | undefined;
  readonly dataDir: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The isolation that this start detects, which alone applies to tasks. The one shown until then may be that of an earlier start. */
  readonly tried: Promise<ShownIsolation>;
  /** Lets requests finish for up to `graceMs`, then closes the store. */
  close(graceMs?: number): Promise<void>;
}

/** Default name of the datacenter. */
export const defaultDatacenter = 'local';
