import type { Place } from '../storage/paths.ts';

/** What tasks make, and how they end. */

/** An object that is to be made of bytes that were stored. */
export interface NewObject {
  readonly place: Place;
  /** Id in the byte store; null for no bytes. */
  readonly content: string | null;
  readonly size: number;
  /** Base64. */
  readonly md5: string;
  /** The bytes where the content is to stand in a row, which is written with the record. */
  readonly row?: Uint8Array | undefined;
}

/** An object that a task named: it is put where it belongs, over what is there, as by a PUT of the job's creator. */
export interface NamedObject extends NewObject {
  /** JSON of the stored headers. */
  readonly headers: string;
  readonly copies: number;
}

/** An output of a task. */
export interface TaskOutput {
  readonly path: string;
  /** 1 when the task named the path, 0 when the service chose it. */
  readonly given: 0 | 1;
  /** Reducer of the next phase that it goes to; undefined for the next one in turn. */
  readonly reducer?: number | undefined;
}

/** All outputs of a task, and the objects that are to be made with their record. */
export interface TaskOutputs {
  readonly outputs: readonly TaskOutput[];
  readonly objects: readonly NewObject[];
  readonly named: readonly NamedObject[];
}

/** Why a task cannot be done: what its error record says. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  /** Name of the zone where that is not the task's own. */
  readonly machine?: string | undefined;
  /** Paths of the objects that hold the standard error and the core file. */
  readonly stderr?: string | undefined;
  readonly core?: string | undefined;
  /** Those of them that are to be made with the record. */
  readonly objects?: readonly NewObject[];
}

/** How a command ended. */
export interface Ending {
  /** Exit code, or 128 and the number of a signal. */
  readonly status: number;
  /** Whether a signal ended it. */
  readonly signalled: boolean;
  /** Milliseconds that it took. */
  readonly duration: number;
  /** Whether a process of it left a core file. */
  readonly dumped: boolean;
  /** Outputs of the tools, in `io/emitted/SLOT`: none, some, or some that cannot be had. */
  readonly emitted: 'none' | 'some' | 'lost';
  /** The limit that ended it, in words. */
  readonly limit?: string | undefined;
}
