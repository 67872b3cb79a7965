import { createReadStream, mkdirSync } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { isSystemError } from '../../errors.ts';
import { comparePaths } from '../order.ts';

/** What is known of an object without asking: which local modification time belongs to which version. */
export interface Known {
  readonly rel: string;
  readonly etag: string;
  /** Whole milliseconds since the epoch. */
  readonly mtime: number;
  /** Base64, when it was found out. */
  readonly md5?: string | undefined;
}

function readLine(line: string): Known | undefined {
  try {
    const [rel, etag, mtime, md5] = JSON.parse(line) as unknown[];
    if (typeof rel !== 'string' || typeof etag !== 'string' || typeof mtime !== 'number') return undefined;
    return { rel, etag, mtime, ...(typeof md5 === 'string' && { md5 }) };
  } catch {
    return undefined;
  }
}

/** What an earlier run wrote, in the order of `comparePaths`. A line, or a file, that cannot be read is as good as none. */
export async function* readMemory(file: string): AsyncGenerator<Known> {
  try {
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      const known = readLine(line);
      if (known) yield known;
    }
  } catch (error) {
    if (!isSystemError(error)) throw error;
  }
}

/** Writes the memory of this run, in the order of `comparePaths`. */
export interface MemoryWriter {
  note(known: Known): Promise<void>;
  /** Puts it in the place of the old one. What is old about paths that a run did not get to is kept when it was not whole. */
  close(isWhole: boolean): Promise<void>;
}

const pieceSize = 64 * 1024;

const forgetful: MemoryWriter = { note: () => Promise.resolve(), close: () => Promise.resolve() };

/**
 * Begins the memory of a run. Where it cannot be written (no space, no right) the run does its work without: the next one asks again.
 * @param id makes the temporary name this run's own
 */
export async function createMemoryWriter(file: string, id: string): Promise<MemoryWriter> {
  const temporary = `${file}.${id}`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    return writeTo(file, temporary, await open(temporary, 'w', 0o600));
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return forgetful;
  }
}

function writeTo(file: string, temporary: string, handle: FileHandle): MemoryWriter {
  let text = '';
  let isFailed = false;
  async function flush(): Promise<void> {
    const piece = text;
    text = '';
    try {
      if (!isFailed) await handle.writeFile(piece);
    } catch (error) {
      if (!isSystemError(error)) throw error;
      isFailed = true;
    }
  }
  let last = '';
  async function note({ rel, etag, mtime, md5 }: Known): Promise<void> {
    last = rel;
    text += `${JSON.stringify([rel, etag, mtime, ...(md5 === undefined ? [] : [md5])])}\n`;
    if (text.length > pieceSize) await flush();
  }
  async function close(isWhole: boolean): Promise<void> {
    if (!isWhole) {
      const reached = last;
      for await (const known of readMemory(file)) if (comparePaths(known.rel, reached) > 0) await note(known);
    }
    await flush();
    await handle.close();
    await (isFailed ? rm(temporary, { force: true }) : rename(temporary, file));
  }
  return { note, close };
}
