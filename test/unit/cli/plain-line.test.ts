import { expect, test } from 'vitest';
import { parseCommandLine } from '../../../src/cli/parser.ts';
import { parsePlainLine } from '../../../src/cli/plain-line.ts';
import { commands } from './tree.ts';

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

test.each([['-'], ['--'], ['-j'], ['--name=x'], ['-vv']])('%s is left to the parser of options', (word) => {
  for (const [, command] of commands) expect(parsePlainLine(command, ['a', word])).toBeUndefined();
});
