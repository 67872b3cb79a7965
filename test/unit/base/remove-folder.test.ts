import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeFolder } from '../../../src/base/remove-folder.ts';
import { fillRemovedMeanwhile } from '../../support/removed-meanwhile.ts';

test('a folder is removed although another process removes files of it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cloud-removed-'));
  const awaitOther = await fillRemovedMeanwhile(folder);
  await removeFolder(folder);
  expect(existsSync(folder)).toBe(false);
  await awaitOther();
});
