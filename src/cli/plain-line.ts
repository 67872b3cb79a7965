import { UsageError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { AnyCommand } from './command.ts';
import { globalOptions } from './globals.ts';
import type { Option, Options } from './parameters.ts';

/** What was on the command line, by the declared names. */
export interface Parsed {
  args: Record<string, unknown>;
  options: Record<string, unknown>;
  /** The options that every command has. */
  globals: Record<string, unknown>;
  wantsHelp: boolean;
}

/** The values of declared options by name, and what stands for those that were not given. */
export function collectValues(options: Options, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const defaults: Partial<Record<Option['kind'], unknown>> = { flag: false, count: 0, list: [] };
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => {
      if (option.kind === 'negatable' && values[`no ${name}`] === true) return [name, false];
      return [name, values[name] ?? (option.inOrder === true ? [] : defaults[option.kind])];
    }),
  );
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

/** The arguments of a command by their names, from what stands at their places. @throws {UsageError} for one that is none of its choices */
export function readArguments(declared: AnyCommand, given: readonly unknown[]): Record<string, unknown> {
  const args = Object.fromEntries(
    Object.entries(declared.arguments).map(([name, { variadic }], at) => [name, given[at] ?? (variadic ? [] : undefined)]),
  );
  checkChoices(declared, args);
  return args;
}

/**
 * Reads a command line of nothing but arguments, as many as are declared; undefined for any other. Most lines are no more than that, and what reads
 * the others takes a tenth of a short command's time to load.
 */
export function parsePlainLine(declared: AnyCommand, words: readonly string[]): Parsed | undefined {
  if (words.some((word) => word.startsWith('-'))) return undefined;
  const places = Object.values(declared.arguments);
  const least = places.filter(({ optional }) => !optional).length;
  const rest = places.at(-1)?.variadic === true ? places.length - 1 : places.length;
  if (words.length < least || (rest === places.length && words.length > rest)) return undefined;
  const given = rest < words.length && rest < places.length ? [...words.slice(0, rest), words.slice(rest)] : words;
  return {
    args: readArguments(declared, given),
    options: collectValues(declared.options, {}),
    globals: collectValues(globalOptions, {}),
    wantsHelp: false,
  };
}
