import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLiveState, type Foundation } from '../../../src/server/foundation.ts';
import { createGate } from '../../../src/server/gate.ts';
import { openStore } from '../../../src/server/store/open.ts';

test('requests do not wait for ever when the old state cannot be closed', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'cloud-foundation-'));
  const gate = createGate({});
  const first = {
    store: { holdRemovals: () => async () => undefined, close: () => Promise.reject(new Error('the disk is gone')) },
    collecting: { begin: () => undefined, end: async () => undefined },
  } as unknown as Foundation;
  const stand = async (): Promise<Foundation> => {
    throw new Error('no services');
  };
  try {
    await (await openStore(dataDir)).close();
    const live = createLiveState(dataDir, gate, first, stand);
    const fill = async (folder: string): Promise<void> => (await openStore(folder)).close();
    await expect(live.replace(fill)).rejects.toThrow('no services');
    await expect(gate.guard('compute')({} as never, {} as never)).rejects.toThrow('no services');
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});
