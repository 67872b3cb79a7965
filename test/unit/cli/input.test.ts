import { createReadStream } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readAll } from '../../../src/api/message.ts';
import { openStdin } from '../../../src/cli/input.ts';

// An error event without a listener ends the process, and this test with it.
test.each(['before', 'after'])('Ctrl-C %s a file on stdin is read is no uncaught error', async (moment) => {
  const interruption = new AbortController();
  // Node.js opens a file on stdin like this.
  const stream = createReadStream(new URL(import.meta.url), { autoClose: false });
  const stdin = openStdin({ stdin: { stream, isTerminal: false }, interrupted: interruption.signal });
  if (moment === 'after') await readAll(stdin);
  interruption.abort();
  await setImmediate();
  if (moment === 'before') await expect(readAll(stdin)).rejects.toThrow('interrupted');
  expect(stream.destroyed).toBe(true);
});
