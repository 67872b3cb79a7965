import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { records, type Row } from '../../../src/output/kinds.ts';
import { render } from '../../../src/output/render.ts';
import { createWriter } from '../../../src/output/writer.ts';
import { createCapture, optionsOf } from './capture.ts';

const shape = { columns: ['name'], id: 'name' };

/** Rows without end, counted. */
function produceForever(): { rows: AsyncGenerator<Row>; count: () => number; isClosed: () => boolean } {
  let made = 0;
  let isClosed = false;
  async function* produce(): AsyncGenerator<Row> {
    try {
      for (;;) yield { name: `row-${made++}` };
    } finally {
      isClosed = true;
    }
  }
  return { rows: produce(), count: () => made, isClosed: () => isClosed };
}

test('many rows are written in large pieces, in order', async () => {
  const out = createCapture();
  const rows = Array.from({ length: 50_000 }, (_, index) => ({ name: `row-${index}` }));
  await render(records(rows, shape), optionsOf('name'), out);
  expect(out.chunks.length).toBeLessThan(20);
  expect(out.text()).toBe(rows.map(({ name }) => `${name}\n`).join(''));
});

test('a slow reader holds the rows back, and gets all of them', async () => {
  const stream = new PassThrough({ highWaterMark: 1024 });
  const rows = produceForever();
  let hasEnded = false;
  async function* produce(): AsyncGenerator<Row> {
    for await (const row of rows.rows) {
      yield row;
      if (rows.count() === 60_000) return;
    }
  }
  const rendering = render(records(produce(), shape), optionsOf('jsonl'), { stream, isTerminal: false, columns: () => 80 }).then(() => {
    hasEnded = true;
    return stream.end();
  });
  await sleep(50);
  expect(hasEnded).toBe(false);
  expect(rows.count()).toBeLessThan(20_000);
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  await rendering;
  expect(text.split('\n')).toHaveLength(60_001);
  expect(stream.listenerCount('drain') + stream.listenerCount('error')).toBeLessThanOrEqual(1);
});

test('a reader that goes away is EPIPE, and the source is closed', async () => {
  const child = spawn('head', ['-n', '1'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const rows = produceForever();
  let text = '';
  child.stdout.on('data', (chunk) => (text += String(chunk)));
  const out = { stream: child.stdin, isTerminal: false, columns: () => 80 };
  await expect(render(records(rows.rows, shape), optionsOf('name'), out)).rejects.toMatchObject({ code: 'EPIPE' });
  if (child.exitCode === null) await once(child, 'close');
  expect(text).toBe('row-0\n');
  expect(rows.isClosed()).toBe(true);
});

test('a stream that is closed already is EPIPE', async () => {
  const out = createCapture();
  out.stream.destroy();
  await expect(render(records([{ name: 'a' }], shape), optionsOf('table'), out)).rejects.toMatchObject({ code: 'EPIPE' });
});

test('an error of the stream that comes after the last write is not lost', async () => {
  const stream = new Writable({
    write(_chunk, _encoding, done) {
      setTimeout(() => done(Object.assign(new Error('no space'), { code: 'ENOSPC' })), 5);
    },
  });
  const writer = createWriter({ stream });
  await writer.write('x');
  await expect(writer.close()).rejects.toMatchObject({ code: 'ENOSPC' });
  await sleep(10);
});

test('text and bytes keep their order', async () => {
  const out = createCapture();
  const writer = createWriter(out);
  await writer.write('a');
  await writer.writeBytes(Buffer.from('b'));
  await writer.write('c');
  await writer.close();
  expect(out.text()).toBe('abc');
});
