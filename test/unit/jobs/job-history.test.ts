import { expect, test } from 'vitest';
import { checkJobHistory, type JobHistory, type Observation } from '../../support/job-history.ts';

/** The checker of histories finds each kind of lie. */

function observe(at: number, state: string, stats: [number, number, number, number], flags: Partial<Observation> = {}): Observation {
  const [tasks, tasksDone, outputs, errors] = stats;
  return { begun: at, ended: at + 1, state, cancelled: false, inputDone: false, stats: { tasks, tasksDone, outputs, errors }, ...flags };
}

/** Six inputs of three requests, the last of which was cut. */
const truth: JobHistory = {
  batches: [
    { lines: ['a', 'x', 'x'], outcome: 'added', ended: 5 },
    { lines: ['b', 'x'], outcome: 'added', ended: 15 },
    { lines: ['c', 'y'], outcome: 'unknown', ended: 25 },
    { lines: ['d', 'y'], outcome: 'unknown', ended: 26 },
    { lines: ['e'], outcome: 'refused', ended: 45 },
  ],
  observations: [
    observe(10, 'running', [3, 1, 1, 0]),
    observe(20, 'running', [5, 3, 2, 1]),
    observe(40, 'running', [7, 6, 4, 2], { inputDone: true }),
  ],
  inputEnded: 35,
  cancelled: undefined,
  final: observe(50, 'done', [7, 7, 5, 2], { inputDone: true }),
  inputs: ['a', 'x', 'x', 'c', 'y', 'b', 'x'],
  outputs: ['x', 'x', 'x', 'y', 'c'],
  outputPaths: ['1', '2', '3', '4', '5'],
  failures: ['a', 'b'],
};

test('finds nothing in a true history, also of a job that was cancelled', () => {
  expect(checkJobHistory(truth)).toEqual([]);
  const final = observe(50, 'done', [7, 4, 3, 1], { inputDone: true, cancelled: true });
  const observations = truth.observations.slice(0, 2);
  expect(
    checkJobHistory({
      ...truth,
      observations,
      final,
      cancelled: 45,
      outputs: ['x', 'x', 'y'],
      outputPaths: ['1', '2', '3'],
      failures: ['a'],
    }),
  ).toEqual([]);
});

test.each<[string, Partial<JobHistory>, string]>([
  ['an acknowledged input that is gone', { inputs: truth.inputs.slice(1) }, 'a was acknowledged and is gone'],
  ['one that was added twice', { inputs: [...truth.inputs, 'b', 'x'] }, 'b was added 2 times'],
  ['one that was added in part', { inputs: ['a', 'x', 'x', 'c', 'b', 'x'] }, 'the request that begins with c was added in part'],
  ['one that was refused and added', { inputs: [...truth.inputs, 'e'] }, 'e was refused and is there'],
  ['one that nobody sent', { inputs: [...truth.inputs, 'z'] }, 'z was added by nobody'],
  ['one without a result', { outputs: truth.outputs.slice(1) }, 'x has 2 results, and was added 3 times'],
  ['one with two results', { failures: ['a', 'b', 'c'] }, 'c has 2 results, and was added 1 times'],
  ['an output that is listed twice', { outputPaths: ['1', '2', '3', '4', '4'] }, 'an output is listed twice'],
  [
    'counters that do not add up',
    { final: observe(50, 'done', [7, 7, 6, 2], { inputDone: true }) },
    'the counters say 6 outputs and 2 errors',
  ],
  [
    'a state that goes back',
    { observations: [observe(30, 'done', [7, 7, 5, 2], { inputDone: true }), ...truth.observations] },
    'state went back from 2 to 1',
  ],
  [
    'a counter that goes back',
    { observations: [...truth.observations, observe(45, 'running', [7, 5, 4, 1], { inputDone: true })] },
    'tasksDone went back from 6 to 5',
  ],
  [
    'an end that is forgotten',
    { observations: [...truth.observations, observe(42, 'running', [7, 6, 4, 2])] },
    'the end of the input was acknowledged and is not seen',
  ],
  ['a cancel that is forgotten', { cancelled: 45 }, 'the cancel was acknowledged and is not seen'],
  [
    'inputs that are seen late',
    { observations: [observe(16, 'running', [3, 1, 1, 0]), ...truth.observations.slice(1)] },
    '3 tasks after 5 inputs were acknowledged',
  ],
])('finds %s', (_, lie, problem) => {
  expect(checkJobHistory({ ...truth, ...lie })).toContain(problem);
});
