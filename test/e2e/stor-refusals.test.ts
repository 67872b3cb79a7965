import { expect, test } from 'vitest';
import { useLocal } from '../support/sandbox.ts';

/** Refusals that must not be taken for something else. */

const user = useLocal('--http', '--fault', 'putobject=409:DirectoryLimitExceeded*3');

test('a directory that is full is a failure, not an object that is there already', async () => {
  user.write('few/a', 'a');
  const one = await user.cloud(['stor', 'put', 'few/a', 'a', '--no-clobber']);
  expect([one.code, one.stderr.includes('DirectoryLimitExceeded'), one.stderr.includes('exists')]).toEqual([1, true, false]);
  const tree = await user.cloud(['stor', 'put', '-r', 'few', 'few', '--no-clobber']);
  expect([tree.code, tree.stderr.includes('DirectoryLimitExceeded')]).toEqual([5, true]);
  const synced = await user.cloud(['stor', 'sync', 'few', 'stor:few']);
  expect([synced.code, synced.stderr.includes('DirectoryLimitExceeded')]).toEqual([1, true]);
});
