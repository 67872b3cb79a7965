import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream';
import type { TLSSocket } from 'node:tls';

/**
 * Long bodies past the HTTP parser and the streams: once the head of a reply has told how many bytes come, they are copied from where the
 * connection puts them into large pieces. That takes a third of the time that a stream of 16 KiB pieces does, each with memory of its own.
 */

/** From this length on a body is worth a connection of its own, which is not used again, bytes. */
const longBody = 8 * 1024 * 1024;

/** Bytes in a piece. */
const pieceSize = 256 * 1024;

/** Pieces that wait to be taken before the connection has to pause. */
const mostWaiting = 8;

/** Bytes that a connection brings at once, at most. */
const readSize = 64 * 1024;

/** Who gets the bytes of a connection instead of its stream; false when they have to pause. */
type Taker = (bytes: Uint8Array) => boolean;

/** The takers of connections that can have one. */
const takers = new WeakMap<TLSSocket, { current: Taker | undefined }>();

/**
 * Makes a connection whose bytes can be taken directly; as long as nobody does, its stream has them. Over a socket that is there already
 * Node.js has nobody else told of the bytes: such a connection has its stream only.
 */
export function openTappable<O extends object>(options: O, connect: (options: O) => TLSSocket): TLSSocket {
  if ('socket' in options) return connect(options);
  const taker: { current: Taker | undefined } = { current: undefined };
  const buffer = Buffer.allocUnsafeSlow(readSize);
  const callback = (length: number): boolean => {
    const bytes = buffer.subarray(0, length);
    return taker.current ? taker.current(bytes) : socket.push(Buffer.from(bytes));
  };
  const socket = connect({ ...options, onread: { buffer, callback } });
  takers.set(socket, taker);
  return socket;
}

/** The length of a body that is worth it; undefined for any other, and where nothing can be taken. */
function measureLong(message: IncomingMessage, method: string): number | undefined {
  const { statusCode, socket } = message;
  // What the stream holds already goes through the parser.
  if (!takers.has(socket as TLSSocket) || socket.readableLength > 0) return undefined;
  const { headers } = message;
  const isWhole = method === 'GET' && (statusCode === 200 || statusCode === 206) && headers['transfer-encoding'] === undefined;
  if (!isWhole) return undefined;
  const length = Number(headers['content-length']);
  return length >= longBody ? length : undefined;
}

/** Bytes gathered into large pieces. */
function createGatherer() {
  let piece = Buffer.allocUnsafeSlow(pieceSize);
  let [start, end] = [0, 0];
  const full: Uint8Array[] = [];
  function close(): void {
    if (end > start) full.push(piece.subarray(start, end));
    start = end;
    if (end < pieceSize) return;
    piece = Buffer.allocUnsafeSlow(pieceSize);
    [start, end] = [0, 0];
  }
  return {
    add: (bytes: Uint8Array): void => {
      for (let rest = bytes; rest.length > 0;) {
        const part = rest.subarray(0, pieceSize - end);
        piece.set(part, end);
        end += part.length;
        rest = rest.subarray(part.length);
        if (end === pieceSize) close();
      }
    },
    waiting: () => full.length,
    /** What there is now, also of a piece that is not full. */
    take: (): Uint8Array[] => {
      close();
      return full.splice(0);
    },
  };
}

/**
 * Takes the body of a reply whose head has just come, when it is a long one. To be called while the event that brought the head is being
 * handled. The bytes must be taken or left; the connection is closed then.
 */
export function takeDirectly(message: IncomingMessage, method: string): AsyncGenerator<Uint8Array> | undefined {
  const length = measureLong(message, method);
  const socket = message.socket as TLSSocket;
  const taker = takers.get(socket);
  if (length === undefined || taker === undefined) return undefined;
  const gatherer = createGatherer();
  let missing = length;
  let isFirst = true;
  let failure: { error: unknown } | undefined;
  let wake: (() => void) | undefined;

  function wakeReader(): void {
    // A connection brings several times 16 KiB in one turn of the event loop.
    if (wake) setImmediate(wake);
    wake = undefined;
  }
  function add(bytes: Uint8Array): void {
    // More than was announced belongs to nobody.
    const part = bytes.subarray(0, missing);
    missing -= part.length;
    gatherer.add(part);
  }
  /** What came with the head has gone through the parser. */
  function takeFirst(): void {
    if (isFirst) add((message.read() as Buffer | null) ?? Buffer.alloc(0));
    isFirst = false;
  }
  taker.current = (bytes) => {
    takeFirst();
    add(bytes);
    wakeReader();
    return gatherer.waiting() < mostWaiting;
  };
  finished(message, { writable: false }, (error) => {
    failure = { error: error ?? Object.assign(new Error('truncated'), { code: 'TruncatedReply' }) };
    wakeReader();
  });
  async function* read(): AsyncGenerator<Uint8Array> {
    try {
      takeFirst();
      for (;;) {
        const pieces = gatherer.take();
        if (pieces.length > 0) {
          socket.resume();
          yield* pieces;
        } else if (missing === 0) return;
        else if (failure) throw failure.error;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      socket.destroy();
    }
  }
  return read();
}
