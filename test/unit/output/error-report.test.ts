import { expect, test } from 'vitest';
import { withHint } from '../../../src/base/error-copies.ts';
import { ApiError, explain, UsageError, type Explanation } from '../../../src/base/errors.ts';
import { reportError } from '../../../src/output/error-report.ts';
import type { Format } from '../../../src/output/kinds.ts';
import { createCapture } from './capture.ts';

async function report(explanation: Explanation, format: Format = 'table', colour = false): Promise<string> {
  const err = createCapture(80);
  await reportError(explanation, { command: 'cloud keys get laptop', format, colour, err });
  return err.text();
}

const refused = explain(
  new ApiError(404, 'ResourceNotFound', 'key "laptop" does not exist', {
    requestId: '7f3a',
    hint: 'cloud keys list shows the keys there are',
  }),
);

test('an error of a service is a line with its code and request, and a hint', async () => {
  expect(await report(refused)).toBe(
    'cloud keys get laptop: key "laptop" does not exist (ResourceNotFound, request 7f3a)\nhint: cloud keys list shows the keys there are\n',
  );
});

test('an error of ours has no code', async () => {
  expect(await report(explain(new UsageError('no such option')), 'yaml')).toBe('cloud keys get laptop: no such option\n');
});

test('wrong fields have a line each', async () => {
  const errors = [{ field: 'email', code: 'Invalid', message: 'not an address' }];
  expect(await report(explain(new ApiError(409, 'InvalidArgument', 'bad input', { errors })))).toBe(
    'cloud keys get laptop: bad input (InvalidArgument)\n  email: not an address (Invalid)\n',
  );
});

test('what the first line says of a field is not said again', async () => {
  const errors = ['must be a letter', 'is too long'].map((message) => ({ field: 'login', code: 'Invalid', message }));
  expect(await report(explain(new ApiError(409, 'InvalidArgument', 'login must be a letter', { errors })))).toBe(
    'cloud keys get laptop: login must be a letter (InvalidArgument)\n  login: is too long (Invalid)\n',
  );
});

test.each(['json', 'jsonl'] as const)('with %s it is one JSON object on one line', async (format) => {
  const text = await report({ ...refused, message: 'a\u009bb\nc' }, format);
  expect(text.split('\n')).toHaveLength(2);
  expect(text).not.toContain('\u009b');
  expect(JSON.parse(text)).toEqual({
    code: 'ResourceNotFound',
    message: 'a\u009bb\nc',
    status: 404,
    requestId: '7f3a',
    hint: 'cloud keys list shows the keys there are',
  });
});

test('control characters are escaped, colours are our own', async () => {
  const text = await report({ code: 'X', message: 'a\u001b[2Jb\nc', exitCode: 1, hint: 'd\u202e' }, 'table', true);
  expect(text).toBe('\u001b[31mcloud keys get laptop:\u001b[39m a\\x1b[2Jb\\nc\n\u001b[36mhint:\u001b[39m d\\u202e\n');
});

test('a closed stderr is no further error', async () => {
  const err = createCapture();
  err.stream.destroy();
  await reportError(refused, { command: 'cloud', format: 'table', colour: false, err });
  expect(err.text()).toBe('');
});

test('a line break in a hint is part of a name: each hint is one line', async () => {
  const error = withHint(new UsageError('no such name'), ["cloud stor ls 'a\nb'", 'or another', 'or c\nd']);
  expect(await report(explain(error), 'table')).toBe(
    "cloud keys get laptop: no such name\nhint: cloud stor ls 'a\\nb'\nhint: or another\nhint: or c\\nd\n",
  );
});
