import type { FileHandle } from 'node:fs/promises';

/** Bytes written at once. */
export const writeSize = 1024 * 1024;

/** Takes pieces and writes them. */
export interface FileWriter {
  /** Resolves when more may come. @throws what an earlier write threw */
  add(piece: Uint8Array): Promise<void> | undefined;
  /** Resolves when everything is written. */
  flush(): Promise<void>;
  /** Where the written bytes end. */
  end(): number;
}

/** Writes pieces at increasing positions: many in one call, while the next ones come. */
export function createFileWriter(handle: FileHandle, start: number): FileWriter {
  let position = start;
  let pieces: Uint8Array[] = [];
  let size = 0;
  let writing: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;

  async function write(batch: readonly Uint8Array[], length: number): Promise<void> {
    const { bytesWritten } = await handle.writev(batch, position);
    position += bytesWritten;
    if (bytesWritten === length) return;
    // The system took a part only, as it does when the disk is nearly full.
    for (let rest = Buffer.concat(batch).subarray(bytesWritten); rest.length > 0;) {
      const more = await handle.write(rest, 0, rest.length, position);
      position += more.bytesWritten;
      rest = rest.subarray(more.bytesWritten);
    }
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
