import type { ServiceName } from '../api/operation.ts';
import type { PresignedCheck } from '../auth/check-presigned.ts';
import type { LocalKey } from '../auth/local-keys.ts';
import type { KeyFiles, KeyWish } from '../auth/make-key.ts';
import type { ClientOptions, ComputeClient, StorageClient } from '../client/client.ts';
import type { Profile, Profiles } from '../config/profiles.ts';
import type { Paths } from '../config/paths.ts';
import type { Entry, Journal, Unfinished } from '../config/journal.ts';
import type { State } from '../config/state.ts';
import type { SettingName, Sources } from '../config/settings.ts';
import type { Output } from '../output/kinds.ts';
import type { World } from '../base/world.ts';
import type { Arguments, Options, Values } from './parameters.ts';

/** A request that a pre-signed URL is to allow. */
export interface PresignedRequest {
  methods: readonly string[];
  /** Percent-encoded, without a query. */
  path: string;
  /** Parameters of the request itself, decoded. */
  query?: readonly (readonly [name: string, value: string])[];
  /** Milliseconds for which it works. */
  lifetime: number;
}

/** A signed URL that is to be explained. */
export interface UrlQuestion {
  url: string;
  /** Told by address and path when absent. */
  service?: ServiceName | undefined;
  /** Method of the request; those that the signature is for when absent. */
  method?: string | undefined;
}

/** What a signed URL says, and whether its signature is that of a key of this machine. */
export interface InspectedUrl extends PresignedCheck {
  service: ServiceName;
  origin: string;
  /** As in the URL, without the query. */
  path: string;
  /** What stands before the paths of the service in its address. */
  prefix: string;
  /** Decoded; with the signature. */
  query: readonly (readonly [name: string, value: string])[];
}

/** How a command talks on stderr while it works. A display of progress takes `say` over, so that lines do not mix with it. */
export interface Voice {
  say: (message: string, kind?: 'note' | 'warning') => void;
  /** Requests that were sent again. */
  retried: number;
}

/** What every command can use. Clients and settings are made when first asked for. */
export interface Context {
  readonly world: World;
  readonly paths: Paths;
  readonly profiles: Profiles;
  /** What was learnt or left unfinished. */
  readonly state: State;
  /** What interruptions left to be gone on with. Loaded when it is asked for: small commands do without. */
  readonly journal: () => Promise<Journal>;
  /** The entry of the journal that this run goes on with; undefined for a run of its own. */
  readonly resumed: Entry | undefined;
  /** The context in which an entry of the journal goes on: its connection and its directory, whatever those of this run are. Its results are not shown. */
  readonly goOn: (entry: Unfinished, claimed: Entry) => Promise<Context>;
  /** Settings with where each came from; throws when the chosen profile does not exist. */
  readonly settings: () => Sources;
  /** A global option that is a setting, only if it stands on the command line. */
  readonly settingGiven: (name: SettingName) => string | undefined;
  readonly compute: ComputeClient;
  readonly storage: StorageClient;
  /** The same over the sender for bulk, with so many connections at most: each costs both sides a greeting. */
  readonly bulk: (connections: number) => StorageClient;
  /** Where a service is, and what sends requests to it as they are: they are neither signed nor repeated. */
  readonly forward: (service: ServiceName) => { url: URL; send: ClientOptions['send'] };
  /** Makes a URL that needs no further signature: whoever has it can do what it says until it expires. */
  readonly presign: (service: ServiceName, request: PresignedRequest) => Promise<string>;
  /** Explains a signed URL, without a request and without a passphrase. */
  readonly inspectUrl: (question: UrlQuestion) => Promise<InspectedUrl>;
  /** An answer that the same service never gives otherwise, such as the id of an account: asked for once a day. */
  readonly remember: <T>(name: string, ask: () => Promise<T>) => Promise<T>;
  /** Login of the account that is acted on. */
  readonly account: string;
  /** The same world with another profile in use, whether it is kept or not; with `isAlone` nothing else says where and as whom. */
  readonly withProfile: (profile: Profile, options?: { readonly isAlone: boolean }) => Context;
  /** The same, with requests to the compute service of another datacenter of the cloud, signed by the same keys. */
  readonly withUrl: (url: string) => Context;
  /** An error with the hint that only settings and the command line can give; everything else as it is. */
  readonly refine: (error: unknown) => Promise<unknown>;
  /** Usable and other private keys of this machine, with that of the settings. */
  readonly localKeys: () => Promise<LocalKey[]>;
  /** Makes a key pair; nothing of it is stored. */
  readonly makeKey: (wish: KeyWish) => Promise<KeyFiles>;
  /** Fingerprints of the key that a profile names, in one spelling; two profiles have the same key when they share one. */
  readonly listKeyNames: (values: Profile['values']) => Promise<string[]>;
  /** The options that every command has. */
  readonly global: GlobalValues;
  /** What `note` and `warn` speak with. */
  readonly voice: Voice;
  /** Says something to the person on stderr; silent with --quiet. */
  readonly note: (message: string) => void;
  /** Says something on stderr that must not be missed. */
  readonly warn: (message: string) => void;
  /** Reports a failure of one of several items and returns its exit code; the command goes on. */
  readonly fail: (error: unknown, item?: string) => Promise<number>;
}

/** Values of the options that every command has. */
export interface GlobalValues {
  output: 'table' | 'json' | 'jsonl' | 'yaml' | 'csv' | 'tsv' | 'name' | undefined;
  json: boolean;
  jq: string | undefined;
  columns: string | undefined;
  sort: string | undefined;
  noHeader: boolean;
  long: boolean;
  color: 'auto' | 'always' | 'never' | undefined;
  quiet: boolean;
  verbose: number;
  curl: boolean;
}

/** What a command's function is called with. */
export type Invocation<A, O> = Context & { readonly args: Values<A>; readonly options: Values<O> };

/** A line to type and what it does. */
export interface Example {
  readonly line: string;
  readonly help: string;
}

/** One command, declared once: parser, help, completion, manual and documentation are printers of this record. */
export interface Command<A extends Arguments = Arguments, O extends Options = Options> {
  readonly kind: 'command';
  /** One sentence without a full stop. */
  readonly summary: string;
  /** Further paragraphs of help. */
  readonly description?: string;
  readonly aliases?: readonly string[];
  readonly arguments: A;
  /** The arguments in the usage line, where the declared ones do not say it all: `FILE... PATH`. */
  readonly usage?: string;
  readonly options: O;
  readonly examples: readonly Example[];
  readonly run: (invocation: Invocation<A, O>) => Promise<Output | undefined>;
}

/** A noun with its verbs, or a group of verbs below one. */
export interface Group {
  readonly kind: 'group';
  readonly summary: string;
  readonly description?: string;
  readonly aliases?: readonly string[];
  readonly commands: Readonly<Record<string, AnyCommand | Group>>;
  /** The command that is meant when no verb is given. */
  readonly fallback?: string;
}

/** A command whatever its parameters. */
export type AnyCommand = Omit<Command, 'run'> & { readonly run: (invocation: never) => Promise<Output | undefined> };

interface Spec<A extends Arguments, O extends Options> {
  summary: string;
  description?: string;
  aliases?: readonly string[];
  usage?: string;
  arguments?: A;
  options?: O;
  examples?: readonly Example[];
  run: (invocation: Invocation<A, O>) => Promise<Output | undefined>;
}

/** Declares a command. */
export function command<const A extends Arguments = Record<never, never>, const O extends Options = Record<never, never>>(
  spec: Spec<A, O>,
): Command<A, O> {
  return { kind: 'command', examples: [], ...spec, arguments: spec.arguments ?? ({} as A), options: spec.options ?? ({} as O) };
}

/** Declares a noun or a group of verbs. */
export function group(spec: Omit<Group, 'kind'>): Group {
  return { kind: 'group', ...spec };
}

/** A top-level noun or command that is loaded when it is used. */
export interface Noun {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly summary: string;
  /** Heading under which `cloud --help` shows it. */
  readonly section: string;
  readonly load: () => Promise<Group | AnyCommand>;
}
