import { expect, test } from 'vitest';
import { requireNamed } from '../../../src/cli/named.ts';
import { catchError } from '../auth/witness.ts';

const images = [
  { id: '6dde5681-0000-4000-8000-000000000001', name: 'base' },
  { id: '9e558b5d-0000-4000-8000-000000000002', name: 'minimal' },
];

test.each([
  ['6dde568', 'of an id, give at least 8 characters: 6dde5681'],
  ['bas', 'did you mean base?'],
  ['6dd', 'cloud images list'],
  ['', 'cloud images list'],
])('what is meant by "%s" is in the first hint', async (word, hint) => {
  const error = await catchError(Promise.resolve().then(() => requireNamed(images, word, 'image', 'cloud images list')));
  expect([error.message, error.hint]).toEqual([`image "${word}" does not exist`, hint]);
});
