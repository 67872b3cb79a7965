import { expect, test } from 'vitest';
import { parseCommandLine } from '../../../src/cli/parser.ts';
import { parsePlainLine } from '../../../src/cli/plain-line.ts';
import type { AnyCommand } from '../../../src/cli/command.ts';
import { globalOptions } from '../../../src/cli/globals.ts';
import { kebab } from '../../../src/config/settings.ts';
import { commands } from './tree.ts';

/** Whether a command has the letter for an option of its own. */
function isTaken(command: AnyCommand, letter: string): boolean {
  return Object.values(command.options).some(({ short }) => short === letter);
}

function attempt<T>(parse: () => T): T | string {
  try {
    return parse();
  } catch (error) {
    return String(error);
  }
}

test.each(commands)('a line of nothing but arguments means the same of %s with and without the parser of options', (path, command) => {
  const places = Object.values(command.arguments);
  // Up to one too many, where there can be.
  const most = places.at(-1)?.variadic === true ? 4 : places.length + 1;
  for (let count = 0; count <= most; count += 1) {
    const words = Array.from({ length: count }, (_, at) => places[at]?.choices?.[0] ?? `word ${at}`);
    const wrong = places.slice(0, count).some(({ choices }) => choices !== undefined) ? [words.map(() => 'none')] : [];
    for (const given of [words, ...wrong]) {
      const plain = attempt(() => parsePlainLine(command, given));
      const parsed = attempt(() => parseCommandLine(command, path.split(' '), given));
      if (plain === undefined) expect(parsed).toMatch(/Error: (missing argument|too many arguments)/);
      else expect(plain).toEqual(parsed);
    }
  }
});

/** Letters that an earlier command has too. */
const known = new Set<string>();

/**
 * Lines of flags, each with whether the parser of options may be needed. The flags of all commands are given alone, and in each order of
 * two letters, to one command of those that have the same letters; the others get them at once, and each letter after another one.
 */
function listLines(command: AnyCommand): [words: string[], mayNeedParser: boolean][] {
  const all = Object.entries({ ...globalOptions(), ...command.options }).filter(([, { kind }]) => kind === 'flag');
  const letters = all.flatMap(([name, { short }]) =>
    short === undefined || (name in globalOptions() && isTaken(command, short)) ? [] : [short],
  );
  const isKnown = known.has(letters.join(''));
  known.add(letters.join(''));
  const names = all.map(([name]) => `--${kebab(name)}`);
  const single = names.filter((_, at) => !isKnown || (all[at]?.[0] ?? '') in command.options);
  const clusters = letters.flatMap((letter, at) =>
    (isKnown ? letters.slice(at - 1, at || undefined) : letters).map((other) => `-${letter}${other}`),
  );
  return [
    [names, false],
    ...[...single, ...letters.map((letter) => `-${letter}`)].map((flag): [string[], boolean] => [[flag], false]),
    ...clusters.map((cluster): [string[], boolean] => [[cluster], true]),
  ];
}

test.each(commands)('flags mean the same of %s with and without the parser of options', (path, command) => {
  const choices = Object.values(command.arguments).map(({ choices: [choice] = [] }) => choice ?? 'word');
  for (const [flags, mayNeedParser] of listLines(command)) {
    const words = [...choices.slice(0, 1), ...flags, ...choices.slice(1)];
    const plain = parsePlainLine(command, words);
    if (plain !== undefined) expect(plain).toEqual(parseCommandLine(command, path.split(' '), words));
    else expect(mayNeedParser, words.join(' ')).toBe(true);
  }
});

test('of an option and its negation the later one counts, so that a line can override that of an alias', () => {
  const [, list] = commands.find(([path]) => path === 'images list') ?? [];
  const parse = (...words: string[]): unknown => list && parseCommandLine(list, ['images', 'list'], words).options['public'];
  expect([parse(), parse('--public'), parse('--no-public')]).toEqual([undefined, true, false]);
  expect([parse('--no-public', '--public'), parse('--public', '--no-public')]).toEqual([true, false]);
});

test.each([['-'], ['--'], ['-jx'], ['--name=x'], ['-vv'], ['--help'], ['-h'], ['--js'], ['--output'], ['-o'], ['-jo'], ['--constructor']])(
  '%s is left to the parser of options',
  (word) => {
    // Some have -h for sizes as people read them.
    const those = commands.filter(([, command]) => !isTaken(command, word.slice(1)));
    for (const [, command] of those) expect(parsePlainLine(command, ['a', word])).toBeUndefined();
  },
);
