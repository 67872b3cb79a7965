import type { Writable } from 'node:stream';
import { ClosedPipe } from '../base/errors.ts';
import type { OutputStream } from '../base/world.ts';

/** Writes to a stream in large chunks, with back-pressure. */
export interface Writer {
  /** @throws the stream's error, {@link ClosedPipe} when its reader has closed it. */
  readonly write: (text: string) => Promise<void> | undefined;
  /** Writes bytes unchanged, after all earlier text. */
  readonly writeBytes: (bytes: Uint8Array) => Promise<void> | undefined;
  /** Waits until everything is written. @throws as `write`. */
  readonly close: () => Promise<void>;
}

const chunkLength = 64 * 1024;

function describeClosed(cause?: unknown): Error {
  return new ClosedPipe('the output is closed', { cause });
}

/** True if the reader has closed the stream. */
function isClosed(error: Error): boolean {
  return 'code' in error && (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED');
}

/** Opens a stream on the first `send`; handles its back-pressure and errors. */
interface Outlet {
  readonly isOpen: () => boolean;
  /** A promise while the stream applies back-pressure. */
  readonly blocked: () => Promise<void> | undefined;
  /** @throws the stream's error */
  readonly check: () => void;
  readonly hasFailed: () => boolean;
  readonly send: (chunk: string | Uint8Array) => Promise<void> | undefined;
  /** Waits until all sent chunks are written. @throws as `check` */
  readonly settle: () => Promise<void>;
  readonly release: () => void;
}

/** @param onFree called when the stream is ready for more */
function createOutlet(out: Pick<OutputStream, 'stream'>, onFree: () => void): Outlet {
  let opened: Writable | undefined;
  let failure: Error | undefined;
  let blocked: Promise<void> | undefined;
  let release: (() => void) | undefined;
  let last: Promise<void> | undefined;

  function fail(error: Error): void {
    failure ??= isClosed(error) ? describeClosed(error) : error;
    release?.();
  }
  const failClosed = (): void => fail(describeClosed());

  function open(): Writable {
    if (opened) return opened;
    opened = out.stream;
    if (opened.destroyed || opened.writableEnded) fail(describeClosed());
    return opened.on('error', fail).on('close', failClosed);
  }

  function unblock(): void {
    release?.();
    onFree();
  }

  function block(stream: Writable): void {
    stream.once('drain', unblock);
    blocked = new Promise((resolve) => {
      release = () => {
        blocked = release = undefined;
        resolve();
      };
    });
  }

  function check(): void {
    if (failure !== undefined) throw failure;
  }

  return {
    isOpen: () => opened !== undefined,
    blocked: () => blocked,
    check,
    hasFailed: () => failure !== undefined,
    send: (chunk) => {
      const stream = open();
      if (failure !== undefined) return undefined;
      last = new Promise((resolve) => {
        const more = stream.write(chunk, (error) => {
          if (error) fail(error);
          resolve();
        });
        if (!more && failure === undefined) block(stream);
      });
      return blocked;
    },
    settle: async () => {
      await last;
      check();
      // After a failure the listener stays: the stream may still emit the error, which would otherwise end the process.
      opened?.off('error', fail);
    },
    release: () => void opened?.off('close', failClosed).off('drain', unblock),
  };
}

function writeEarly(write: NonNullable<OutputStream['writeEarly']>, text: string): Uint8Array {
  try {
    return write(text);
  } catch (error) {
    throw error instanceof Error && isClosed(error) ? describeClosed(error) : error;
  }
}

/**
 * A writer to an output. Collects text into chunks of 64 KiB, but flushes it in the next turn of the event loop: a record is visible before
 * the next one arrives. The stream is opened only for data that cannot be written without it.
 */
export function createWriter(out: Pick<OutputStream, 'stream' | 'writeEarly'>): Writer {
  let text = '';
  let turn: NodeJS.Immediate | undefined;
  const outlet = createOutlet(out, () => {
    if (text !== '') schedule();
  });

  function flush(): Promise<void> | undefined {
    clearImmediate(turn);
    turn = undefined;
    const chunk = text;
    text = '';
    return chunk === '' ? outlet.blocked() : outlet.send(chunk);
  }

  function schedule(): void {
    turn ??= setImmediate(() => {
      turn = undefined;
      if (outlet.blocked() === undefined && !outlet.hasFailed()) void flush();
    });
  }

  async function waitToFlush(): Promise<void> {
    await outlet.blocked();
    outlet.check();
    await flush();
    outlet.check();
  }

  return {
    write(more) {
      outlet.check();
      text += more;
      if (text.length >= chunkLength) return waitToFlush();
      schedule();
      return undefined;
    },
    writeBytes(bytes) {
      outlet.check();
      return (async () => {
        await waitToFlush();
        await outlet.send(bytes);
        outlet.check();
      })();
    },
    async close() {
      try {
        outlet.check();
        if (!outlet.isOpen() && out.writeEarly !== undefined) {
          const rest = writeEarly(out.writeEarly, text);
          text = '';
          if (rest.length > 0) await outlet.send(rest);
        }
        await waitToFlush();
        await outlet.settle();
      } finally {
        clearImmediate(turn);
        outlet.release();
      }
    },
  };
}

/** Writes our own text unchanged; a newline is added if missing. */
export async function writeText(text: string, writer: Writer): Promise<void> {
  if (text !== '') await writer.write(text.endsWith('\n') ? text : `${text}\n`);
}
