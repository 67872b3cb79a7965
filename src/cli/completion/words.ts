import { kebab } from '../../config/settings.ts';
import type { AnyCommand, Group } from '../command.ts';
import { globalOptions } from '../globals.ts';
import { helpTopics } from '../guides/index.ts';
import type { Argument, LocalSource, Option, Options, ValueSource } from '../parameters.ts';
import { findChild, takesValue, type LoadedNoun } from '../tree.ts';

/** Possible values: choices, values from a source, or any text. */
export interface ValueWords {
  readonly placeholder: string;
  readonly choices: readonly string[];
  readonly source: ValueSource | undefined;
}

/** One option in its spellings. */
export interface OptionWords {
  /** `-o`; undefined if the option has no letter. */
  readonly short: string | undefined;
  /** `--output`; for a negatable option also `--no-output`. */
  readonly long: readonly string[];
  readonly help: string;
  /** Undefined for an option without a value. */
  readonly value: ValueWords | undefined;
  readonly repeatable: boolean;
}

/** A word that descends one level in the tree. */
export interface CommandWords {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly summary: string;
  /** Path of the place that it leads to. */
  readonly target: string;
}

/** A place in the command tree: the program itself (an empty path), a group, or a command. */
export interface Place {
  /** Words of the command, separated by spaces: `images list`. */
  readonly path: string;
  readonly commands: readonly CommandWords[];
  /** Options of this place only. */
  readonly own: readonly OptionWords[];
  /** Global options, without the names and letters that this place uses itself. */
  readonly shared: readonly OptionWords[];
  readonly arguments: readonly ValueWords[];
  /** True if the last argument may be repeated. */
  readonly variadic: boolean;
  /** Path of the fallback command, for words that are not among the commands. */
  readonly fallback: string | undefined;
}

/** All data that shell completions need. */
export interface Words {
  readonly places: readonly Place[];
  /** The global options. */
  readonly shared: readonly OptionWords[];
}

const help: OptionWords = { short: '-h', long: ['--help'], help: 'Show help', value: undefined, repeatable: false };
const version: OptionWords = { short: undefined, long: ['--version'], help: 'Show the version', value: undefined, repeatable: false };

function readOption([name, option]: [string, Option]): OptionWords {
  const word = kebab(name);
  return {
    short: option.short === undefined ? undefined : `-${option.short}`,
    long: option.kind === 'negatable' ? [`--${word}`, `--no-${word}`] : [`--${word}`],
    help: option.help,
    value: takesValue(option)
      ? { placeholder: option.placeholder ?? 'TEXT', choices: option.choices ?? [], source: option.values }
      : undefined,
    repeatable: option.kind === 'list' || option.kind === 'count' || option.inOrder === true,
  };
}

function readOptions(options: Options): OptionWords[] {
  return Object.entries(options).map(readOption);
}

function readArgument([name, argument]: [string, Argument]): ValueWords {
  return { placeholder: kebab(name).toUpperCase(), choices: argument.choices ?? [], source: argument.values };
}

/** The shared options without the names and letters of the command's own. */
function withoutTaken(shared: readonly OptionWords[], own: readonly OptionWords[]): OptionWords[] {
  const letters = new Set(own.map(({ short }) => short));
  const names = new Set(own.flatMap(({ long }) => long));
  const left = shared.filter(({ long }) => !long.some((name) => names.has(name)));
  return left.map((option) => (letters.has(option.short) ? { ...option, short: undefined } : option));
}

const everywhere: readonly OptionWords[] = [...readOptions(globalOptions()), help];
const nothing: Place = { path: '', commands: [], own: [], shared: everywhere, arguments: [], variadic: false, fallback: undefined };

function readCommand(path: string, { options, arguments: declared }: AnyCommand): Place {
  const own = readOptions(options);
  const args = Object.entries(declared);
  return {
    ...nothing,
    path,
    own,
    shared: withoutTaken(everywhere, own),
    arguments: args.map(readArgument),
    variadic: args.at(-1)?.[1].variadic ?? false,
  };
}

function readGroup(path: string, group: Group): Place[] {
  const { commands, fallback } = group;
  const children = Object.entries(commands).flatMap(([name, child]) => readNode(`${path} ${name}`, child));
  const target = fallback === undefined ? undefined : `${path} ${fallback}`;
  const meant = children.find((child) => child.path === target) ?? nothing;
  const words = Object.entries(commands).map(([name, { aliases = [], summary }]) => ({
    name,
    // Drops an alias that belongs to an earlier command.
    aliases: aliases.filter((alias) => alias !== name && findChild(group, alias)?.[0] === name),
    summary,
    target: `${path} ${name}`,
  }));
  return [{ ...meant, path, commands: words, fallback: target }, ...children];
}

function readNode(path: string, node: AnyCommand | Group): Place[] {
  return node.kind === 'group' ? readGroup(path, node) : [readCommand(path, node)];
}

/** True if the words of another command or a topic follow, as after `help`. */
function takesCommand(node: AnyCommand | Group): boolean {
  return node.kind === 'command' && Object.values(node.arguments)[0]?.values === 'command';
}

/** The place after `help`: that of the program, with topics. */
function readHelp(path: string, commands: readonly CommandWords[]): Place[] {
  const topic = { ...nothing, path: `${path} topic` };
  const topics = [...helpTopics].map(([name, summary]) => ({ name, aliases: [], summary, target: topic.path }));
  return [{ ...nothing, path, commands: [...commands, ...topics] }, topic];
}

/** What the user's aliases are for the shells: the first word may be one of them. */
const alias: ValueWords = { placeholder: 'ALIAS', choices: [], source: 'alias' };

/** The words of the whole tree, in the order of its declarations. */
export function readWords(nouns: readonly LoadedNoun[]): Words {
  const commands = nouns.map(({ name, aliases, summary }) => ({ name, aliases, summary, target: name }));
  const places = nouns.flatMap(({ name, node }) => (takesCommand(node) ? readHelp(name, commands) : readNode(name, node)));
  return { places: [{ ...nothing, commands, own: [version], arguments: [alias] }, ...places], shared: everywhere };
}

/** True if the argument at this position may be repeated. */
export function isLast({ arguments: args, variadic }: Place, at: number): boolean {
  return variadic && at === args.length - 1;
}

/** All spellings of an option. */
export function listNames({ short, long }: OptionWords): string[] {
  return short === undefined ? [...long] : [short, ...long];
}

const local: readonly (ValueSource | undefined)[] = ['command', 'file', 'directory', 'profile'] satisfies LocalSource[];

/** The source for `cloud __complete`; undefined if the shell itself completes the values. */
export function findLookUp({ source }: ValueWords): Exclude<ValueSource, LocalSource> | undefined {
  return source === undefined || local.includes(source) ? undefined : (source as Exclude<ValueSource, LocalSource>);
}

/** Quotes text for a POSIX shell by single quotes. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
