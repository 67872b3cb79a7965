import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sendControl } from '../../../src/base/control-request.ts';
import { listenForControl, type ControlHandlers } from '../../../src/server/control/listen.ts';

/** What the control interface tells of errors that are not its own. */

test.each([
  ['ENOSPC', 507, 'the disk of the service is full', 0],
  ['EIO', 500, 'the control interface failed', 1],
])('%s of a handler', async (code, status, message, lines) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'cloud-control-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true }));
  const fail = (): never => {
    throw Object.assign(new Error(code), { code });
  };
  const handlers = { reset: fail } as Partial<ControlHandlers> as ControlHandlers;
  const logged: string[] = [];
  const listener = await listenForControl(dataDir, handlers, (line) => logged.push(line));
  const response = await sendControl(dataDir, 'reset', {});
  await listener?.close();
  expect([response.status, JSON.parse(response.text), logged.length]).toEqual([status, expect.objectContaining({ message }), lines]);
});
