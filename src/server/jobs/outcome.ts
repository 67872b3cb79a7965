import type { Place } from '../storage/paths.ts';

/** Outputs and endings of tasks. */

/** An object that is yet to be created; its bytes are stored already. */
export interface NewObject {
  readonly place: Place;
  /** Id in the byte store; null for an empty object. */
  readonly content: string | null;
  readonly size: number;
  /** Base64. */
  readonly md5: string;
  /** The bytes, if the content is stored in a database row; the row is written with the record. */
  readonly row?: Uint8Array | undefined;
}

/** An object that a task named: it is stored at that path and replaces an existing object, as a PUT by the job's creator would. */
export interface NamedObject extends NewObject {
  /** JSON of the stored headers. */
  readonly headers: string;
  readonly copies: number;
}

/** An output of a task. */
export interface TaskOutput {
  readonly path: string;
  /** 1 if the task named the path, 0 if the service chose it. */
  readonly given: 0 | 1;
  /** Reducer of the next phase that receives the output; if undefined, reducers take turns. */
  readonly reducer?: number | undefined;
}

/** All outputs of a task, and the objects that are created when they are recorded. */
export interface TaskOutputs {
  readonly outputs: readonly TaskOutput[];
  readonly objects: readonly NewObject[];
  readonly named: readonly NamedObject[];
}

/** Why a task failed: the contents of its error record. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  /** Name of the zone if it is not the task's own. */
  readonly machine?: string | undefined;
  /** Paths of the objects that hold stderr and the core file. */
  readonly stderr?: string | undefined;
  readonly core?: string | undefined;
  /** Those of the two objects that are created when the failure is recorded. */
  readonly objects?: readonly NewObject[];
}

/** How a command ended. */
export interface Ending {
  /** Exit code, or 128 plus the number of a signal. */
  readonly status: number;
  /** True if a signal ended the command. */
  readonly signalled: boolean;
  /** Duration in milliseconds. */
  readonly duration: number;
  /** True if a process of the command left a core file. */
  readonly dumped: boolean;
  /** Outputs of the tools, in `io/emitted/SLOT`: none, some, or some that cannot be read. */
  readonly emitted: 'none' | 'some' | 'lost';
  /** The limit that ended the command, as a message. */
  readonly limit?: string | undefined;
}
