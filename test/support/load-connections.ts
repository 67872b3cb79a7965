import { connect, type Socket } from 'node:net';
import { createAuthorizer, type Authorizer } from '../../src/auth/authorization.ts';
import { writeKeyId } from '../../src/auth/key-id.ts';
import { loadPrivateKey } from './private-key.ts';
import type { LocalInfo } from './sandbox.ts';

/** A request of a load. */
export interface LoadRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: Uint8Array;
}

/** Bytes that a connection reads at once, into memory that is used again. */
const readBytes = 64 * 1024;

/** Bytes among which the end of the headers is searched. */
const headBytes = 2048;

/**
 * Reads the responses of a connection, one after the other, and keeps nothing but the status: a load generator that allocates its
 * responses collects garbage while it measures, and every request that waits for that counts as slow.
 */
export class ResponseReader {
  #part: 'head' | 'body' | 'size' | 'chunk' | 'chunk end' | 'end' = 'head';
  #head = '';
  /** Bytes left of a body or chunk; the size so far of a chunk whose first line is read. */
  #left = 0;
  #status = 0;
  readonly #answered: (status: number) => void;

  /** @param answered called with the status at the end of each response */
  constructor(answered: (status: number) => void) {
    this.#answered = answered;
  }

  /** Takes the first `size` bytes of a buffer. */
  take(buffer: Buffer, size: number): void {
    for (let at = 0; at < size;) at = this.#part === 'head' ? this.#takeHead(buffer, at, size) : this.#takeBody(buffer, at, size);
  }

  #takeHead(buffer: Buffer, at: number, size: number): number {
    const earlier = this.#head.length;
    const until = Math.min(size, at + headBytes);
    const text = this.#head + buffer.toString('latin1', at, until);
    const end = text.indexOf('\r\n\r\n');
    this.#head = end < 0 ? text : '';
    if (end < 0) return until;
    const head = text.slice(0, end);
    this.#status = Number(head.slice('HTTP/1.1 '.length).slice(0, 3));
    const length = Number(/\r\ncontent-length: *(\d+)/iu.exec(head)?.[1] ?? 0);
    const isChunked = /\r\ntransfer-encoding: *chunked/iu.test(head);
    this.#left = length;
    this.#part = isChunked ? 'size' : 'body';
    if (!isChunked && length === 0) this.#end();
    return at + end + '\r\n\r\n'.length - earlier;
  }

  #takeBody(buffer: Buffer, at: number, size: number): number {
    if (this.#part === 'body' || this.#part === 'chunk') {
      const taken = Math.min(this.#left, size - at);
      this.#left -= taken;
      if (this.#left > 0) return at + taken;
      if (this.#part === 'body') this.#end();
      else this.#part = 'chunk end';
      return at + taken;
    }
    const character = String.fromCharCode(buffer[at] ?? 0);
    if (character === '\n') this.#endLine();
    else if (this.#part === 'size' && character !== '\r') this.#left = this.#left * 16 + Number.parseInt(character, 16);
    return at + 1;
  }

  #endLine(): void {
    if (this.#part === 'end') this.#end();
    else if (this.#part === 'chunk end') this.#part = 'size';
    else this.#part = this.#left === 0 ? 'end' : 'chunk';
  }

  #end(): void {
    this.#part = 'head';
    this.#answered(this.#status);
  }
}

/** A connection that carries one request at a time. */
class LoadConnection {
  readonly #socket: Socket;
  readonly #host: string;
  #answer: ((status: number) => void) | undefined;
  #fail: ((error: Error) => void) | undefined;

  static open(url: string): Promise<LoadConnection> {
    return new Promise((resolve, reject) => {
      const connection: LoadConnection = new LoadConnection(url, () => resolve(connection));
      connection.#fail = reject;
    });
  }

  private constructor(url: string, opened: () => void) {
    const { hostname, port, host } = new URL(url);
    this.#host = host;
    const reader = new ResponseReader((status) => this.#answer?.(status));
    const callback = (size: number, buffer: Uint8Array): boolean => {
      reader.take(buffer as Buffer, size);
      return true;
    };
    this.#socket = connect(
      { host: hostname, port: Number(port), noDelay: true, onread: { buffer: Buffer.alloc(readBytes), callback } },
      opened,
    );
    this.#socket.on('error', (error) => this.#fail?.(error));
    this.#socket.on('end', () => this.#fail?.(new Error('the service ended the connection')));
  }

  /** @returns the status of the response, once it has been read to its end */
  async send({ method, path, body }: LoadRequest, authorizer: Authorizer): Promise<number> {
    const { date, authorization } = await authorizer.headers();
    const signed = `${method} ${path} HTTP/1.1\r\nhost: ${this.#host}\r\nconnection: keep-alive\r\ndate: ${date}\r\nauthorization: ${authorization}\r\n`;
    return new Promise((resolve, reject) => {
      [this.#answer, this.#fail] = [resolve, reject];
      if (body === undefined) {
        this.#socket.write(`${signed}\r\n`, 'latin1');
        return;
      }
      this.#socket.cork();
      this.#socket.write(`${signed}content-length: ${body.length}\r\n\r\n`, 'latin1');
      this.#socket.write(body);
      this.#socket.uncork();
    });
  }

  close(): void {
    this.#fail = undefined;
    this.#socket.destroy();
  }
}

/** Open connections to the object storage of a local service. */
export interface LoadConnections {
  /** Sends a request on a connection that carries none. @returns the status of the response */
  send(request: LoadRequest): Promise<number>;
  close(): void;
}

/**
 * Opens connections to the object storage. Before time is taken, each should have had a response: Node.js accepts one connection in each turn
 * of its event loop, so that the first request on the last of many waits for as many turns.
 */
export async function openLoad(local: Pick<LocalInfo, 'keyFile' | 'account' | 'storUrl'>, count: number): Promise<LoadConnections> {
  const signer = await loadPrivateKey(local.keyFile);
  const keyId = writeKeyId('storage', { account: local.account, key: signer.publicKey.fingerprints.md5 });
  const authorizer = createAuthorizer({ signer, service: 'storage', keyId, now: Date.now });
  const all: LoadConnection[] = [];
  for (let number = 0; number < count; number += 1) all.push(await LoadConnection.open(local.storUrl));
  const idle = [...all];
  return {
    async send(request) {
      const connection = idle.pop();
      if (connection === undefined) throw new Error(`more than ${count} requests at once`);
      const status = await connection.send(request, authorizer);
      idle.push(connection);
      return status;
    },
    close: () => all.forEach((connection) => connection.close()),
  };
}
