import { expect, test } from 'vitest';
import { isAlive } from '../../../src/base/world.ts';

function fail(code: string): never {
  throw Object.assign(new Error(code), { code });
}

test.each([
  ['exists', () => undefined, true],
  ['belongs to another user', () => fail('EPERM'), true],
  ['has ended', () => fail('ESRCH'), false],
])('a process that %s', (_, kill, expected) => {
  expect(isAlive({ kill }, 2)).toBe(expected);
});
