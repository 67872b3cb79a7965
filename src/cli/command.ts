import type { ServiceName } from '../api/operation.ts';
import type { PresignedCheck } from '../auth/check-presigned.ts';
import type { AgentView } from '../auth/find.ts';
import type { LocalKey, OnProblem } from '../auth/local-keys.ts';
import type { KeyFiles, KeyWish } from '../auth/make-key.ts';
import type { ClientOptions, ComputeClient, StorageClient } from '../client/client.ts';
import type { Profile, Profiles } from '../config/profiles.ts';
import type { Paths } from '../config/paths.ts';
import type { Entry } from '../config/journal-entry.ts';
import type { Journal, Unfinished } from '../config/journal.ts';
import type { State } from '../config/state.ts';
import type { SettingName, Sources } from '../config/settings.ts';
import type { Output } from '../output/kinds.ts';
import type { World } from '../base/world.ts';
import type { outputOptions } from './globals.ts';
import type { Arguments, Options, Values } from './parameters.ts';

/** A request that a pre-signed URL should permit. */
export interface PresignedRequest {
  methods: readonly string[];
  /** Percent-encoded, without a query. */
  path: string;
  /** The request's own parameters, decoded. */
  query?: readonly (readonly [name: string, value: string])[];
  /** Milliseconds until the URL expires. */
  lifetime: number;
}

/** A pre-signed URL to explain. */
export interface UrlQuestion {
  url: string;
  /** Derived from address and path when absent. */
  service?: ServiceName | undefined;
  /** Method of the request; all methods that the signature permits when absent. */
  method?: string | undefined;
}

/** An explained pre-signed URL, checked against the keys of this machine. */
export interface InspectedUrl extends PresignedCheck {
  service: ServiceName;
  origin: string;
  /** As in the URL, without the query. */
  path: string;
  /** Path prefix of the service in its address. */
  prefix: string;
  /** Decoded; includes the signature. */
  query: readonly (readonly [name: string, value: string])[];
}

/** Messages on stderr while a command works. A progress display replaces `say`, so that messages do not overwrite it. */
export interface Voice {
  say: (message: string, kind?: 'note' | 'warning') => void;
  /** Number of repeated requests. */
  retried: number;
  /** Everything on stderr is JSON lines. */
  readonly isJson: boolean;
}

/** Everything that commands can use. Clients and settings are created on first use. */
export interface Context {
  readonly world: World;
  readonly paths: Paths;
  readonly profiles: Profiles;
  /** Learned data and unfinished work. */
  readonly state: State;
  /** Interrupted work that can be resumed. Loaded on use, because small commands do not need it. */
  readonly journal: () => Promise<Journal>;
  /** The entry of the journal that this run resumes; undefined for new work. */
  readonly resumed: Entry | undefined;
  /** The context for resuming an entry of the journal: its connection and directory instead of this run's. Its results are not shown. */
  readonly goOn: (entry: Unfinished, claimed: Entry) => Promise<Context>;
  /** Settings with their sources; throws when the selected profile does not exist. */
  readonly settings: () => Sources;
  /** The value of a global option that is a setting, if it is on the command line. */
  readonly settingGiven: (name: SettingName) => string | undefined;
  readonly compute: ComputeClient;
  readonly storage: StorageClient;
  /** A client for bulk transfers, with at most this many connections: each costs both sides a handshake. */
  readonly bulk: (connections: number) => StorageClient;
  /** The address of a service, and a function that sends requests unchanged: neither signed nor repeated. */
  readonly forward: (service: ServiceName) => { url: URL; send: ClientOptions['send'] };
  /** Creates a pre-signed URL: anyone who has it can make the request until it expires. */
  readonly presign: (service: ServiceName, request: PresignedRequest) => Promise<string>;
  /** Explains a pre-signed URL, without sending a request or asking for a passphrase. */
  readonly inspectUrl: (question: UrlQuestion) => Promise<InspectedUrl>;
  /** A response that never changes for one service, such as the id of an account: requested once a day. */
  readonly remember: <T>(name: string, ask: () => Promise<T>) => Promise<T>;
  /** Login of the target account. */
  readonly account: string;
  /** This context as with `--profile`, for a profile stored or not; with `isAlone` options do not set the connection and the identity either. */
  readonly withProfile: (profile: Profile, options?: { readonly isAlone: boolean }) => Context;
  /** This context with another value of an option, such as the URL of another datacenter: signed by the same keys. */
  readonly withOption: (name: SettingName, value: string) => Context;
  /** Adds hints that depend on settings and the command line to an error; other errors are returned unchanged. */
  readonly refine: (error: unknown) => Promise<unknown>;
  /** The private keys of this machine, usable or not, including that of the settings. `onProblem` gets the reasons why others are missing. */
  readonly localKeys: (onProblem?: OnProblem) => Promise<LocalKey[]>;
  /** The keys of the ssh-agent, or why they are unknown; asked once per command. */
  readonly viewAgent: () => Promise<AgentView>;
  /** Generates a key pair without storing it. */
  readonly makeKey: (wish: KeyWish) => Promise<KeyFiles>;
  /** Normalized fingerprints of the key that a profile names; two profiles have the same key when they share one. */
  readonly listKeyNames: (values: Profile['values']) => Promise<string[]>;
  /** The global options. */
  readonly global: GlobalValues;
  /** The output of `note` and `warn`. */
  readonly voice: Voice;
  /** Prints a message on stderr; hidden by --quiet. */
  readonly note: (message: string) => void;
  /** Prints a warning on stderr, even with --quiet. */
  readonly warn: (message: string) => void;
  /** Reports the failure of one of several items and returns its exit code; the command continues. */
  readonly fail: (error: unknown, item?: string) => Promise<number>;
}

/** Values of the output options. */
export type GlobalValues = Values<ReturnType<typeof outputOptions>>;

/** The argument of a command's `run` function. */
export type Invocation<A, O> = Context & { readonly args: Values<A>; readonly options: Values<O> };

/** An example command line with its explanation. */
export interface Example {
  readonly line: string;
  readonly help: string;
}

/** Properties of commands and groups. */
export interface Described {
  /** One sentence without a full stop. */
  readonly summary: string;
  /** Further paragraphs of help. */
  readonly description?: string;
  readonly aliases?: readonly string[];
}

/** The result of a command. `afterwards` is called once it was shown, and may throw: a failed job is shown like any other. */
export type Result = Output & { readonly afterwards?: () => Promise<unknown> };

/** One command, declared once. Parser, help, completion, manual and documentation are derived from this record. */
export interface Command<A extends Arguments = Arguments, O extends Options = Options> extends Described {
  readonly kind: 'command';
  readonly arguments: A;
  /** The arguments in the usage line, if the declared ones are not sufficient: `FILE... TARGET`. */
  readonly usage?: string;
  readonly options: O;
  readonly examples: readonly Example[];
  /** All fields that the service documents for the result; undefined if they are not known before the command runs. */
  readonly fields?: readonly string[];
  /** The command changes something: names in `--columns` and `--sort` that are not in `fields` are refused before the change. */
  readonly changes?: true;
  readonly run: (invocation: Invocation<A, O>) => Promise<Result | undefined>;
}

/** A noun with its verbs, or a nested group of verbs. */
export interface Group extends Described {
  readonly kind: 'group';
  readonly commands: Readonly<Record<string, AnyCommand | Group>>;
  /** The command to run when no verb is given. */
  readonly fallback?: string;
}

/** A command with any parameters. */
export type AnyCommand = Omit<Command, 'run'> & { readonly run: (invocation: never) => Promise<Result | undefined> };

/** A command without the parts that `command` adds. */
type Spec<A extends Arguments, O extends Options> = Partial<Command<A, O>> & Pick<Command<A, O>, 'summary' | 'run'>;

export function command<const A extends Arguments = Record<never, never>, const O extends Options = Record<never, never>>(
  spec: Spec<A, O>,
): Command<A, O> {
  return { kind: 'command', examples: [], ...spec, arguments: spec.arguments ?? ({} as A), options: spec.options ?? ({} as O) };
}

export function group(spec: Omit<Group, 'kind'>): Group {
  return { kind: 'group', ...spec };
}

/** A top-level noun or command that is loaded on use. */
export interface Noun {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly summary: string;
  /** Heading above it in `cloud --help`. */
  readonly section: string;
  /** @param verb the word that follows the noun: a group may be returned with this command alone, if it has one of this name */
  readonly load: (verb?: string) => Promise<Group | AnyCommand>;
}
