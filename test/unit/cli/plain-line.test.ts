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
  for (let count = 0; count <= 4; count += 1) {
    const choices = Object.values(command.arguments).map(({ choices: [choice] = [] }) => choice);
    const words = Array.from({ length: count }, (_, at) => choices[at] ?? `word ${at}`);
    for (const given of [words, words.map(() => 'none')]) {
      const plain = attempt(() => parsePlainLine(command, given));
      const parsed = attempt(() => parseCommandLine(command, path.split(' '), given));
      if (plain === undefined) expect(parsed).toMatch(/Error: (missing argument|too many arguments)/);
      else expect(plain).toEqual(parsed);
    }
  }
});

test.each(commands)('flags mean the same of %s with and without the parser of options', (path, command) => {
  const flags = Object.entries({ ...globalOptions(), ...command.options }).filter(([, { kind }]) => kind === 'flag');
  const letters = flags.flatMap(([name, { short }]) =>
    short === undefined || (name in globalOptions() && isTaken(command, short)) ? [] : [short],
  );
  const choices = Object.values(command.arguments).map(({ choices: [choice] = [] }) => choice ?? 'word');
  const clusters = letters.flatMap((letter) => letters.map((other) => `-${letter}${other}`));
  for (const flag of [...flags.map(([name]) => `--${kebab(name)}`), ...letters.map((letter) => `-${letter}`), ...clusters]) {
    const words = [...choices.slice(0, 1), flag, ...choices.slice(1)];
    const plain = parsePlainLine(command, words);
    if (plain !== undefined) expect(plain).toEqual(parseCommandLine(command, path.split(' '), words));
    else expect(clusters).toContain(flag);
  }
});

test.each([['-'], ['--'], ['-jx'], ['--name=x'], ['-vv'], ['--help'], ['-h'], ['--js'], ['--output'], ['-o'], ['-jo'], ['--constructor']])(
  '%s is left to the parser of options',
  (word) => {
    // Some have -h for sizes as people read them.
    const those = commands.filter(([, command]) => !isTaken(command, word.slice(1)));
    for (const [, command] of those) expect(parsePlainLine(command, ['a', word])).toBeUndefined();
  },
);
