import type { Headers } from '../api/message.ts';
import type { Replay } from './recording/replay.ts';
import type { IsolationKind } from './jobs/isolation.ts';
import type { ShownIsolation } from './jobs/shown-isolation.ts';
import type { AccountOptions, LocalAccount } from './seed/local-accounts.ts';
import type { ServiceSettings } from './settings.ts';

/** How the local service is to run; the settings of `cloud local start`. */
export interface LocalOptions extends Omit<ServiceSettings, 'faults'>, AccountOptions {
  /** 0: any free port. */
  readonly computePort: number;
  readonly storPort: number;
  /** Plain HTTP, which then counts as secure. */
  readonly http?: boolean;
  readonly host?: string | undefined;
  readonly datacenter?: string | undefined;
  /** Run jobs although others than this machine can reach the service. */
  readonly allowJobs?: boolean | undefined;
  /** The only way in which tasks of jobs may be kept from the rest of the machine; the strongest that it allows when absent. */
  readonly isolation?: IsolationKind | undefined;
  /** Tasks of jobs at once, and milliseconds that one may take. */
  readonly jobSlots?: number | undefined;
  readonly jobTimeLimit?: number | undefined;
  /** Failures that the services are to have, as `createFaults` reads them. */
  readonly faults?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  readonly log?: (line: string) => void;
  /** Headers added to every reply. */
  readonly headers?: Headers;
  /** What answers in place of the services; closed with them. */
  readonly replay?: Replay | undefined;
}

/** The running local service, and what a client needs to use it. */
export interface LocalService extends LocalAccount, ShownIsolation {
  readonly computeUrl: string;
  readonly storUrl: string;
  /** The accounts that were asked for beside the first one. */
  readonly accounts: readonly LocalAccount[];
  /** Certificate of the authority to trust; undefined for plain HTTP. */
  readonly caFile: string | undefined;
  readonly dataDir: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The isolation that the trial of this start finds; tasks depend on it alone. What is shown before may be that of an earlier start. */
  readonly tried: Promise<ShownIsolation>;
  /** Lets requests finish for up to `patience` milliseconds, then closes the store. */
  close(patience?: number): Promise<void>;
}

/** Of a service that is given none. */
export const defaultDatacenter = 'local';
