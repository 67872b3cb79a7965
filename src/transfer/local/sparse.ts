/** Size in bytes of the blocks that become holes: the usual block size of file systems. */
const blockBytes = 4096;

const zeros = new Uint8Array(blockBytes);

/**
 * The ranges of bytes that have to be written; the blocks between them contain only zeros.
 * @param position the position of `bytes` in their file
 */
export function* findData(bytes: Uint8Array, position: number): Generator<{ start: number; end: number }> {
  let start: number | undefined;
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(bytes.length, at + blockBytes - ((position + at) % blockBytes));
    const isHole = Buffer.compare(bytes.subarray(at, end), zeros.subarray(0, end - at)) === 0;
    if (!isHole) start ??= at;
    else if (start !== undefined) {
      yield { start, end: at };
      start = undefined;
    }
    at = end;
  }
  if (start !== undefined) yield { start, end: bytes.length };
}
