import { expect, test } from 'vitest';
import { InterruptedError } from '../../../src/base/errors.ts';
import { createRecorder, recordOne } from '../../../src/commands/stor/recorder.ts';
import type { Entry } from '../../../src/config/journal-entry.ts';
import type { Journal } from '../../../src/config/journal.ts';
import { silent } from '../../../src/transfer/engine.ts';

test.each([
  ['a file', undefined, false],
  ['a pipe, of which nothing is left', 'the bytes of stdin cannot be read again', true],
])('an interrupted upload of %s', async (_, obstacle, isOver) => {
  const closed: boolean[] = [];
  const entry = { id: '01234567', doneItems: 0, isResumed: false, close: (over: boolean) => closed.push(over) } as unknown as Entry;
  const journal = () => Promise.resolve({ begin: () => entry } as unknown as Journal);
  const work = { command: 'stor put', kind: 'upload', args: {}, options: {}, placed: [], obstacle } as const;
  const recorder = createRecorder({ journal }, () => work, silent);
  const interrupted = recordOne(
    recorder,
    async () => {
      await recorder.begin();
      throw new InterruptedError('interrupted');
    },
    undefined,
  );
  await expect(interrupted).rejects.toThrow(InterruptedError);
  expect(closed).toEqual([isOver]);
});
