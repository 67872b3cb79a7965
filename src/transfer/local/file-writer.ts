import type { FileHandle } from 'node:fs/promises';
import { findData } from './sparse.ts';

/** Bytes written in one call. */
export const writeSize = 1024 * 1024;

interface FileWriter {
  /** Resolves when more may follow. @throws the error of an earlier write */
  add(chunk: Uint8Array): Promise<void> | undefined;
  /** Resolves when everything is written. */
  flush(): Promise<void>;
  /** The position after the last byte written. */
  end(): number;
}

/** How chunks are written. */
export interface WriteOptions {
  /** Blocks of zeros become holes. A hole at the end is missing until the file is extended by `truncate`. */
  readonly sparse: boolean;
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, at, bytes.length - at, position + at);
    at += bytesWritten;
  }
}

/** Writes chunks at increasing positions: many in one call, while the next ones arrive. */
function createFileWriter(handle: FileHandle, start: number, { sparse }: WriteOptions): FileWriter {
  let position = start;
  let chunks: Uint8Array[] = [];
  let size = 0;
  let writing: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;

  async function write(batch: readonly Uint8Array[], length: number): Promise<void> {
    if (sparse) {
      const bytes = Buffer.concat(batch);
      for (const range of findData(bytes, position)) await writeAll(handle, bytes.subarray(range.start, range.end), position + range.start);
    } else {
      const { bytesWritten } = await handle.writev(batch, position);
      // A short write, as when the disk is nearly full.
      if (bytesWritten < length) await writeAll(handle, Buffer.concat(batch).subarray(bytesWritten), position + bytesWritten);
    }
    position += length;
  }

  async function begin(): Promise<void> {
    await writing;
    if (failure) throw failure.error;
    const [batch, length] = [chunks, size];
    chunks = [];
    size = 0;
    if (length === 0) return;
    writing = write(batch, length).catch((error: unknown) => {
      failure = { error };
    });
  }

  return {
    add: (chunk) => {
      chunks.push(chunk);
      size += chunk.length;
      return size >= writeSize ? begin() : undefined;
    },
    flush: async () => {
      await begin();
      await writing;
      if (failure) throw failure.error;
    },
    end: () => position,
  };
}

/** Writes chunks while the next ones arrive. @returns the position after the last byte written */
export async function writeChunks(
  chunks: AsyncIterable<Uint8Array>,
  handle: FileHandle,
  start: number,
  options: WriteOptions,
): Promise<number> {
  const writer = createFileWriter(handle, start, options);
  try {
    for await (const chunk of chunks) {
      const waits = writer.add(chunk);
      if (waits) await waits;
    }
  } finally {
    // What arrived before a failure is kept for the next attempt.
    await writer.flush();
  }
  return writer.end();
}
