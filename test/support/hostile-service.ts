import { createServer, request, type IncomingMessage } from 'node:http';
import { createServer as createNet, type AddressInfo, type Socket } from 'node:net';
import { readAll } from '../../src/api/message.ts';
import { writeForever } from './bad-service.ts';

/** How a service is hostile to the client. Each but the last few has the true response at hand to be hostile with. */
export const scenarios = [
  /** The type of one value in a record is another one. */
  'wrong type',
  /** Texts hold control characters, marks of direction and characters that are not shown. */
  'control characters',
  /** The response ends in the middle, or goes on after its end. */
  'cut',
  'more than announced',
  /** Its bytes come one by one, with pauses. */
  'drip',
  /** The response comes again and again without end, or as chunks of a byte. */
  'endless',
  'endless chunks of a byte',
  'endless interim responses',
  'endless headers',
  /** So many empty records that they would fill the memory. */
  'flood of records',
  'silence',
  'a page for people',
  'an error without end',
  'a redirection',
] as const;
export type Scenario = (typeof scenarios)[number];

/** The true response of the service. */
interface Truth {
  readonly status: number;
  readonly headers: string;
  readonly type: string;
  readonly body: Buffer;
}

/** A service that is hostile from one exchange on. */
export interface HostileService {
  readonly url: string;
  /** Begins to count exchanges anew; `length` of them from number `at` on are hostile. */
  plan(scenario: Scenario | undefined, at?: number, length?: number): void;
  /** Exchanges that were hostile since then. */
  readonly happened: number;
  close(): Promise<void>;
}

const wrongValues: readonly unknown[] = [null, 7, true, 'text', [], {}, [[]], { a: { b: 1 } }, '\ud800', -1, 1e21];
const evil = '\u001b]0;owned\u0007\u001b[31m\u009b31m\u202e\u200b\r\n\u0008';

/** A copy of a JSON value in which the one at a random place is another. */
function spoil(value: unknown, random: () => number): unknown {
  const inner = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (inner.length === 0 || random() < 0.1) return wrongValues[Math.floor(random() * wrongValues.length)];
  const [name = '', each] = inner[Math.floor(random() * inner.length)] ?? [];
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) };
  (copy as Record<string, unknown>)[name] = spoil(each, random);
  return copy;
}

function disfigure(value: unknown): unknown {
  if (typeof value === 'string') return `${evil}${value}`;
  if (Array.isArray(value)) return value.map(disfigure);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, disfigure(each)]));
}

/** Applies a change to the JSON of a body, record by record where it is a stream; other bodies become a wrong record. */
function changeJson(body: Buffer, change: (value: unknown) => unknown): Buffer {
  const lines = body
    .toString()
    .split('\n')
    .filter((line) => line !== '');
  try {
    return Buffer.from(lines.map((line) => `${JSON.stringify(change(JSON.parse(line)))}\n`).join(''));
  } catch {
    return Buffer.from('{"code":7,"message":["x"]}');
  }
}

const head = (status: string, ...headers: string[]): string => [`HTTP/1.1 ${status}`, ...headers, '', ''].join('\r\n');
const chunk = (bytes: Buffer | string): Buffer =>
  Buffer.concat([Buffer.from(`${Buffer.byteLength(bytes).toString(16)}\r\n`), Buffer.from(bytes), Buffer.from('\r\n')]);

/** What is answered with the truth at hand. */
function answer(socket: Socket, scenario: Scenario, { status, headers, type, body }: Truth, random: () => number): void | Promise<void> {
  const whole = (bytes: Buffer): Buffer =>
    Buffer.concat([Buffer.from(`HTTP/1.1 ${status} X\r\n${headers}Content-Length: ${bytes.length}\r\n\r\n`), bytes]);
  const chunked = `HTTP/1.1 ${status} X\r\n${headers}Transfer-Encoding: chunked\r\n\r\n`;
  switch (scenario) {
    case 'wrong type':
      return void socket.end(whole(changeJson(body, (value) => spoil(value, random))));
    case 'control characters':
      return void socket.end(whole(changeJson(body, disfigure)));
    case 'cut': {
      const bytes = whole(body);
      return void socket.write(bytes.subarray(0, Math.floor(bytes.length * random())), () => socket.destroy());
    }
    case 'more than announced':
      return void socket.end(Buffer.concat([whole(body), whole(body)]));
    case 'drip':
      return drip(socket, whole(body));
    case 'endless':
      socket.write(chunked);
      return writeForever(socket, chunk(body.length === 0 ? ' '.repeat(1000) : body));
    case 'endless chunks of a byte':
      socket.write(chunked);
      return writeForever(socket, '1\r\n \r\n'.repeat(5000));
    case 'endless interim responses':
      return writeForever(socket, 'HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n'.repeat(100));
    case 'endless headers':
      socket.write(`HTTP/1.1 ${status} X\r\n`);
      return writeForever(socket, `x-header: ${'x'.repeat(1000)}\r\n`);
    case 'flood of records':
      return void socket.end(whole(Buffer.from(type.includes('stream') ? '{}\n'.repeat(4_000_000) : `[${'{},'.repeat(4_000_000)}{}]`)));
    case 'silence':
      return undefined;
    case 'a page for people':
      return void socket.end(head('200 OK', 'Content-Type: text/html', 'Content-Length: 28') + '<html>\u001b[31mhello</html>\n\n\n');
    case 'an error without end':
      socket.write(head('500 Oops', 'Content-Type: application/json', 'Transfer-Encoding: chunked'));
      return writeForever(socket, chunk(`{"code":"${evil.slice(0, 5)}`.repeat(1000)));
    case 'a redirection':
      return void socket.end(head('302 Found', 'Location: https://evil.example.com/\u001b[31m', 'Content-Length: 0'));
  }
}

async function drip(socket: Socket, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length && !socket.destroyed; at += 1) {
    socket.write(bytes.subarray(at, at + 1));
    await new Promise((next) => void setTimeout(next, 150));
  }
}

/** Asks the true service for what the client asked. */
function fetchTruth(
  target: string,
  { method = 'GET', url = '/', headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  body: Buffer,
): Promise<Truth> {
  const { hostname, port } = new URL(target);
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, method, path: url, headers: { ...headers, connection: 'close' }, agent: false }, (response) => {
      readAll(response).then((bytes) => {
        const kept = Object.entries(response.headers).filter(
          ([name]) => !['content-length', 'transfer-encoding', 'connection', 'content-md5'].includes(name),
        );
        const lines = kept.map(([name, value]) => `${name}: ${String(value)}\r\n`).join('');
        resolve({
          status: response.statusCode ?? 0,
          headers: lines,
          type: response.headers['content-type'] ?? '',
          body: Buffer.from(bytes),
        });
      }, reject);
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

/** Starts a hostile service on the loopback before one that speaks plain HTTP. */
export async function startHostileService(target: string, random: () => number): Promise<HostileService> {
  let plan: { scenario: Scenario | undefined; at: number; length: number } = { scenario: undefined, at: 0, length: 0 };
  let [seen, happened] = [0, 0];
  const sockets = new Set<Socket>();
  // What comes is read as HTTP by Node.js; what goes is written past it, byte by byte.
  // A client that ends in the middle of its request is answered no more.
  const reader = createServer((incoming) => void serve(incoming).catch(() => incoming.socket.destroy()));
  async function serve(incoming: IncomingMessage): Promise<void> {
    const { scenario, at, length } = plan;
    const isHostile = scenario !== undefined && seen >= at && seen < at + length;
    seen += 1;
    const { socket } = incoming;
    const truth = await readAll(incoming).then((body) => fetchTruth(target, incoming, Buffer.from(body)));
    if (isHostile) {
      happened += 1;
      return answer(socket, scenario, truth, random);
    }
    const { status, headers, body } = truth;
    const hasBody = incoming.method !== 'HEAD' && status !== 204 && status !== 304;
    socket.write(`HTTP/1.1 ${status} X\r\n${headers}${hasBody ? `Content-Length: ${body.length}\r\n` : ''}Connection: close\r\n\r\n`);
    if (hasBody) socket.end(body);
    else socket.end();
  }
  const server = createNet((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    reader.emit('connection', socket);
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    plan: (scenario, at = 0, length = Infinity) => {
      plan = { scenario, at, length };
      [seen, happened] = [0, 0];
    },
    get happened() {
      return happened;
    },
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
