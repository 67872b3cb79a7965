import { expect, test } from 'vitest';
import { command } from '../../../src/cli/command.ts';
import { parseCommandLine } from '../../../src/cli/parser.ts';
import { jobOptions, readPhases, type JobValues } from '../../../src/commands/jobs/phases.ts';

const declared = command({ summary: 'For the test', options: jobOptions, run: () => Promise.resolve(undefined) });

function read(...words: string[]) {
  return readPhases(parseCommandLine(declared, ['jobs', 'create'], words).options as JobValues, 'demo');
}

test('phases come in the order of the command line, each with the options after it', () => {
  const words = [
    '--reduce',
    'sort',
    '--count',
    '2',
    '--map',
    'wc',
    '--asset',
    'a.sh',
    '--asset',
    '/x/stor/b',
    '--init',
    'true',
    '--map',
    'cat',
  ];
  expect(read(...words)).toEqual([
    { type: 'reduce', exec: 'sort', count: 2 },
    { type: 'map', exec: 'wc', assets: ['/demo/stor/a.sh', '/x/stor/b'], init: 'true' },
    { type: 'map', exec: 'cat' },
  ]);
});

test('options before the first phase hold for all; reducers only for reduces', () => {
  expect(read('--memory', '512', '--count', '3', '--map', 'wc', '--reduce', 'sort', '--memory', '64')).toEqual([
    { type: 'map', exec: 'wc', memory: 512 },
    { type: 'reduce', exec: 'sort', memory: 64, count: 3 },
  ]);
});

test('what makes no phase is refused', () => {
  expect(() => read('--map', 'wc', '--count', '2')).toThrow('--count belongs to a reduce phase, but follows --map');
  expect(() => read('--count', '2', '--map', 'wc')).toThrow('--count belongs to a reduce phase, but there is none');
  expect(() => read('--asset', 'a.sh')).toThrow('--asset belongs to a phase, but there is none');
  expect(() => read('--map', ' ')).toThrow('--map needs a command');
  expect(() => read('--reduce', 'x', '--count', '129')).toThrow('--count: "129" is not a whole number from 1 to 128');
});
