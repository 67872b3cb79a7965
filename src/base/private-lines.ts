import { closeSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { isSystemError } from './errors.ts';
import { openPrivate, UntrustedFile } from './private-files.ts';

/** Bytes per read. */
const pieceSize = 64 * 1024;

/** The lines of a file of this user, read synchronously in chunks: there may be a line per file of a tree. Empty if it cannot be read. */
export function* readPrivateLines(file: string): Generator<string> {
  let descriptor;
  try {
    descriptor = openPrivate(file).file;
    const [piece, decoder] = [Buffer.allocUnsafe(pieceSize), new StringDecoder('utf8')];
    let rest = '';
    for (let length = readSync(descriptor, piece); length > 0; length = readSync(descriptor, piece)) {
      const lines = (rest + decoder.write(piece.subarray(0, length))).split('\n');
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
