import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nameUnfinished } from '../../../src/transfer/local/unfinished-name.ts';
import { walkLocal } from '../../../src/transfer/local/walk.ts';

test('an unfinished file that another process finishes during the walk is no failure; any other file that vanishes is', async () => {
  const root = mkdtempSync(join(tmpdir(), 'cloud-walk-'));
  try {
    const processes = { own: process.pid, isAlive: () => true };
    const unfinished = ['b', 'd'].map((name) => nameUnfinished(join(root, name), 'etag', processes));
    const vanishing = join(root, 'c');
    for (const file of [join(root, 'a'), vanishing, ...unfinished]) writeFileSync(file, '');
    const [names, skipped, errors]: [string[], string[], unknown[]] = [[], [], []];
    /** Called for whichever of the two is listed first, after the directory has been read. */
    const onSkip = (file: string): void => {
      skipped.push(file);
      for (const other of [vanishing, ...unfinished]) if (other !== file) rmSync(other);
    };
    for await (const { rel } of walkLocal(root, { onSkip, onError: (error) => void errors.push(error) })) names.push(rel);
    expect([names, skipped.length, errors]).toEqual([['a'], 1, [expect.objectContaining({ code: 'ENOENT', path: vanishing })]]);
  } finally {
    rmSync(root, { recursive: true });
  }
});
