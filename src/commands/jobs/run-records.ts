import { readAll } from '../../api/message.ts';
import type { KnownJob } from './find.ts';
import { job, jobError } from '../../api/objects.ts';
import type { Context } from '../../cli/command.ts';
import type { Row } from '../../output/kinds.ts';
import { closeBody } from '../../api/close-body.ts';
import { openObject, readObject } from '../../transfer/download/download.ts';
import type { Engine } from '../../transfer/engine.ts';
import { readRemotePath } from '../../transfer/path.ts';
import { createEngine } from '../stor/engine.ts';
import { runOrdered } from '../../base/parallel.ts';
import { createOutputReader } from './contents.ts';
import { addStderr } from './task-errors.ts';
import { readStream } from './streams.ts';

/** Maximum size of an output whose content is part of its record, bytes. */
const largestContent = 1024 * 1024;

/** Number of outputs that are read concurrently, and of those whose content is held in memory. */
const bounds = { limit: 8, window: 8 };

/** Decodes UTF-8; undefined for bytes that are not UTF-8. */
function decode(content: Uint8Array): string | undefined {
  const text = Buffer.from(content.buffer, content.byteOffset, content.length).toString();
  return Buffer.from(text).equals(content) ? text : undefined;
}

/** An output with its size and, if it is text of at most 1 MiB, its content. */
async function readOutput(engine: Engine, account: string, path: string): Promise<Row> {
  const opened = await openObject(engine, readRemotePath(path, account));
  const { size } = opened;
  if (size === undefined || size > largestContent) {
    await closeBody(opened.body);
    return { type: 'output', path, size };
  }
  return { type: 'output', path, size, content: decode(await readAll(readObject(engine, opened))) };
}

/** How the records are shown, with all fields that one may have. */
export const recordShape = {
  columns: ['type', 'path', { key: 'size', as: 'size' as const }, 'code', 'input', 'message'],
  id: 'path',
  fields: ['content', ...Object.keys({ ...job.fields, ...jobError.fields }), 'stderrText'],
};

/** All fields of the records. */
export const recordFields = ['type', 'path', 'size', 'code', 'input', 'message', ...recordShape.fields];

/**
 * Yields one record for the finished job, one for each output and one for each error, which `type` distinguishes; then calls `end`.
 * @throws {PartialError} at the end when an output could not be read
 */
export async function* listRunRecords(
  context: Context,
  done: KnownJob,
  outputs: AsyncIterable<string> | Iterable<string>,
  end: () => Promise<void>,
): AsyncGenerator<Row> {
  yield { type: 'job', ...done };
  const engine = { ...createEngine(context, {}, { bulk: false }), streams: 1 };
  const reader = createOutputReader(context);
  const read = (path: string): Promise<Row | undefined> => reader.attempt(() => readOutput(engine, context.account, path));
  for await (const row of runOrdered(outputs, read, bounds)) if (row) yield row;
  for await (const error of addStderr(context, readStream(context, done.id, 'errors', false))) yield { type: 'error', ...error };
  await end();
  reader.finish();
}
