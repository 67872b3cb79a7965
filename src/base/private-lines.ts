import { closeSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { isSystemError } from './errors.ts';
import { openPrivate, UntrustedFile } from './private-files.ts';

/** Bytes per read. */
const chunkSize = 64 * 1024;

/** The lines of a file of this user, read synchronously in chunks: there may be a line per file of a tree. Empty if it cannot be read. */
export function* readPrivateLines(file: string): Generator<string> {
  let descriptor;
  try {
    descriptor = openPrivate(file).file;
    const [chunk, decoder] = [Buffer.allocUnsafe(chunkSize), new StringDecoder('utf8')];
    let rest = '';
    for (let length = readSync(descriptor, chunk); length > 0; length = readSync(descriptor, chunk)) {
      const lines = (rest + decoder.write(chunk.subarray(0, length))).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
    yield rest;
  } catch (error) {
    if (!isSystemError(error) && !(error instanceof UntrustedFile)) throw error;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
