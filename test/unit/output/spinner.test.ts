import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { withSpinner } from '../../../src/output/spinner.ts';
import { createCapture, type Capture } from './capture.ts';

/** A stream with what ora asks of a terminal: movements are recorded as the sequences a terminal gets. */
function createTerminal(columns = 80): Capture {
  const capture = createCapture(80);
  Object.assign(capture.stream, {
    isTTY: true,
    columns,
    clearLine: () => capture.stream.write('\u001b[2K'),
    cursorTo: () => capture.stream.write('\u001b[1G'),
    moveCursor: () => true,
  });
  return capture;
}

const hideCursor = '\u001b[?25l';
const showCursor = '\u001b[?25h';

test('long work has a spinner with its text; the cursor is back and the line is empty afterwards', async () => {
  const err = createTerminal();
  const result = await withSpinner(err, 'waiting for \u001b[2Jimage', async (update) => {
    await expect.poll(err.text).toContain('image');
    update('still \nwaiting');
    await expect.poll(err.text).toContain('still');
    return 42;
  });
  expect(result).toBe(42);
  const text = err.text();
  expect(text).toContain('waiting for \\x1b[2Jimage');
  expect(text).toContain('still \\nwaiting');
  expect(text.lastIndexOf(showCursor)).toBeGreaterThan(text.lastIndexOf(hideCursor));
  expect(text.lastIndexOf('\u001b[2K')).toBeGreaterThan(text.lastIndexOf('waiting'));
});

test('work that fails brings the cursor back and passes its error on', async () => {
  const err = createTerminal();
  const work = withSpinner(err, 'waiting', async () => {
    await expect.poll(err.text).toContain('waiting');
    throw new Error('broken');
  });
  await expect(work).rejects.toThrow('broken');
  expect(err.text()).toContain(hideCursor);
  expect(err.text().lastIndexOf(showCursor)).toBeGreaterThan(err.text().lastIndexOf(hideCursor));
});

test('work that ends while the spinner is being loaded leaves nothing behind', async () => {
  const err = createTerminal();
  await withSpinner(err, 'waiting', () => sleep(201));
  const { length } = err.text();
  await sleep(150);
  expect(err.text()).toHaveLength(length);
  expect(err.text().lastIndexOf(showCursor)).toBeGreaterThanOrEqual(err.text().lastIndexOf(hideCursor));
});

test.each([
  ['short work', createTerminal(), {}, 10],
  ['a pipe', createCapture(), {}, 260],
  ['--quiet', createTerminal(), { quiet: true }, 260],
  ['a dumb terminal', createTerminal(), { env: { TERM: 'dumb' } }, 260],
  ['a terminal without a width', createTerminal(0), {}, 260],
] as const)('%s has none', async (_, err, options, milliseconds) => {
  expect(await withSpinner(err, 'waiting', (update) => (update('more'), sleep(milliseconds, 'done')), options)).toBe('done');
  expect(err.text()).toBe('');
});
