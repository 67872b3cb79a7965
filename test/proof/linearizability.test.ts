import { describe, expect, test } from 'vitest';
import { judgeHistory, type Action, type Ending, type Operation } from '../support/linearizability.ts';
import { createRandom } from '../support/random.ts';

/** The checker of histories: it believes what can have happened, and finds what cannot. */

function at(called: number, returned: number, action: Action, ending: Ending = 'done', key = 'k'): Operation {
  return { key, action, ending, called, returned };
}
const put = (content: string): Action => ({ kind: 'write', version: { content, mark: '-' } });
const found = (content?: string, mark = '-'): Action => ({
  kind: 'read',
  found: content === undefined ? undefined : { content, mark },
});
const swap = (from: string, to: string): Action => ({ kind: 'write', version: { content: to, mark: '-' }, condition: { content: from } });
const create = (content: string): Action => ({ kind: 'write', version: { content, mark: '-' }, condition: 'absent' });
const remove: Action = { kind: 'remove' };

describe('what can have happened is no violation', () => {
  test.each<[string, Operation[]]>([
    ['nothing', []],
    ['one after the other', [at(0, 1, found()), at(2, 3, put('a')), at(4, 5, found('a')), at(6, 7, remove), at(8, 9, found())]],
    ['a read beside a write sees either', [at(0, 1, put('a')), at(2, 9, put('b')), at(3, 4, found('a')), at(5, 6, found('b'))]],
    ['two writes at once, in the order that the later reads show', [at(0, 9, put('a')), at(0, 9, put('b')), at(10, 11, found('a'))]],
    [
      'a write without an answer that was done',
      [at(0, 1, put('a')), at(2, 9, put('b'), 'unknown'), at(10, 11, found('a')), at(12, 13, found('b'))],
    ],
    ['a write without an answer that was not', [at(0, 1, put('a')), at(2, 9, put('b'), 'unknown'), at(10, 11, found('a'))]],
    ['one winner of a race', [at(0, 1, put('a')), at(2, 9, swap('a', 'b')), at(2, 9, swap('a', 'c'), 'refused'), at(10, 11, found('b'))]],
    ['nothing to remove, nothing to mark', [at(0, 1, remove, 'missing'), at(2, 3, { kind: 'mark', mark: 'm' }, 'missing')]],
    [
      'marks',
      [at(0, 1, put('a')), at(2, 3, { kind: 'mark', mark: 'm' }), at(4, 5, found('a', 'm')), at(6, 7, put('b')), at(8, 9, found('b', '-'))],
    ],
    [
      'a content that comes back by a link',
      [at(0, 1, put('a')), at(2, 3, put('b')), at(4, 5, { kind: 'write', version: { content: 'a' } }), at(6, 7, found('a', 'x'))],
    ],
    ['other keys are other histories', [at(0, 1, put('a')), at(2, 3, found(), 'done', 'other')]],
  ])('%s', (_, history) => {
    expect(judgeHistory(history)).toEqual({ violation: undefined, undecided: [] });
  });
});

describe('what cannot have happened is found', () => {
  test.each<[string, Operation[]]>([
    ['a lost write', [at(0, 1, put('a')), at(2, 3, put('b')), at(4, 5, found('a'))]],
    ['a stale read', [at(0, 1, put('a')), at(2, 9, put('b')), at(3, 4, found('b')), at(5, 6, found('a'))]],
    ['a dirty read: of a write that was refused', [at(0, 1, put('a')), at(2, 3, create('b'), 'refused'), at(4, 5, found('b'))]],
    ['two winners of a conditional race', [at(0, 1, put('a')), at(2, 9, swap('a', 'b')), at(2, 9, swap('a', 'c')), at(10, 11, found('c'))]],
    ['two that create the same', [at(0, 9, create('a')), at(0, 9, create('b'))]],
    ['an object that comes back after it was removed', [at(0, 1, put('a')), at(2, 3, remove), at(4, 5, found()), at(6, 7, found('a'))]],
    ['a listing without an entry that is there', [at(0, 1, put('a')), at(2, 3, found()), at(4, 5, found('a'))]],
    [
      'a version with the metadata of another',
      [at(0, 1, put('a')), at(2, 3, { kind: 'mark', mark: 'm' }), at(4, 5, put('b')), at(6, 7, found('b', 'm'))],
    ],
    ['a content that nobody wrote', [at(0, 1, put('a')), at(2, 3, found('z'))]],
    [
      'a write without an answer that is undone',
      [at(0, 1, put('a')), at(2, 3, put('b'), 'unknown'), at(4, 5, found('b')), at(6, 7, found('a'))],
    ],
    ['a refusal without a reason', [at(0, 1, put('a')), at(2, 3, swap('a', 'b'), 'refused'), at(4, 5, found('a'))]],
  ])('%s', (_, history) => {
    expect(judgeHistory(history)).toMatchObject({ violation: { key: 'k' }, undecided: [] });
  });
});

/** A history of many clients on one key that really happened: each operation takes place at a moment within its time. */
function simulate(random: () => number, count: number): Operation[] {
  const plans = Array.from({ length: count }, (_, number) => {
    const called = number + random() * 3;
    const returned = called + random() * 6;
    return { number, called, returned, moment: called + random() * (returned - called), dice: random() };
  }).sort((left, right) => left.moment - right.moment);
  let state: string | undefined;
  return plans.map(({ number, called, returned, dice }): Operation => {
    const isLost = dice > 0.95;
    const content = `v${number}`;
    if (dice < 0.4) return at(called, returned, found(state));
    if (dice < 0.5) {
      const ending = state === undefined ? 'missing' : 'done';
      state = undefined;
      return at(called, returned, remove, ending);
    }
    if (dice < 0.7) {
      const from: string | undefined = dice < 0.6 ? state : `v${number - 3}`;
      const ending = from !== undefined && from === state ? 'done' : 'refused';
      if (ending === 'done') state = content;
      return at(called, returned, swap(from ?? 'none', content), ending);
    }
    // Of those that get no answer half are done.
    if (!isLost || number % 2 === 0) state = content;
    return at(called, returned, put(content), isLost ? 'unknown' : 'done');
  });
}

test('of 200 simulated histories none is a violation; with a read changed nearly each is', () => {
  let violations = 0;
  for (let seed = 1; seed <= 200; seed += 1) {
    const random = createRandom(seed);
    const history = simulate(random, 100);
    expect([seed, judgeHistory(history)]).toEqual([seed, { violation: undefined, undecided: [] }]);
    // A late read that finds a version from long before.
    const reads = history.map((operation, index) => ({ operation, index })).filter(({ operation }) => operation.action.kind === 'read');
    const last = reads.at(-1);
    if (last === undefined) continue;
    const falsified = history.with(last.index, { ...last.operation, action: found('v1') });
    if (judgeHistory(falsified).violation !== undefined) violations += 1;
  }
  expect(violations).toBeGreaterThan(180);
});

/** Writes without an answer, of which later reads find some, beside rounds of several writes at once. */
function loseMany(random: () => number, { lost, rounds, width }: { lost: number; rounds: number; width: number }): Operation[] {
  const contents = Array.from({ length: lost }, (_, number) => `lost${number}`);
  const history = contents.map((content) => at(0, Infinity, put(content), 'unknown'));
  for (let round = 0; round < rounds; round += 1) {
    const written = Array.from({ length: width }, (_, number) => `r${round}w${number}`);
    const seen = written[Math.floor(random() * width)] ?? '';
    const late = random() < 0.4 ? contents.splice(Math.floor(random() * contents.length), 1)[0] : undefined;
    const start = 10 * round;
    history.push(...written.map((content) => at(start + 1, start + 8, put(content))), at(start + 1, start + 8, found(seen)));
    history.push(at(start + 9, start + 9.5, found(late ?? seen)));
  }
  return history;
}

test('dozens of operations without an answer are decided, whether they were done or not', { timeout: 60_000 }, () => {
  for (let seed = 1; seed <= 2; seed += 1) {
    const history = loseMany(createRandom(seed), { lost: 24, rounds: 40, width: 8 });
    expect([seed, judgeHistory(history)]).toEqual([seed, { violation: undefined, undecided: [] }]);
    // The last read finds a version from long before.
    const falsified = [...history.slice(0, -1), at(409, 409.5, found('r0w0'))];
    expect([seed, judgeHistory(falsified)]).toMatchObject([seed, { violation: { key: 'k' }, undecided: [] }]);
  }
});

test('hundreds of operations at once are checked', { timeout: 60_000 }, () => {
  expect(judgeHistory(simulate(createRandom(7), 3000))).toEqual({ violation: undefined, undecided: [] });
});
