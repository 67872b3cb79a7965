import type { ByteStream } from '../../api/message.ts';
import type { Context } from '../../cli/command.ts';
import { openStdin } from '../../cli/input.ts';
import { sliceList } from '../../base/batches.ts';
import { naming } from '../../base/error-copies.ts';
import { InterruptedError, NotFoundError, UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import { expandEntries, type NameForm } from '../../transfer/tree/glob.ts';
import { printRemotePath, readRemotePath } from '../../transfer/path.ts';
import type { JobContext } from './find.ts';
import { addBatch } from './resend.ts';

/** The part of the context that finding inputs needs. */
type InputContext = JobContext & Pick<Context, 'note'>;

/** Absolute paths of inputs, in lists as they become known. */
export type Inputs = AsyncIterable<string[]> | Iterable<string[]>;

/** Bytes of paths at which a batch is sent. */
const batchSize = 256 * 1024;
/** Milliseconds for which a batch waits for more paths. */
const timeoutMs = 20;
/** Number of paths in one list. */
const chunkLines = 1000;

/** Reads a path as users type it. @throws {UsageError} for a path that cannot be a line of a job's input */
function readInputPath(text: string, account: string): string {
  // Fast path: most lines of a long list are absolute paths already.
  if (/^\/[^/]/.test(text) && !/\/(\.{0,2}(\/|$))|[\0\r\n]/.test(text)) return text;
  const path = printRemotePath(readRemotePath(text, account));
  if (/\n|\r$/.test(path)) {
    throw new UsageError(`${JSON.stringify(path)}: an input of a job cannot contain a line end`, {
      hint: 'link the object to another name: cloud stor ln',
    });
  }
  return path;
}

/** Reads the paths on stdin, one a line, in lists as they arrive; empty lines are skipped. */
async function* readStdin({ account, world }: JobContext, stream: ByteStream): AsyncGenerator<string[]> {
  let number = 0;
  const readLine = (text: string): string[] => {
    number += 1;
    return text === '' ? [] : [naming(`stdin, line ${number}`, () => readInputPath(text, account))];
  };
  const { streamLineLists } = await import('../../cli/lines.ts');
  try {
    for await (const lines of streamLineLists(stream, 'stdin')) yield* splitList(lines.flatMap(readLine));
  } catch (error) {
    throw world.interrupted.aborted ? new InterruptedError('interrupted', { cause: error }) : error;
  }
}

/**
 * Returns the paths that a word names: one path, or the objects that match its pattern. Directories that match are counted in a note and
 * left out, because a job cannot read them. A directory that is named without a pattern is sent, and appears among the failures.
 * @throws {NotFoundError} when nothing matches
 */
async function expandWord({ storage, account, note }: InputContext, word: string, form: NameForm): Promise<string[]> {
  const found = [];
  let directories = 0;
  for await (const { path, type } of expandEntries(storage, account, word, form)) {
    if (type === 'directory') directories += 1;
    else found.push(readInputPath(printRemotePath(path), account));
  }
  if (directories === 0) return found;
  const what = directories === 1 ? 'a directory' : `${directories} directories`;
  if (found.length > 0) {
    note(`${word}: skipped ${what}: inputs of a job are objects`);
    return found;
  }
  throw new NotFoundError(`${word} matches only ${what}: inputs of a job are objects`, {
    hint: `to add their entries: ${quoteShell(`${word}/*`)}`,
  });
}

/**
 * Returns the inputs that words name: paths, patterns, and `-` for the lines of stdin, which is also read if there are no words and stdin is
 * not a terminal. Words are checked and patterns expanded immediately, before the job is created.
 */
export async function gatherInputs(context: InputContext, words: readonly string[], form: NameForm): Promise<Inputs> {
  const { world } = context;
  if (words.length === 0) return world.stdin.isTerminal ? [] : readStdin(context, openStdin(world) as ByteStream);
  if (!words.includes('-')) {
    const lists = [];
    for (const word of words) lists.push(await expandWord(context, word, form));
    return lists;
  }
  const pieces = [];
  for (const word of words) pieces.push(word === '-' ? (openStdin(world) as ByteStream) : await expandWord(context, word, form));
  return joinChunks(context, pieces);
}

/** Splits a list, so that a long one is sent in several requests. */
export function splitList(list: readonly string[]): Generator<string[]> {
  return sliceList(list, chunkLines);
}

async function* joinChunks(context: JobContext, pieces: readonly (string[] | ByteStream)[]): AsyncGenerator<string[]> {
  for (const piece of pieces) {
    if (Array.isArray(piece)) yield piece;
    else yield* readStdin(context, piece);
  }
}

function measure(paths: readonly string[]): number {
  return paths.reduce((sum, path) => sum + path.length + 1, 0);
}

async function waitBriefly<T>(next: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), timeoutMs);
  });
  try {
    return await Promise.race([next, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Collects lists into batches: large batches from a fast source, whatever is available from a slow one. */
async function* collectBatches(inputs: Inputs): AsyncGenerator<string[]> {
  const source = Symbol.asyncIterator in inputs ? inputs[Symbol.asyncIterator]() : inputs[Symbol.iterator]();
  const read = (): Promise<IteratorResult<string[], unknown>> => {
    const next = Promise.resolve(source.next());
    // A failure is thrown when its result is awaited.
    next.catch(() => undefined);
    return next;
  };
  for (let next = read(); ;) {
    const first = await next;
    if (first.done === true) return;
    const batch = [...first.value];
    let size = measure(batch);
    next = read();
    while (size < batchSize) {
      const more = await waitBriefly(next);
      if (more === undefined || more.done === true) break;
      for (const path of more.value) batch.push(path);
      size += measure(more.value);
      next = read();
    }
    yield batch;
  }
}

/**
 * Adds inputs to a job in batches, each after the response to the one before, which applies back-pressure to the source.
 * Calls `onFed` after each batch. Returns the number of inputs.
 * @param before number of inputs that the job has already; undefined when it is not known
 */
export async function feedInputs(
  context: JobContext,
  id: string,
  inputs: Inputs,
  before: number | undefined,
  onFed: (paths: readonly string[], total: number) => void = () => undefined,
): Promise<number> {
  let total = 0;
  for await (const batch of collectBatches(inputs)) {
    await addBatch(context, id, batch, before === undefined ? undefined : before + total);
    total += batch.length;
    onFed(batch, total);
  }
  return total;
}
