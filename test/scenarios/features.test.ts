import { mkdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { splitWords } from '../../src/config/aliases.ts';
import { type Outcome } from '../support/sandbox.ts';
import { useShared } from '../support/shared-service.ts';

const user = useShared('--http');

/** Commands that no shell has to join or fill in, and that tell nothing of their process. */
const plain = /^cloud (?!doctor)[^|$;<>&]+$/u;

/** Runs a line; the commands that can in this process, which takes a tenth of the time. */
async function type(line: string): Promise<Pick<Outcome, 'code' | 'stderr'>> {
  const commands = line.split(' && ');
  if (!commands.every((command) => plain.test(command)) || line.includes('--jq')) return await user.shell(`set -o pipefail; ${line}`);
  for (const command of commands) {
    const outcome = await user.here(splitWords(command).slice(1));
    if (outcome.code !== 0) return outcome;
  }
  return { code: 0, stderr: '' };
}

interface Feature {
  readonly number: number;
  readonly state: string;
  readonly line: string;
}

/** The rows of the table; a line between backticks has its pipes escaped. */
const features = readFileSync(join(import.meta.dirname, '../../.github/FEATURES.md'), 'utf8')
  .split('\n')
  .flatMap((row): Feature[] => {
    const [, number, , state = '', command = ''] = row.split(/(?<!\\)\|/).map((cell) => cell.trim());
    return /^\d+$/.test(number ?? '')
      ? [{ number: Number(number), state, line: command.replace(/^`|`$/g, '').replaceAll('\\|', '|') }]
      : [];
  });

beforeAll(async () => {
  user.write('docs/a.txt', 'a text');
  user.write('docs/b.tmp', 'left over');
  mkdirSync(join(user.home, 'into'));
  user.write('large', '');
  truncateSync(join(user.home, 'large'), 130 * 1024 * 1024);
  await user.here(['stor', 'put', '-r', 'docs', 'docs', '-q']);
});

test('the table has all features, the first twenty are there, and every other row says what is missing', () => {
  expect(features.map(({ number }) => number)).toEqual(Array.from({ length: 56 }, (_, at) => at + 1));
  expect(features.slice(0, 20).filter(({ state }) => state !== 'yes')).toEqual([]);
  expect(features.filter(({ state }) => !['yes', 'partly', 'no', 'other'].includes(state))).toEqual([]);
});

test('every feature that is there is shown by its command', { timeout: 240_000 }, async () => {
  const failed: unknown[] = [];
  for (const { number, state, line } of features) {
    if (state !== 'yes') continue;
    const { code, stderr } = await type(line);
    if (code !== 0) failed.push({ number, line, code, stderr });
  }
  expect(failed).toEqual([]);
});
