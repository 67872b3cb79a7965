import { Command as Commander, CommanderError, Option as CommanderOption } from 'commander';
import { UsageError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import { quoteShell } from '../base/quote.ts';
import { parseDuration, parseSize } from '../output/units.ts';
import type { AnyCommand } from './command.ts';
import { globalOptions } from './globals.ts';
import { naming } from '../base/error-copies.ts';
import { kebab } from '../config/settings.ts';
import type { Option, Placed } from './parameters.ts';
import { collectValues, readArguments, type Parsed } from './plain-line.ts';
import { findLetter } from './synonyms.ts';

function readDuration(label: string, { needsUnit = false }: Option, value: string): number {
  const time = naming(label, () => parseDuration(value));
  if (!needsUnit || time === 0 || /[a-z]/iu.test(value)) return time;
  throw new UsageError(`${label} ${value}: has no unit`, { hint: `such as ${label} ${value.trim()}d for days` });
}

/** @param isOwn false for a global option, for which blanks and commas are no text either @throws {UsageError} for a value without any text */
function assertGiven(name: string, { mayBeEmpty }: Option, value: string, isOwn: boolean): void {
  if (mayBeEmpty === true || (isOwn ? value !== '' : /[^\s,]/.test(value))) return;
  throw new UsageError(`--${kebab(name)}: the value is empty`, {
    hint: `probably an unset variable; otherwise leave out --${kebab(name)}`,
  });
}

/** Parses the text of an option's value. @throws {UsageError} naming the option. */
function readValue(name: string, option: Option, value: string): unknown {
  const label = `--${kebab(name)}`;
  if (option.choices && !option.choices.includes(value)) {
    const close = nearest(value, option.choices);
    throw new UsageError(`${label}: "${value}" is not one of ${option.choices.join(', ')}`, {
      hint: close === undefined ? `such as ${label} ${option.choices[0] ?? ''}` : `did you mean ${label} ${close}?`,
    });
  }
  if (option.kind === 'size') return naming(label, () => parseSize(value));
  if (option.kind === 'duration') return readDuration(label, option, value);
  if (option.kind !== 'number') return value;
  const number = Number(value);
  const [least, most] = option.range ?? [0, Number.MAX_SAFE_INTEGER];
  if (!/^-?\d+$/.test(value) || number < least || number > most) {
    const near = Math.round(Math.min(Math.max(number, least), most));
    throw new UsageError(`${label}: "${value}" is not a whole number${option.range ? ` from ${least} to ${most}` : ''}`, {
      hint: `such as ${label} ${Number.isFinite(near) ? near : Math.max(least, 1)}`,
    });
  }
  return number;
}

interface Adding {
  readonly hasLetter: boolean;
  /** True for an option of the command, false for a global option. */
  readonly isOwn: boolean;
  readonly count: () => number;
}

function addOption(commander: Commander, name: string, option: Option, { hasLetter, isOwn, count }: Adding): void {
  const short = option.short === undefined || !hasLetter ? '' : `-${option.short}, `;
  const add = (long: string, key: string, value: string): CommanderOption => {
    const added = new CommanderOption(`${short}--${long}${value}`);
    // commander would treat a leading `no-` as the negation of another option.
    added.negate = false;
    added.attributeName = () => key;
    commander.addOption(added);
    return added;
  };
  if (option.kind === 'flag') add(kebab(name), name, '');
  else if (option.kind === 'count') add(kebab(name), name, '').argParser((_, previous: number | undefined) => (previous ?? 0) + 1);
  else if (option.kind === 'negatable') {
    add(kebab(name), name, '');
    // Both set the same value, so that the later one counts.
    add(`no-${kebab(name)}`, name, '').preset(false);
  } else {
    const added = add(kebab(name), name, ' <value>');
    const read = (value: string): unknown => {
      assertGiven(name, option, value, isOwn);
      return readValue(name, option, value);
    };
    if (option.inOrder === true)
      added.argParser((value, previous: Placed<unknown>[] | undefined) => [...(previous ?? []), { at: count(), value: read(value) }]);
    else if (option.kind === 'list') added.argParser((value, previous: unknown[] | undefined) => [...(previous ?? []), read(value)]);
    else
      added.argParser((value, previous: unknown) => {
        assertGiven(name, option, value, isOwn);
        // A repeated global option overrides the earlier one, so that a shell alias can be overridden.
        if (isOwn && previous !== undefined)
          throw new UsageError(`--${kebab(name)} is given more than once, but takes one value`, {
            hint: `leave out --${kebab(name)} ${quoteShell(value)}`,
          });
        return readValue(name, option, value);
      });
  }
}

/** The error for a flag with a value, such as `--public=false`. */
function createValueError(word: string, options: AnyCommand['options']): UsageError {
  const [, option] = Object.entries(options ?? {}).find(([name]) => `--${kebab(name)}` === word) ?? [];
  const hint = option?.kind === 'negatable' ? `write ${word} or --no-${word.slice(2)}` : `write ${word}, or leave it out`;
  return new UsageError(`option ${word} takes no value`, { hint });
}

/** Converts commander's errors to this program's messages. */
function toUsageError(error: CommanderError, declared: AnyCommand, line: string): UsageError {
  const quoted = /'([^']*)'/.exec(error.message)?.[1] ?? '';
  const hint = `${line} --help`;
  if (error.code === 'commander.unknownOption') {
    const names = Object.keys({ ...declared.options, ...globalOptions() }).map((name) => `--${kebab(name)}`);
    const word = quoted.split('=')[0] ?? quoted;
    if (quoted.includes('=') && names.includes(word)) return createValueError(word, { ...declared.options, ...globalOptions() });
    const letter =
      findLetter(line, word) ?? (word.startsWith('-R') && names.includes('--recursive') ? 'did you mean --recursive?' : undefined);
    if (letter !== undefined) return new UsageError(`unknown option ${word}`, { hint: letter });
    // A common prefix is better evidence than a few common letters.
    const begun = word.length > 3 ? names.filter((name) => name.startsWith(word)) : [];
    // The dashes are no evidence: with them, --dc would be close to --jq.
    const bare = (option: string): string => option.replace(/^-+/, '');
    const near = nearest(bare(word), names.map(bare));
    const close = begun.length === 1 ? begun[0] : near && `--${near}`;
    const meant = begun.length > 1 ? `there are ${begun.join(', ')}` : close === undefined ? hint : `did you mean ${close}?`;
    return new UsageError(`unknown option ${word}`, { hint: meant });
  }
  if (error.code === 'commander.missingArgument') return new UsageError(`missing argument ${quoted.toUpperCase()}`, { hint });
  if (error.code === 'commander.excessArguments') return new UsageError('too many arguments', { hint });
  if (error.code === 'commander.optionMissingArgument') {
    return new UsageError(`option ${quoted.split(/[ ,]+/).find((word) => word.startsWith('--')) ?? quoted} needs a value`, { hint });
  }
  return new UsageError(error.message.replace(/^error: /, ''), { hint });
}

/** Checks options on a line without a command, which prints help. @throws {UsageError} for an option that is not global */
export function checkGlobalOptions(path: readonly string[], rest: readonly string[]): void {
  parseCommandLine({ kind: 'command', summary: '', arguments: {}, options: {}, examples: [], run: async () => undefined }, path, rest);
}

/** Parses the words after a command's path. @throws {UsageError} that names the error. */
export function parseCommandLine(declared: AnyCommand, path: readonly string[], rest: readonly string[]): Parsed {
  const line = ['cloud', ...path].join(' ');
  const commander = new Commander(line)
    .exitOverride()
    // A command may use the letter itself, as `du -h` does in Unix.
    .helpOption(Object.values(declared.options).some(({ short }) => short === 'h') ? '--help' : '-h, --help')
    // `help.ts` prints the help.
    .configureHelp({ formatHelp: () => '' })
    .configureOutput({ writeOut: () => undefined, writeErr: () => undefined })
    .allowExcessArguments(false)
    .showSuggestionAfterError(false);
  let given = 0;
  for (const [name, option] of Object.entries({ ...globalOptions(), ...declared.options })) {
    // A command's own option overrides the letter of a global one.
    const taken = option === globalOptions()[name] && Object.values(declared.options).some(({ short }) => short === option.short);
    addOption(commander, name, option, { hasLetter: !taken, isOwn: name in declared.options, count: () => (given += 1) });
  }
  for (const [name, argument] of Object.entries(declared.arguments)) {
    const inner = name + (argument.variadic ? '...' : '');
    commander.argument(argument.optional ? `[${inner}]` : `<${inner}>`);
  }
  try {
    commander.parse(rest, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === 'commander.helpDisplayed') return { args: {}, options: {}, globals: {}, wantsHelp: true };
    throw toUsageError(error, declared, line);
  }
  const values = commander.opts();
  return {
    args: readArguments(declared, commander.processedArgs),
    options: collectValues(declared.options, values),
    globals: collectValues(globalOptions(), values),
    wantsHelp: false,
  };
}
