import type { Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { constants, createDeflateRaw, createInflateRaw } from 'node:zlib';
import { streamOf, type Body, type ByteStream } from '../../api/message.ts';

/**
 * Repetitive contents, like the error records of a job, are stored compressed. Their ids end in `.z`, which matters only to code that reads
 * or writes contents.
 */
const suffix = '.z';

/** The id of a content that is stored compressed. */
export function markCompressed(id: string): string {
  return `${id}${suffix}`;
}

/** True if the file of a content is compressed. */
export function isCompressed(id: string): boolean {
  return id.endsWith(suffix);
}

/** Compresses a body. `measure` and `hash` refer to the bytes before compression. */
export function compress(body: Body, hash: Hash): { stream: ByteStream; measure: () => number } {
  let size = 0;
  async function* count(): AsyncGenerator<Uint8Array> {
    for await (const chunk of body instanceof Uint8Array ? streamOf(body) : body) {
      size += chunk.length;
      hash.update(chunk);
      yield chunk;
    }
  }
  async function* deflate(): AsyncGenerator<Uint8Array> {
    const source = Readable.from(count());
    const target = createDeflateRaw({ level: constants.Z_BEST_SPEED });
    source.on('error', (error) => target.destroy(error)).pipe(target);
    try {
      for await (const chunk of target) yield chunk as Uint8Array;
    } finally {
      source.destroy();
      target.destroy();
    }
  }
  return { stream: deflate(), measure: () => size };
}

/** Decompresses the bytes from `start` up to, not including, `end`, then closes the source. @throws when it ends too early */
export async function* inflateRange(source: Readable, start: number, end: number): AsyncGenerator<Uint8Array> {
  const target = createInflateRaw();
  source.on('error', (error) => target.destroy(error)).pipe(target);
  let at = 0;
  try {
    for await (const chunk of target) {
      const bytes = chunk as Uint8Array;
      const [from, to] = [Math.max(0, start - at), Math.min(bytes.length, end - at)];
      if (from < to) yield bytes.subarray(from, to);
      at += bytes.length;
      if (at >= end) return;
    }
    throw new Error(`a content ends ${end - at} bytes early`);
  } finally {
    source.destroy();
    target.destroy();
  }
}
