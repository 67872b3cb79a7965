import { spawn } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** Logs are stored while a program writes to them. */

const user = useShared('--http');

/** Does work while a program appends to a file. */
async function whileGrowing<T>(file: string, work: () => Promise<T>): Promise<T> {
  // Its stdin stays open and empty: `read` waits without a process of its own.
  const writer = spawn('bash', ['-c', 'while printf "%01000d\\n" 1; do read -rt 0.002; done >> "$0"', file]);
  try {
    for (const before = statSync(file).size; statSync(file).size === before;) await sleep(5);
    return await work();
  } finally {
    writer.kill('SIGKILL');
  }
}

test.each([
  ['a small log', 2000, []],
  ['a larger one', 3_000_000, ['--bwlimit', '6M']],
  ['one that goes in parts', 11_000_000, ['--part-size', '5M', '--bwlimit', '22M']],
])('%s is refused with a hint, and stored by --growing with the length that it had', async (_, size, words) => {
  const file = join(user.home, `log-${size}`);
  writeFileSync(file, 'x'.repeat(size));
  await whileGrowing(file, async () => {
    if (size > 1_000_000) {
      const refused = await user.here(['stor', 'put', file, 'log', ...words]);
      expect(refused).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/grew while it was read[^]*cloud stor put --growing/) as string,
      });
    }
    expect(await user.here(['stor', 'put', '--growing', '-q', file, 'log', ...words])).toMatchObject({ code: 0, stderr: '' });
  });
  const { bytes } = await user.here(['stor', 'cat', 'log']);
  expect(bytes.length).toBeGreaterThan(size);
  expect(readFileSync(file).subarray(0, bytes.length).equals(bytes)).toBe(true);
});
