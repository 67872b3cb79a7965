import { UsageError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { AnyCommand, Command, Context, Invocation, Result } from './command.ts';
import { kebab } from '../config/settings.ts';
import { globalOptions } from './globals.ts';
import type { Arguments, Option, Options, Values } from './parameters.ts';

/** The parsed command line, by the declared names. */
export interface Parsed {
  args: Record<string, unknown>;
  options: Record<string, unknown>;
  /** The global options. */
  globals: Record<string, unknown>;
  wantsHelp: boolean;
}

/** Values of options that were not given, computed once for each command. */
interface Unset {
  readonly values: Readonly<Record<string, unknown>>;
  /** Options whose value is a list: each line gets a new one. */
  readonly lists: readonly string[];
}

const unsetOf = new WeakMap<Options, Unset>();

function describeUnset(options: Options): Unset {
  const known = unsetOf.get(options);
  if (known) return known;
  const entries = Object.entries(options);
  const unset = {
    values: Object.fromEntries(entries.map(([name, option]) => [name, missing(option)])),
    lists: entries.flatMap(([name, { kind, inOrder }]) => (kind === 'list' || inOrder === true ? [name] : [])),
  };
  unsetOf.set(options, unset);
  return unset;
}

/** The values of declared options by name, with defaults for those that were not given. */
export function collectValues(options: Options, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { values, lists } = describeUnset(options);
  const collected = { ...values };
  for (const name of lists) collected[name] = [];
  for (const [name, value] of Object.entries(given)) if (value !== undefined && Object.hasOwn(values, name)) collected[name] = value;
  return collected;
}

/** The value of an option that was not given, unless it is a list. */
function missing({ kind }: Option): unknown {
  return kind === 'flag' ? false : kind === 'count' ? 0 : undefined;
}

function checkChoices(declared: AnyCommand, args: Readonly<Record<string, unknown>>): void {
  for (const [name, { choices }] of Object.entries(declared.arguments)) {
    const value = args[name];
    if (choices === undefined || typeof value !== 'string' || choices.includes(value)) continue;
    const close = nearest(value, choices);
    throw new UsageError(`${name.toUpperCase()}: "${value}" is not one of ${choices.join(', ')}`, {
      hint: close && `did you mean ${close}?`,
    });
  }
}

/** Assigns arguments to their declared names. @throws {UsageError} for a value that is not one of its choices */
export function readArguments(declared: AnyCommand, given: readonly unknown[]): Record<string, unknown> {
  const args = Object.fromEntries(
    Object.entries(declared.arguments).map(([name, { variadic }], at) => [name, given[at] ?? (variadic ? [] : undefined)]),
  );
  checkChoices(declared, args);
  return args;
}

/** The flags in a word: `--recursive`, `-r`, or several letters; undefined for anything else. */
function readFlags(word: string, flags: ReadonlyMap<string, string>): string[] | undefined {
  const whole = flags.get(word);
  if (whole !== undefined) return [whole];
  const names = word.startsWith('--') ? [word] : Array.from(word.slice(1), (letter) => `-${letter}`);
  const found = names.flatMap((name) => flags.get(name) ?? []);
  return found.length > 0 && found.length === names.length ? found : undefined;
}

/** The flags of a command by their spelling. A command's own option overrides the letter of a global one. */
function listFlags(declared: AnyCommand): ReadonlyMap<string, string> {
  const flags = new Map<string, string>();
  for (const options of [globalOptions(), declared.options]) {
    for (const [name, { short, kind }] of Object.entries(options)) {
      if (kind === 'flag') flags.set(`--${kebab(name)}`, name);
      if (short === undefined) continue;
      if (kind === 'flag') flags.set(`-${short}`, name);
      else flags.delete(`-${short}`);
    }
  }
  return flags;
}

const flagsOf = new WeakMap<AnyCommand, ReadonlyMap<string, string>>();

/** Separates the flags of a line from its arguments; undefined if it has other options. */
function takeFlags(declared: AnyCommand, words: readonly string[]): { values: Record<string, true>; rest: readonly string[] } | undefined {
  const values: Record<string, true> = {};
  if (!words.some((word) => word.startsWith('-'))) return { values, rest: words };
  const flags = flagsOf.get(declared) ?? listFlags(declared);
  flagsOf.set(declared, flags);
  const rest: string[] = [];
  for (const word of words) {
    const names = word.startsWith('-') ? readFlags(word, flags) : [];
    if (names === undefined) return undefined;
    if (names.length === 0) rest.push(word);
    for (const name of names) values[name] = true;
  }
  return { values, rest };
}

/**
 * Parses a command line that contains only flags and as many arguments as are declared; undefined for any other line. Most lines are like
 * this, and loading the full parser takes a tenth of the time of a short command.
 */
export function parsePlainLine(declared: AnyCommand, words: readonly string[]): Parsed | undefined {
  const taken = takeFlags(declared, words);
  if (!taken) return undefined;
  const { rest: plain, values } = taken;
  const places = Object.values(declared.arguments);
  const least = places.filter(({ optional }) => !optional).length;
  const rest = places.at(-1)?.variadic === true ? places.length - 1 : places.length;
  if (plain.length < least || (rest === places.length && plain.length > rest)) return undefined;
  const given = rest < plain.length && rest < places.length ? [...plain.slice(0, rest), plain.slice(rest)] : plain;
  return {
    args: readArguments(declared, given),
    options: collectValues(declared.options, values),
    globals: collectValues(globalOptions(), values),
    wantsHelp: false,
  };
}

/** Runs a command in a context. Its members are lazy getters: they are inherited, not copied, which would call them. */
export async function runCommand<A extends Arguments, O extends Options>(
  context: Context,
  { run }: Command<A, O>,
  { args, options }: { readonly args: Values<A>; readonly options: Values<O> },
): Promise<Result | undefined> {
  const own = { args: { value: args }, options: { value: options } };
  return await run(Object.create(context, own) as Invocation<A, O>);
}
