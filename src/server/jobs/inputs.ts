import type { ByteStream } from '../../api/message.ts';
import type { storage } from '../../api/storage.ts';
import { ApiError } from '../../errors.ts';
import type { Call, Handler } from '../handler.ts';
import type { JobEngine } from './engine.ts';
import { refuseState, requireJob } from './find.ts';
import { addPhaseInputs, advancePhases, listPhases } from './progress.ts';

/** Lines that are written together, and most characters of one. */
const batchSize = 1000;
const longestLine = 64 * 1024;

/**
 * Adds objects to the input of a job while they arrive. Lines end in LF or CR LF, empty ones count for nothing; with
 * `?end=true` the last of them ends the input. What had arrived when a request broke off stays added.
 */
export function createAddJobInputs(wake: JobEngine['wake']): Handler<typeof storage.addJobInputs> {
  return async ({ id, body, end }, call) => {
    if (end !== undefined && end !== 'true' && end !== 'false') {
      throw new ApiError(400, 'InvalidParameter', `end is "${end}": it must be true or false`);
    }
    await checkOpen(call, id);
    for await (const lines of readBatches(body)) {
      await addInputs(call, id, lines);
      wake(id);
    }
    if (end !== 'true') return {};
    await call.store.write(async (transaction) => {
      checkState(await requireJob(transaction, call, id));
      await transaction.updateTable('jobs').set({ input_done: 1 }).where('id', '=', id).execute();
      await advancePhases(transaction, id, true);
    });
    wake(id);
    return {};
  };
}

type State = Awaited<ReturnType<typeof requireJob>>;

function checkState({ id, cancelled, state, input_done }: State): void {
  const wanted = 'it takes no further input';
  if (cancelled === 1) throw refuseState(id, 'was cancelled', wanted);
  if (state === 'done') throw refuseState(id, 'is done', wanted);
  if (input_done === 1) throw refuseState(id, 'has had its input ended', wanted);
}

async function checkOpen(call: Call, id: string): Promise<void> {
  checkState(await requireJob(call.store.db, call, id));
}

async function addInputs(call: Call, id: string, lines: readonly string[]): Promise<void> {
  await call.store.write(async (transaction) => {
    checkState(await requireJob(transaction, call, id));
    const [first] = await listPhases(transaction, id);
    if (!first) throw new Error(`job ${id} has no phases`);
    await addPhaseInputs(
      transaction,
      first,
      lines.map((input) => ({ input, origin: input })),
    );
  });
}

/** The lines of a body in batches, without their ends. */
async function* readBatches(body: ByteStream | Uint8Array): AsyncGenerator<string[]> {
  let batch: string[] = [];
  let rest = '';
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const piece of body instanceof Uint8Array ? [body] : body) {
    const lines = `${rest}${decodePiece(decoder, piece)}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) addLine(batch, line);
    if (rest.length > longestLine) throw refuseLine(rest);
    if (batch.length < batchSize) continue;
    yield batch;
    batch = [];
  }
  addLine(batch, `${rest}${decodePiece(decoder)}`);
  if (batch.length > 0) yield batch;
}

function addLine(batch: string[], line: string): void {
  const path = line.endsWith('\r') ? line.slice(0, -1) : line;
  if (path.length > longestLine) throw refuseLine(path);
  if (path.includes('\0')) throw new ApiError(400, 'BadRequest', `a line has a NUL character: ${JSON.stringify(path.slice(0, 40))}`);
  if (path !== '') batch.push(path);
}

function refuseLine(line: string): ApiError {
  return new ApiError(
    400,
    'BadRequest',
    `a line begins with ${line.slice(0, 40)} and has more than ${longestLine} characters: not the path of an object`,
  );
}

function decodePiece(decoder: InstanceType<typeof TextDecoder>, piece?: Uint8Array): string {
  try {
    return piece === undefined ? decoder.decode() : decoder.decode(piece, { stream: true });
  } catch {
    throw new ApiError(400, 'BadRequest', 'the body is not UTF-8: paths of objects are');
  }
}
