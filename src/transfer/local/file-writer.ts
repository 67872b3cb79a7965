import type { FileHandle } from 'node:fs/promises';
import { findData } from './sparse.ts';

/** Bytes written at once. */
export const writeSize = 1024 * 1024;

/** Takes pieces and writes them. */
interface FileWriter {
  /** Resolves when more may come. @throws what an earlier write threw */
  add(piece: Uint8Array): Promise<void> | undefined;
  /** Resolves when everything is written. */
  flush(): Promise<void>;
  /** Where the written bytes end. */
  end(): number;
}

/** How pieces are written. */
export interface WriteOptions {
  /** Blocks of zeros become holes; the file ends where its last data does until it is extended. */
  readonly sparse: boolean;
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, at, bytes.length - at, position + at);
    at += bytesWritten;
  }
}

/** Writes pieces at increasing positions: many in one call, while the next ones come. */
function createFileWriter(handle: FileHandle, start: number, { sparse }: WriteOptions): FileWriter {
  let position = start;
  let pieces: Uint8Array[] = [];
  let size = 0;
  let writing: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;

  async function write(batch: readonly Uint8Array[], length: number): Promise<void> {
    if (sparse) {
      const bytes = Buffer.concat(batch);
      for (const range of findData(bytes, position)) await writeAll(handle, bytes.subarray(range.start, range.end), position + range.start);
    } else {
      const { bytesWritten } = await handle.writev(batch, position);
      // The system took a part only, as it does when the disk is nearly full.
      if (bytesWritten < length) await writeAll(handle, Buffer.concat(batch).subarray(bytesWritten), position + bytesWritten);
    }
    position += length;
  }

  async function begin(): Promise<void> {
    await writing;
    if (failure) throw failure.error;
    const [batch, length] = [pieces, size];
    pieces = [];
    size = 0;
    if (length === 0) return;
    writing = write(batch, length).catch((error: unknown) => {
      failure = { error };
    });
  }

  return {
    add: (piece) => {
      pieces.push(piece);
      size += piece.length;
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

/** Writes pieces while the next ones come. @returns the end of what was written */
export async function writePieces(
  pieces: AsyncIterable<Uint8Array>,
  handle: FileHandle,
  start: number,
  options: WriteOptions,
): Promise<number> {
  const writer = createFileWriter(handle, start, options);
  try {
    for await (const piece of pieces) {
      const waits = writer.add(piece);
      if (waits) await waits;
    }
  } finally {
    // What came before a failure is kept for the next try.
    await writer.flush();
  }
  return writer.end();
}
