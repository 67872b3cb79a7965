/** From this length on a body is gathered into large pieces, bytes. */
const longBody = 8 * 1024 * 1024;

/** Bytes in a large piece. */
const pieceSize = 256 * 1024;

/** Pieces below this size, bytes, are gathered too while nobody takes them: what holds one takes more memory than its bytes. */
const smallPiece = 512;
const gatheredSize = 16 * 1024;

/** Bytes that wait to be taken before the connection has to pause. */
const mostWaiting = 2 * 1024 * 1024;

/** What an inbox needs of its connection. */
interface InboxOptions {
  /** True when bytes have to be copied before `add` returns. */
  readonly isShared: boolean;
  /** There is room again. */
  readonly resume: () => void;
  /** Nobody wants the rest. */
  readonly leave: () => void;
}

/** The body of a reply between the connection that brings it and whoever reads it. */
export interface Inbox {
  /** How many bytes will come, when that is known. */
  readonly expect: (length: number | undefined) => void;
  readonly add: (bytes: Uint8Array) => void;
  readonly end: () => void;
  /** What came before is still given. */
  readonly fail: (error: unknown) => void;
  readonly hasRoom: () => boolean;
  /** The bytes, in larger pieces than they came in. To be read once. */
  readonly pieces: () => AsyncGenerator<Uint8Array>;
  /** All bytes, instead of `pieces`, when they have come in order to their end; undefined otherwise. */
  readonly takeWhole: () => Uint8Array | undefined;
}

/** Fills large pieces with small ones. */
function createGatherer(give: (piece: Uint8Array) => void): { gather: (bytes: Uint8Array, size: number) => void; cut: () => void } {
  let piece = Buffer.alloc(0);
  let [start, end] = [0, 0];

  /** What the large piece has so far becomes a piece; the rest of it is still to be filled. */
  function cut(): void {
    if (end > start) give(piece.subarray(start, end));
    start = end;
  }
  function gather(bytes: Uint8Array, size: number): void {
    for (let rest = bytes; rest.length > 0;) {
      if (end === piece.length) {
        cut();
        piece = Buffer.allocUnsafeSlow(size);
        [start, end] = [0, 0];
      }
      const part = rest.subarray(0, piece.length - end);
      piece.set(part, end);
      end += part.length;
      rest = rest.subarray(part.length);
    }
  }
  return { gather, cut };
}

/** Makes an inbox. Memory of each piece is its own: whoever reads may keep it. */
export function createInbox({ isShared, resume, leave }: InboxOptions): Inbox {
  let full: Uint8Array[] = [];
  let waiting = 0;
  let isLong = false;
  const { gather, cut } = createGatherer((piece) => void full.push(piece));
  const last: { isThere: boolean; failure?: { error: unknown } } = { isThere: false };
  let wake: (() => void) | undefined;

  function wakeReader(): void {
    wake?.();
    wake = undefined;
  }
  function add(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    // A connection brings several pieces in one turn of the event loop.
    if (waiting === 0) setImmediate(wakeReader);
    const isFirst = waiting === 0;
    waiting += bytes.length;
    if (isShared && isLong) gather(bytes, pieceSize);
    else if (bytes.length < smallPiece && !isFirst) gather(bytes, gatheredSize);
    else {
      // In the order in which they came.
      cut();
      full.push(isShared ? new Uint8Array(bytes) : bytes);
    }
  }
  function close(): void {
    last.isThere = true;
    wakeReader();
  }
  function takeAll(): Uint8Array[] {
    cut();
    const taken = full;
    full = [];
    waiting = 0;
    return taken;
  }
  async function* pieces(): AsyncGenerator<Uint8Array> {
    try {
      while (waiting > 0 || !last.isThere) {
        if (waiting > 0) {
          const taken = takeAll();
          if (!last.isThere) resume();
          yield* taken;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
      if (last.failure) throw last.failure.error;
    } finally {
      if (!last.isThere) leave();
    }
  }
  function takeWhole(): Uint8Array | undefined {
    if (!last.isThere || last.failure) return undefined;
    const taken = takeAll();
    return taken.length === 1 ? taken[0] : Buffer.concat(taken);
  }
  return {
    expect: (length) => (isLong = length !== undefined && length >= longBody),
    add,
    end: close,
    fail: (error) => {
      last.failure ??= { error };
      close();
    },
    hasRoom: () => waiting < mostWaiting,
    pieces,
    takeWhole,
  };
}
