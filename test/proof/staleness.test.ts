import { afterAll, describe } from 'vitest';
import { isLong, scale } from '../support/scale.ts';

/**
 * What is true where reads are current stays true where reads of users, roles and policies lag, for whoever says `--wait`: the end-to-end
 * tests run once more with services that answer from the past.
 */
const before = process.env['CLOUD_TEST_STALENESS'];
const staleness = scale(500, 3000);
const few = ['users', 'roles', 'policies', 'rbac'];
const all = [...few, 'keys', 'images', 'lookup', 'formats', 'completion', 'errors', 'exit-codes'];

process.env['CLOUD_TEST_STALENESS'] = String(staleness);
afterAll(() => {
  if (before === undefined) delete process.env['CLOUD_TEST_STALENESS'];
  else process.env['CLOUD_TEST_STALENESS'] = before;
});

describe.each(isLong ? all : few)(`reads that lag ${staleness} ms: %s`, async (name) => {
  await import(`../e2e/${name}.test.ts`);
});
