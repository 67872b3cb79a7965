import { connect } from 'node:net';

/** What came back over a connection. */
export interface RawReply {
  /** 0 when the connection ended without a response. */
  readonly status: number;
  /** Status and reason phrase as they came. */
  readonly reason: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  /** What came behind the body. */
  readonly after: Buffer;
  /** Whether the body is as long as the response says. */
  readonly isWhole: boolean;
  readonly milliseconds: number;
  /** True when nothing ended the exchange in time. */
  readonly hung: boolean;
}

function readHead(text: string): { status: number; reason: string; headers: Map<string, string> } {
  const [first = '', ...lines] = text.split('\r\n');
  const headers = new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  return { status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1] ?? 0), reason: first.replace(/^HTTP\/1\.1 /u, ''), headers };
}

/** A chunked body put together; undefined when its end is not there. */
function joinChunks(bytes: Buffer): Buffer | undefined {
  const pieces: Buffer[] = [];
  for (let at = 0; ;) {
    const line = bytes.indexOf('\r\n', at);
    if (line === -1) return undefined;
    const size = Number.parseInt(bytes.subarray(at, line).toString('latin1'), 16);
    if (Number.isNaN(size) || line + 2 + size + 2 > bytes.length) return undefined;
    if (size === 0) return Buffer.concat(pieces);
    pieces.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}

type Read = Pick<RawReply, 'status' | 'reason' | 'headers' | 'body' | 'after' | 'isWhole'>;

const nothing = Buffer.alloc(0);

/** What has come, taken apart; interim responses are dropped. A body without a length, as HTTP/1.0 has it, is whole when the connection `isClosed`. */
function readResponse(bytes: Buffer, method: string, isClosed: boolean): Read {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return { status: 0, reason: '', headers: new Map(), body: bytes, after: nothing, isWhole: false };
  const { status, reason, headers } = readHead(bytes.subarray(0, end).toString('latin1'));
  const rest = bytes.subarray(end + 4);
  if (status >= 100 && status < 200) return readResponse(rest, method, isClosed);
  if (method === 'HEAD' || status === 204 || status === 304) return { status, reason, headers, body: nothing, after: rest, isWhole: true };
  if (headers.get('transfer-encoding') === 'chunked') {
    const body = joinChunks(rest);
    return { status, reason, headers, body: body ?? rest, after: nothing, isWhole: body !== undefined };
  }
  const announced = headers.get('content-length');
  if (announced === undefined) return { status, reason, headers, body: rest, after: nothing, isWhole: isClosed };
  const length = Number(announced);
  return { status, reason, headers, body: rest.subarray(0, length), after: rest.subarray(length), isWhole: rest.length >= length };
}

/** How bytes are sent and the answer is awaited. */
export interface RawOptions {
  readonly port: number;
  readonly method: string;
  /** Most milliseconds that the answer may take. */
  readonly limit: number;
  /** True when nothing more will come: the connection is half closed. */
  readonly ends: boolean;
}

/** Sends bytes over a connection of their own, piece by piece, and reads what is answered until it is whole or the connection ends. */
export function exchangeRaw(pieces: readonly Buffer[], { port, method, limit, ends }: RawOptions): Promise<RawReply> {
  return new Promise((resolve) => {
    const started = performance.now();
    const received: Buffer[] = [];
    const socket = connect(port, '127.0.0.1');
    const finish = (hung: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ ...readResponse(Buffer.concat(received), method, !hung), milliseconds: performance.now() - started, hung });
    };
    const timer = setTimeout(() => finish(true), limit);
    socket.on('error', () => undefined);
    socket.on('close', () => finish(false));
    socket.on('data', (piece: Buffer) => {
      received.push(piece);
      if (readResponse(Buffer.concat(received), method, false).isWhole) finish(false);
    });
    socket.setNoDelay(true);
    void (async () => {
      for (const piece of pieces) {
        if (socket.destroyed) return;
        socket.write(piece);
        if (pieces.length > 1) await new Promise((next) => setImmediate(next));
      }
      if (ends) socket.end();
    })();
  });
}
