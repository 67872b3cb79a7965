/** Arguments and options of commands as data. The types of the values that a command receives are derived from them. */

/** Sources of values that need no request: words of a command, files, folders, profiles. */
export type LocalSource = 'command' | 'file' | 'directory' | 'profile';

/** Sources of values for completion: those that the shell itself completes, and those that `cloud __complete` looks up. */
export type ValueSource =
  | LocalSource
  | 'key'
  /** A key of the sub-user that the previous argument names. */
  | 'user-key'
  | 'user'
  | 'role'
  /** Roles separated by commas. */
  | 'role-list'
  | 'policy'
  /** A rule of a policy: completes its actions. */
  | 'rule'
  | 'action'
  | 'image'
  | 'package'
  | 'datacenter'
  | 'service'
  | 'job'
  /** A multipart upload. */
  | 'upload'
  /** Interrupted work. */
  | 'unfinished'
  | 'alias'
  /** Fields of the command's result, separated by commas. */
  | 'field-list'
  /** A snapshot of the services of this machine. */
  | 'snapshot'
  /** The failure of a fault, for the operation that the previous argument names. */
  | 'failure'
  /** A path in the object storage. */
  | 'path'
  /** Files, and paths in the object storage. */
  | 'file-or-path'
  /** A resource that can have role tags. */
  | 'resource'
  /** Methods and paths of requests. */
  | 'api';

/** An argument; its name in the declaration is its placeholder in help. */
export interface Argument<T = unknown> {
  readonly help: string;
  readonly optional: boolean;
  readonly variadic: boolean;
  readonly values?: ValueSource;
  readonly choices?: readonly string[];
  readonly _type?: T;
}

/** A function that declares arguments of one kind. */
const argument =
  <T>(optional: boolean, variadic: boolean) =>
  (help: string, extras: Pick<Argument, 'values' | 'choices'> = {}): Argument<T> => ({ help, optional, variadic, ...extras });

export const one = argument<string>(false, false);
export const maybe = argument<string | undefined>(true, false);
/** One or more. */
export const many = argument<string[]>(false, true);
/** None or more. */
export const some = argument<string[]>(true, true);

export type OptionKind = 'flag' | 'negatable' | 'text' | 'list' | 'number' | 'size' | 'duration' | 'count';

/** Groups of options that several commands share. */
export const optionTopics = {
  transfer: 'Transfer options',
  compare: 'Comparison options',
  filters: 'Filter options',
  names: 'Name options',
  engines: 'Options of database and contents',
  tasks: 'Options of tasks of jobs',
} as const;
export type OptionTopic = keyof typeof optionTopics;

/** An option; its name in the declaration, in kebab case, is its long form. */
export interface Option<T = unknown> {
  readonly kind: OptionKind;
  readonly help: string;
  /** One letter. */
  readonly short?: string;
  readonly placeholder?: string;
  readonly choices?: readonly string[];
  readonly values?: ValueSource;
  /** Smallest and largest number. */
  readonly range?: readonly [number, number];
  /** For durations that are usually days: a number without a unit, which would be seconds, is refused. */
  readonly needsUnit?: boolean;
  /** An empty value has a meaning: it clears a field, or is what a filter looks for. Others refuse it: probably an unset variable. */
  readonly mayBeEmpty?: true;
  /** For options that several commands share: help names the topic, `cloud help TOPIC` and the manual show the option. */
  readonly topic?: OptionTopic;
  /** Repeatable; each value comes with its position among the values of all such options. */
  readonly inOrder?: true;
  readonly _type?: T;
}

type OptionExtras = Pick<Option, 'short' | 'placeholder' | 'values' | 'range' | 'needsUnit' | 'mayBeEmpty'>;

/** A function that declares options of one kind. */
const option =
  <T>(kind: OptionKind, placeholder?: string) =>
  (help: string, extras: OptionExtras = {}): Option<T> => ({ kind, help, ...(placeholder !== undefined && { placeholder }), ...extras });

/** An option without a value. */
export const flag = option<boolean>('flag');
/** `--name` and `--no-name`; undefined when neither is given. */
export const negatable = option<boolean | undefined>('negatable');
/** A flag that counts how often it is given. */
export const count = option<number>('count');
export const text = option<string | undefined>('text', 'TEXT');
/** An option whose value is a file of this machine. */
export const filePath = (help: string): Option<string | undefined> => text(help, { placeholder: 'FILE', values: 'file' });
/** An option whose value is a directory of this machine. */
export const folderPath = (help: string): Option<string | undefined> => text(help, { placeholder: 'DIR', values: 'directory' });
export const choice = <const C extends readonly string[]>(
  help: string,
  choices: C,
  extras: OptionExtras = {},
): Option<C[number] | undefined> => ({
  kind: 'text',
  help,
  choices,
  placeholder: choices.join('|'),
  ...extras,
});
/** A repeatable option. */
export const texts = option<string[]>('list', 'TEXT');
export const number = option<number | undefined>('number', 'N');
/** Bytes: `512`, `64M`, `1.5GiB`. */
export const size = option<number | undefined>('size', 'SIZE');
/** Milliseconds: `250ms`, `45s`, `1h30m`. */
export const duration = option<number | undefined>('duration', 'DURATION');

/** A value and its position on the command line among the values of all options with `inOrder`. */
export interface Placed<T> {
  readonly at: number;
  readonly value: T;
}
/** A repeatable option whose effect depends on the options before and after it. */
export const inOrder = <T>(option: Option<T | undefined>): Option<Placed<T>[]> => ({ ...option, inOrder: true }) as Option<Placed<T>[]>;

/** Assigns options to a topic. */
export function withTopic<const O extends Options>(topic: OptionTopic, options: O): O {
  return Object.fromEntries(Object.entries(options).map(([name, option]) => [name, { ...option, topic }])) as unknown as O;
}

export type Arguments = Readonly<Record<string, Argument>>;
export type Options = Readonly<Record<string, Option>>;
/** The values that a command receives for its declared arguments or options. */
export type Values<P> = {
  [K in keyof P]: P[K] extends Option<infer T> ? T : P[K] extends Argument<infer T> ? T : never;
};
