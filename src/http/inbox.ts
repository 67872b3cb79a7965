/** Bodies of at least this length are collected into large chunks, bytes. */
const longBody = 8 * 1024 * 1024;

/** Size of a large chunk, bytes. */
const chunkSize = 256 * 1024;

/** Unread chunks below this size, bytes, are collected too: the object of a chunk takes more memory than its bytes. */
const smallChunk = 512;
const gatheredSize = 16 * 1024;

/** Maximum number of unread bytes before the connection is paused. */
const mostWaiting = 2 * 1024 * 1024;

/** What an inbox needs from its connection. */
interface InboxOptions {
  /** True when bytes have to be copied before `add` returns. */
  readonly isShared: boolean;
  /** Called when there is room for more bytes. */
  readonly resume: () => void;
  /** Called when the reader does not want the rest. */
  readonly leave: () => void;
}

/** Buffers the body of a response between the connection and its reader. */
export interface Inbox {
  /** Sets the number of bytes to come, if known. */
  readonly expect: (length: number | undefined) => void;
  readonly add: (bytes: Uint8Array) => void;
  readonly end: () => void;
  /** Fails after the bytes that arrived before have been read. */
  readonly fail: (error: unknown) => void;
  readonly hasRoom: () => boolean;
  /** The bytes, in larger chunks than they arrived in. Can be read only once. */
  readonly chunks: () => AsyncGenerator<Uint8Array>;
  /** All bytes, instead of `chunks`, if the body has ended without an error; undefined otherwise. */
  readonly takeWhole: () => Uint8Array | undefined;
}

/** Collects small chunks into large ones. */
function createGatherer(give: (chunk: Uint8Array) => void): { gather: (bytes: Uint8Array, size: number) => void; cut: () => void } {
  let chunk = Buffer.alloc(0);
  let [start, end] = [0, 0];

  /** Emits what the large chunk contains so far; its remaining space is filled later. */
  function cut(): void {
    if (end > start) give(chunk.subarray(start, end));
    start = end;
  }
  function gather(bytes: Uint8Array, size: number): void {
    for (let rest = bytes; rest.length > 0;) {
      if (end === chunk.length) {
        cut();
        chunk = Buffer.allocUnsafeSlow(size);
        [start, end] = [0, 0];
      }
      const part = rest.subarray(0, chunk.length - end);
      chunk.set(part, end);
      end += part.length;
      rest = rest.subarray(part.length);
    }
  }
  return { gather, cut };
}

/** Creates an inbox. Each chunk has its own memory: the reader may keep it. */
export function createInbox({ isShared, resume, leave }: InboxOptions): Inbox {
  let full: Uint8Array[] = [];
  let waiting = 0;
  let isLong = false;
  const { gather, cut } = createGatherer((chunk) => void full.push(chunk));
  const last: { isThere: boolean; failure?: { error: unknown } } = { isThere: false };
  let wake: (() => void) | undefined;

  function wakeReader(): void {
    wake?.();
    wake = undefined;
  }
  function add(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    // A connection delivers several chunks in one turn of the event loop.
    if (waiting === 0 && wake !== undefined) setImmediate(wakeReader);
    const isFirst = waiting === 0;
    waiting += bytes.length;
    if (isShared && isLong) gather(bytes, chunkSize);
    else if (bytes.length < smallChunk && !isFirst) gather(bytes, gatheredSize);
    else {
      // First emit what was collected, to keep the order.
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
  async function* chunks(): AsyncGenerator<Uint8Array> {
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
    chunks,
    takeWhole,
  };
}
