import { expect, it } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** What `cloud conformance` says of its options and of services; what it finds is proven in `test/proof/conformance.test.ts`. */

const user = useShared();

async function check(...words: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return user.here(['conformance', '-o', 'jsonl', ...words]);
}

it('says what is wrong with options and services in one line', async () => {
  const wrong = await check('--check', 'storage/put-objects');
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('unknown check')]);
  expect((await check('--import-image', 'local-2')).code).toBe(2);
  const away = await check('--stor-url', 'https://127.0.0.1:1', '--url', 'https://127.0.0.1:1', '--retries', '0');
  expect([away.code, away.stdout]).toEqual([1, '']);
});

it('checks one statement, and leaves nothing', async () => {
  const { code, stdout } = await check('--check', 'storage/put-object');
  expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ id: 'storage/put-object', result: 'as specified' })]);
  expect((await user.here(['stor', 'find', '~~', '-o', 'name'])).stdout).not.toContain('conformance-');
});
