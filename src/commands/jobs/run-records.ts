import type { KnownJob } from './find.ts';
import { job, jobError } from '../../api/objects.ts';
import type { Context } from '../../cli/command.ts';
import type { Row } from '../../output/kinds.ts';
import { closeBody } from '../../transfer/close-body.ts';
import { openObject, readObject } from '../../transfer/download/download.ts';
import type { Engine } from '../../transfer/engine.ts';
import { readRemotePath } from '../../transfer/path.ts';
import { createEngine } from '../stor/engine.ts';
import { runOrdered } from '../../base/parallel.ts';
import { addStderr } from './task-errors.ts';
import { readStream } from './streams.ts';

/** Outputs of at most this size have their content in their record, bytes. */
const largestContent = 1024 * 1024;

/** Outputs that are read at once, and whose content is held. */
const bounds = { limit: 8, window: 8 };

/** Content as text; undefined for bytes that are not UTF-8. */
function decode(content: Uint8Array): string | undefined {
  const text = Buffer.from(content.buffer, content.byteOffset, content.length).toString();
  return Buffer.from(text).equals(content) ? text : undefined;
}

/** An output with its size and, where it is text and not large, its content. */
async function readOutput(engine: Engine, account: string, path: string): Promise<Row> {
  const opened = await openObject(engine, readRemotePath(path, account));
  const { size } = opened;
  if (size === undefined || size > largestContent) {
    await closeBody(opened.body);
    return { type: 'output', path, size };
  }
  const pieces = [];
  for await (const piece of readObject(engine, opened)) pieces.push(piece);
  return { type: 'output', path, size, content: decode(Buffer.concat(pieces)) };
}

/** Every field that a record may have. */
export const recordShape = {
  columns: ['type', 'path', { key: 'size', as: 'size' as const }, 'code', 'input', 'message'],
  id: 'path',
  fields: ['content', ...Object.keys({ ...job.fields, ...jobError.fields }), 'stderrText'],
};

/** A record for a job that is done, for each of its outputs, and for each of its errors; `type` tells them apart. */
export async function* listRunRecords(
  context: Context,
  done: KnownJob,
  outputs: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<Row> {
  yield { type: 'job', ...done };
  const engine = { ...createEngine(context, {}, { bulk: false }), streams: 1 };
  yield* runOrdered(outputs, (path) => readOutput(engine, context.account, path), bounds);
  for await (const error of addStderr(context, readStream(context, done.id, 'errors', false))) yield { type: 'error', ...error };
}
