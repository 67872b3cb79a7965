import { kebab } from '../../config/settings.ts';
import type { AnyCommand, Group } from '../command.ts';
import { globalOptions } from '../globals.ts';
import type { Argument, LocalSource, Option, Options, ValueSource } from '../parameters.ts';
import { findChild, takesValue, type LoadedNoun } from '../tree.ts';

/** What may stand for a value: one of some words, something from a source, or any text. */
export interface ValueWords {
  readonly placeholder: string;
  readonly choices: readonly string[];
  readonly source: ValueSource | undefined;
}

/** One option as it is typed. */
export interface OptionWords {
  /** `-o`, without which it has no letter. */
  readonly short: string | undefined;
  /** `--output`; of an option that can be negated also `--no-output`. */
  readonly long: readonly string[];
  readonly help: string;
  /** Undefined for an option without a value. */
  readonly value: ValueWords | undefined;
  readonly repeatable: boolean;
}

/** A word that goes one step down the tree. */
export interface CommandWords {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly summary: string;
  /** The place that it leads to. */
  readonly target: string;
}

/** Where a command line can have got to: the program itself (an empty path), a group, or a command. */
export interface Place {
  /** Words of the command, with spaces between: `images list`. */
  readonly path: string;
  readonly commands: readonly CommandWords[];
  /** The options that only this place has. */
  readonly own: readonly OptionWords[];
  /** The options that every place has, as far as this one does not use their names for its own. */
  readonly shared: readonly OptionWords[];
  readonly arguments: readonly ValueWords[];
  /** Whether the last argument may be repeated. */
  readonly variadic: boolean;
  /** The place that is meant when a word is none of the commands. */
  readonly fallback: string | undefined;
}

/** All that the completion of a shell needs to know. */
export interface Words {
  readonly places: readonly Place[];
  /** The options that every place has. */
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

/** The shared options beside a command's own, which take names and letters from them. */
function withoutTaken(shared: readonly OptionWords[], own: readonly OptionWords[]): OptionWords[] {
  const letters = new Set(own.map(({ short }) => short));
  const names = new Set(own.flatMap(({ long }) => long));
  const left = shared.filter(({ long }) => !long.some((name) => names.has(name)));
  return left.map((option) => (letters.has(option.short) ? { ...option, short: undefined } : option));
}

const everywhere: readonly OptionWords[] = [...readOptions(globalOptions()), help];

function readCommand(path: string, { options, arguments: declared }: AnyCommand): Place {
  const own = readOptions(options);
  const args = Object.entries(declared);
  return {
    path,
    commands: [],
    own,
    shared: withoutTaken(everywhere, own),
    arguments: args.map(readArgument),
    variadic: args.at(-1)?.[1].variadic ?? false,
    fallback: undefined,
  };
}

function readGroup(path: string, group: Group): Place[] {
  const { commands, fallback } = group;
  const children = Object.entries(commands).flatMap(([name, child]) => readNode(`${path} ${name}`, child));
  const target = fallback === undefined ? undefined : `${path} ${fallback}`;
  const meant = children.find((child) => child.path === target);
  const words = Object.entries(commands).map(([name, { aliases = [], summary }]) => ({
    name,
    // An alias that an earlier command has does not lead here.
    aliases: aliases.filter((alias) => alias !== name && findChild(group, alias)?.[0] === name),
    summary,
    target: `${path} ${name}`,
  }));
  const place: Place = {
    path,
    commands: words,
    own: meant?.own ?? [],
    shared: meant?.shared ?? everywhere,
    arguments: meant?.arguments ?? [],
    variadic: meant?.variadic ?? false,
    fallback: target,
  };
  return [place, ...children];
}

function readNode(path: string, node: AnyCommand | Group): Place[] {
  return node.kind === 'group' ? readGroup(path, node) : [readCommand(path, node)];
}

/** Whether the words of another command follow, as after `help`: completion then begins again at the program. */
function takesCommand(node: AnyCommand | Group): boolean {
  return node.kind === 'command' && Object.values(node.arguments)[0]?.values === 'command';
}

/** The words of the whole tree, in the order of its declarations. */
export function readWords(nouns: readonly LoadedNoun[]): Words {
  const commands = nouns.map(({ name, aliases, summary, node }) => ({ name, aliases, summary, target: takesCommand(node) ? '' : name }));
  const root: Place = { path: '', commands, own: [version], shared: everywhere, arguments: [], variadic: false, fallback: undefined };
  return { places: [root, ...nouns.flatMap(({ name, node }) => readNode(name, node))], shared: everywhere };
}

/** The last position of a place's argument: its own, or any further one when it may be repeated. */
export function isLast({ arguments: args, variadic }: Place, at: number): boolean {
  return variadic && at === args.length - 1;
}

/** Every way to type an option. */
export function listNames({ short, long }: OptionWords): string[] {
  return short === undefined ? [...long] : [short, ...long];
}

const local: readonly (ValueSource | undefined)[] = ['command', 'file', 'directory', 'profile'] satisfies LocalSource[];

/** The source that `cloud __complete` is asked for, where a shell does not find the values by itself. */
export function findLookUp({ source }: ValueWords): Exclude<ValueSource, LocalSource> | undefined {
  return source === undefined || local.includes(source) ? undefined : (source as Exclude<ValueSource, LocalSource>);
}

/** Text between single quotes of a POSIX shell. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
