import type { Writable } from 'node:stream';
import { ClosedPipe } from '../errors.ts';
import type { OutputStream } from '../world.ts';

/** Writes to a stream in large pieces and no faster than it takes them. */
export interface Writer {
  /** @throws the stream's error, {@link ClosedPipe} when its reader is gone. */
  readonly write: (text: string) => Promise<void> | undefined;
  /** Writes bytes as they are, after all text before them. */
  readonly writeBytes: (bytes: Uint8Array) => Promise<void> | undefined;
  /** Waits until everything is written. @throws as `write`. */
  readonly close: () => Promise<void>;
}

const pieceLength = 64 * 1024;

function describeClosed(cause?: unknown): Error {
  return new ClosedPipe('the output is closed', { cause });
}

/** Whether the system says that the reader is gone. */
function isClosed(error: Error): boolean {
  return 'code' in error && (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED');
}

/**
 * A writer to an output. Text is collected to pieces of 64 KiB, but waits at most until the program waits for something:
 * a record that has arrived is seen before the next one arrives. The stream is opened for what cannot be written without.
 */
export function createWriter(out: Pick<OutputStream, 'stream' | 'writeEarly'>): Writer {
  let opened: Writable | undefined;
  let text = '';
  let turn: NodeJS.Immediate | undefined;
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
    if (text !== '') schedule();
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

  function send(piece: string | Uint8Array): Promise<void> | undefined {
    const stream = open();
    if (failure !== undefined) return undefined;
    last = new Promise((resolve) => {
      const more = stream.write(piece, (error) => {
        if (error) fail(error);
        resolve();
      });
      if (!more && failure === undefined) block(stream);
    });
    return blocked;
  }

  function flush(): Promise<void> | undefined {
    clearImmediate(turn);
    turn = undefined;
    const piece = text;
    text = '';
    return piece === '' ? blocked : send(piece);
  }

  function schedule(): void {
    turn ??= setImmediate(() => {
      turn = undefined;
      if (blocked === undefined && failure === undefined) void flush();
    });
  }

  async function waitToFlush(): Promise<void> {
    await blocked;
    check();
    await flush();
    check();
  }

  function writeEarly(write: NonNullable<OutputStream['writeEarly']>): Uint8Array {
    try {
      return write(text);
    } catch (error) {
      throw error instanceof Error && isClosed(error) ? describeClosed(error) : error;
    }
  }

  function check(): void {
    if (failure !== undefined) throw failure;
  }

  return {
    write(more) {
      check();
      text += more;
      if (text.length >= pieceLength) return waitToFlush();
      schedule();
      return undefined;
    },
    writeBytes(bytes) {
      check();
      return (async () => {
        await waitToFlush();
        await send(bytes);
        check();
      })();
    },
    async close() {
      try {
        check();
        if (!opened && out.writeEarly !== undefined) {
          const rest = writeEarly(out.writeEarly);
          text = '';
          if (rest.length > 0) await send(rest);
        }
        await waitToFlush();
        await last;
        check();
        // After a failure the listener stays: the stream may still emit the error, which would end the process.
        opened?.off('error', fail);
      } finally {
        clearImmediate(turn);
        opened?.off('close', failClosed).off('drain', unblock);
      }
    },
  };
}

/** Writes text of our own as it is; a newline is added when it ends without one. */
export async function writeText(text: string, writer: Writer): Promise<void> {
  if (text !== '') await writer.write(text.endsWith('\n') ? text : `${text}\n`);
}
