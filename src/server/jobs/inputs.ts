import { createHash } from 'node:crypto';
import type { Transaction } from 'kysely';
import { streamOf, type ByteStream } from '../../api/message.ts';
import type { storage } from '../../api/storage.ts';
import { countOf } from '../../base/count.ts';
import { ApiError } from '../../base/errors.ts';
import type { Call, Handler } from '../http/handler.ts';
import { countRows } from '../store/count-rows.ts';
import type { JobRow } from '../store/job-schema.ts';
import type { Schema } from '../store/schema.ts';
import { assertWithinLimit } from '../limit.ts';
import { assertMd5, assertSameMd5 } from '../storage/headers.ts';
import { assertQuotaLeft } from '../storage/quota.ts';
import type { JobEngine } from './engine.ts';
import { createStateError, requireJob, requireLockedJob } from './find.ts';
import { readParty, type StoredParty } from './party.ts';
import { addPhaseInputs, advancePhases, listPhases } from './progress.ts';

/** Lines written per transaction, characters of a body that a request holds until it writes them, and maximum characters of a line. */
const batchSize = 1000;
const batchCharacters = 1024 * 1024;
const longestLine = 64 * 1024;

/**
 * Adds objects to the input of a job. Lines end in LF or CR LF; empty lines are ignored; with `?end=true` the last line ends the input. A
 * body of up to 1,000 lines and 1 MiB is added completely or not at all. If a longer body fails, the error says how many lines were added.
 */
export function createAddJobInputs(wake: JobEngine['wake']): Handler<typeof storage.addJobInputs> {
  return async ({ id, body, end }, call) => {
    if (end !== undefined && end !== 'true' && end !== 'false') {
      throw new ApiError(400, 'InvalidParameter', `end is "${end}": it must be true or false`);
    }
    checkState(await requireJob(call.store.db, call, id));
    const { 'content-md5': md5 } = call.headers;
    assertMd5(md5);
    await assertQuotaLeft(call.store.db, call);
    let added = 0;
    try {
      const chunks = body instanceof Uint8Array ? streamOf(body) : body;
      for await (const { lines, isLast } of readBatches(md5 === undefined ? chunks : checkMd5(chunks, md5))) {
        const ends = isLast && end === 'true';
        if (lines.length > 0 || ends) await addInputs(call, id, lines, ends);
        added += lines.length;
        wake(id);
      }
    } catch (error) {
      throw added > 0 && error instanceof ApiError ? tellAdded(error, added) : error;
    }
    return {};
  };
}

/** Adds to the message how many inputs were added before the error. */
function tellAdded(error: ApiError, added: number): ApiError {
  error.message = `${error.message}; the ${countOf(added, 'input before this one was', 'inputs before this one were')} added`;
  return error;
}

function checkState({ id, cancelled, state, input_done }: JobRow): void {
  const wanted = 'it accepts no more input';
  if (cancelled === 1) throw createStateError(id, 'was cancelled', wanted);
  if (state === 'done') throw createStateError(id, 'is done', wanted);
  if (input_done === 1) throw createStateError(id, 'has ended its input', wanted);
}

/** The number of a party that adds inputs to a job; null if it is the creator with the access of the creation. */
async function numberAdder(transaction: Transaction<Schema>, job: JobRow, adder: StoredParty): Promise<number | null> {
  const { account, user, access } = adder;
  if (account === (job.creator ?? job.account) && user === job.user && access === job.access) return null;
  const known = await transaction
    .selectFrom('job_adders')
    .select('number')
    .where('job', '=', job.id)
    .where('account', '=', account)
    .where('user', 'is not distinct from', user)
    .where('access', '=', access)
    .executeTakeFirst();
  if (known) return known.number;
  const count = await countRows(transaction.selectFrom('job_adders').where('job', '=', job.id));
  await transaction
    .insertInto('job_adders')
    .values({ job: job.id, number: count, ...adder })
    .execute();
  return count;
}

/** Adds lines to the input of a job, and ends it if `ends` is set, in one transaction. */
async function addInputs(call: Call, id: string, lines: readonly string[], ends: boolean): Promise<void> {
  const party = await readParty(call);
  await call.store.writeEntry(async (transaction) => {
    const job = await requireLockedJob(transaction, call, id);
    checkState(job);
    const [first] = await listPhases(transaction, id);
    if (!first) throw new Error(`job ${id} has no phases`);
    assertWithinLimit(call.settings, 'jobInputs', first.inputs + lines.length, { has: 'a job has', counted: 'inputs' });
    const adder = await numberAdder(transaction, job, party);
    await addPhaseInputs(
      transaction,
      first,
      lines.map((input) => ({ input, origin: input, adder, given: 0 })),
    );
    if (!ends) return;
    await transaction.updateTable('jobs').set({ input_done: 1 }).where('id', '=', id).execute();
    await advancePhases(transaction, id, true);
  });
}

/** The chunks of a body. @throws {ApiError} 400 `ContentMD5Mismatch` at its end, if its MD5 is not the expected one */
async function* checkMd5(body: ByteStream, expected: string): ByteStream & AsyncGenerator<Uint8Array> {
  const hash = createHash('md5');
  for await (const chunk of body) {
    hash.update(chunk);
    yield chunk;
  }
  assertSameMd5(expected, hash.digest('base64'));
}

interface Batch {
  readonly lines: readonly string[];
  readonly isLast: boolean;
}

/**
 * Splits a body into batches of lines, without line ends. Full batches are yielded when more lines follow, the last batch when the body is
 * complete.
 */
async function* readBatches(body: ByteStream): AsyncGenerator<Batch> {
  const waiting: string[] = [];
  let rest = '';
  /** Characters of the texts that the waiting lines are parts of: while one line is held, so is its whole text. */
  let held = 0;
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const chunk of body) {
    const text = decodeChunk(decoder, chunk);
    const lines = `${rest}${text}`.split('\n');
    held += text.length;
    rest = lines.pop() ?? '';
    for (const line of lines) addLine(waiting, line);
    if (rest.length > longestLine) throw createLineError(rest);
    while (waiting.length > batchSize || held > batchCharacters) {
      held = 0;
      yield { lines: waiting.splice(0, batchSize), isLast: false };
    }
  }
  addLine(waiting, `${rest}${decodeChunk(decoder)}`);
  while (waiting.length > batchSize) yield { lines: waiting.splice(0, batchSize), isLast: false };
  yield { lines: waiting, isLast: true };
}

function addLine(batch: string[], line: string): void {
  const path = line.endsWith('\r') ? line.slice(0, -1) : line;
  if (path.length > longestLine) throw createLineError(path);
  if (path.includes('\0')) throw new ApiError(400, 'BadRequest', `a line contains a NUL character: ${JSON.stringify(path.slice(0, 40))}`);
  if (path !== '') batch.push(path);
}

function createLineError(line: string): ApiError {
  return new ApiError(
    400,
    'BadRequest',
    `a line begins with ${line.slice(0, 40)} and has more than ${longestLine} characters: not the path of an object`,
  );
}

function decodeChunk(decoder: InstanceType<typeof TextDecoder>, chunk?: Uint8Array): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw new ApiError(400, 'BadRequest', 'the body is not UTF-8: paths of objects are');
  }
}
