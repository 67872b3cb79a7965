import { expect, test } from 'vitest';
import { command } from '../../../src/cli/command.ts';
import { inOrder, number, text } from '../../../src/cli/parameters.ts';
import { parseCommandLine } from '../../../src/cli/parser.ts';

const declared = command({
  summary: 'For the test',
  options: { map: inOrder(text('A')), reduce: inOrder(text('B')), count: inOrder(number('C', { range: [1, 9] })) },
  run: () => Promise.resolve(undefined),
});

test('options that are read in order keep their places among each other', () => {
  const words = ['--reduce', 'a', '--map=b', '--count', '2', '--map', '--reduce'];
  const { options } = parseCommandLine(declared, ['jobs', 'run'], words);
  expect(options).toEqual({
    reduce: [{ at: 1, value: 'a' }],
    map: [
      { at: 2, value: 'b' },
      { at: 4, value: '--reduce' },
    ],
    count: [{ at: 3, value: 2 }],
  });
});

test('values of options that are read in order are checked, and none is an empty list', () => {
  expect(() => parseCommandLine(declared, ['jobs', 'run'], ['--count', '0'])).toThrow('--count: "0" is not a whole number from 1 to 9');
  expect(parseCommandLine(declared, ['jobs', 'run'], []).options).toEqual({ map: [], reduce: [], count: [] });
});
