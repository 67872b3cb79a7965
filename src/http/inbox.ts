import type { Socket } from 'node:net';

/** Bodies of at least this length are collected into large chunks, bytes. */
const longBody = 8 * 1024 * 1024;

/** Size of a large chunk, bytes. */
const chunkSize = 256 * 1024;

/** Unread chunks below this size, bytes, are collected too: the object of a chunk takes more memory than its bytes. */
const smallChunk = 512;
const gatheredSize = 16 * 1024;

/** Maximum number of unread bytes before the connection is paused. */
const mostWaiting = 2 * 1024 * 1024;

const noBytes = Buffer.alloc(0);

/** Buffers the body of a response between the connection and its reader. Each chunk has its own memory: the reader may keep it. */
export class Inbox {
  readonly #socket: Socket;
  /** True when bytes have to be copied before `add` returns. */
  readonly #isShared: boolean;
  #full: Uint8Array[] = [];
  /** Number of unread bytes. */
  #waiting = 0;
  #isLong = false;
  #isEnded = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;
  /** The large chunk into which small ones are collected; from `#start` to `#end` it holds bytes that are not in `#full` yet. */
  #large: Buffer = noBytes;
  #start = 0;
  #end = 0;

  constructor(socket: Socket, isShared: boolean) {
    this.#socket = socket;
    this.#isShared = isShared;
  }

  /** Sets the number of bytes to come, if known. */
  expect(length: number | undefined): void {
    this.#isLong = length !== undefined && length >= longBody;
  }

  add(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    // A connection delivers several chunks in one turn of the event loop.
    if (this.#waiting === 0 && this.#wake !== undefined) setImmediate(() => this.#wakeReader());
    const isFirst = this.#waiting === 0;
    this.#waiting += bytes.length;
    if (this.#isShared && this.#isLong) this.#gather(bytes, chunkSize);
    else if (bytes.length < smallChunk && !isFirst) this.#gather(bytes, gatheredSize);
    else {
      // First emit what was collected, to keep the order.
      this.#cut();
      this.#full.push(this.#isShared ? new Uint8Array(bytes) : bytes);
    }
  }

  end(): void {
    this.#isEnded = true;
    this.#wakeReader();
  }

  /** Fails after the bytes that arrived before have been read. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.end();
  }

  hasRoom(): boolean {
    return this.#waiting < mostWaiting;
  }

  /** The bytes, in larger chunks than they arrived in. Can be read only once. */
  async *chunks(): AsyncGenerator<Uint8Array> {
    try {
      while (this.#waiting > 0 || !this.#isEnded) {
        if (this.#waiting > 0) {
          const taken = this.#takeAll();
          if (!this.#isEnded) this.#socket.resume();
          yield* taken;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
      if (this.#failure) throw this.#failure.error;
    } finally {
      // The reader does not want the rest.
      if (!this.#isEnded) this.#socket.destroy();
    }
  }

  /** All bytes, instead of `chunks`, if the body has ended without an error; undefined otherwise. */
  takeWhole(): Uint8Array | undefined {
    if (!this.#isEnded || this.#failure) return undefined;
    const taken = this.#takeAll();
    return taken.length === 1 ? taken[0] : Buffer.concat(taken);
  }

  #wakeReader(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  /** Emits what the large chunk contains so far; its remaining space is filled later. */
  #cut(): void {
    if (this.#end > this.#start) this.#full.push(this.#large.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }

  /** Collects small chunks into large ones of this size. */
  #gather(bytes: Uint8Array, size: number): void {
    for (let rest = bytes; rest.length > 0;) {
      if (this.#end === this.#large.length) {
        this.#cut();
        this.#large = Buffer.allocUnsafeSlow(size);
        this.#start = this.#end = 0;
      }
      const part = rest.subarray(0, this.#large.length - this.#end);
      this.#large.set(part, this.#end);
      this.#end += part.length;
      rest = rest.subarray(part.length);
    }
  }

  #takeAll(): Uint8Array[] {
    this.#cut();
    const taken = this.#full;
    this.#full = [];
    this.#waiting = 0;
    return taken;
  }
}
