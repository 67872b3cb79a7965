import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAuthority, createServerCertificate } from '../../../src/auth/authority.ts';
import { readAddressRanges } from '../../../src/server/http/address-ranges.ts';
import { listen, type Listener } from '../../../src/server/http/listen.ts';
import { addUser, createRsaKey, createTestService, signAs, signHeaders, type TestService } from '../../support/service.ts';

/** Attacks on the header by which a balancer tells the address of a client. 127.0.0.1 is a balancer here, 127.0.0.2 is not. */

let service: TestService;
let plain: Listener;
let tls: Listener;
const [balancer, stranger, client] = ['127.0.0.1', '127.0.0.2', '203.0.113.7'];
const lines: string[] = [];
const sockets: Socket[] = [];
const userKey = createRsaKey();

beforeAll(async () => {
  service = await createTestService();
  const log = (line: string): void => void lines.push(line);
  const isBalancer = readAddressRanges([`${balancer}/32`]);
  const settings = { serviceLimits: { handshakeMilliseconds: 1000 } };
  const handle = service.handlers.storage;
  const shared = { handle, host: '127.0.0.1', port: 0, log, isBalancer, settings };
  plain = await listen({ ...shared, trusted: true });
  tls = await listen({ ...shared, tls: await createServerCertificate(await createAuthority('Test'), ['localhost']) });
  await addUser(service.store, service.account, 'office', userKey);
  await service.compute('POST', '/my/policies', {
    json: { name: 'office', rules: ['CAN getobject * WHEN sourceip::ip = 203.0.113.0/24'] },
  });
  const role = { name: 'office', policies: [{ name: 'office' }], members: [{ type: 'subuser', login: 'office', default: true }] };
  await service.compute('POST', '/my/roles', { json: role });
  await service.storage('PUT', '/demo/stor/x', { body: Buffer.from('hello') });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all([plain.close(0), tls.close(0)]);
  await service.close();
});

function first(address: string, family = 'TCP4', target = '127.0.0.1'): Buffer {
  return Buffer.from(`PROXY ${family} ${address} ${target} 40000 443\r\n`);
}

const prefix = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');

function second(command: number, family: number, content: Buffer, length = content.length): Buffer {
  const head = Buffer.from([command, family, length >> 8, length & 0xff]);
  return Buffer.concat([prefix, head, content]);
}

const four = Buffer.from([203, 0, 113, 7, 127, 0, 0, 1, 0x9c, 0x40, 1, 0xbb]);
const six = Buffer.concat([
  Buffer.from('20010db8000000000000000000000007', 'hex'),
  Buffer.alloc(15),
  Buffer.from([1, 0x9c, 0x40, 1, 0xbb]),
]);
/** A field of TLVs: authority. */
const field = (size: number): Buffer => Buffer.concat([Buffer.from([0x02, size >> 8, size & 0xff]), Buffer.alloc(size, 0x61)]);

/** A request of the account, or of the sub-user, who may only read from the client's network. */
function get(caller: 'office' | 'demo' = 'office'): Buffer {
  const signing = caller === 'demo' ? signAs('storage', service.key, 'demo') : signAs('storage', userKey, 'demo', caller);
  const headers = Object.entries({ host: 'x', connection: 'close', ...signHeaders('storage', signing) });
  return Buffer.from(`GET /demo/stor/x HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}`).join('\r\n')}\r\n\r\n`);
}

function open({ port }: Listener, localAddress: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress }).setNoDelay(true);
  socket.on('error', () => undefined);
  sockets.push(socket);
  return socket;
}

/** All that comes back until the connection ends. */
async function readAll(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (piece: Buffer) => (text += piece.toString('latin1')));
  // A reset is an end too.
  await new Promise((done) => socket.once('close', done));
  return text;
}

/** Status of what is answered to these bytes; undefined when the connection ends without an answer. */
async function send(bytes: readonly Buffer[], from = balancer): Promise<number | undefined> {
  const socket = open(plain, from);
  const answer = readAll(socket);
  for (const piece of bytes) {
    if (socket.destroyed) break;
    await new Promise((done) => socket.write(piece, done));
    if (bytes.length > 1) await new Promise((done) => setImmediate(done));
  }
  const [, status] = /^HTTP\/1\.1 (\d{3}) /u.exec(await answer) ?? [];
  return status === undefined ? undefined : Number(status);
}

const lastLine = (): string => service.log.at(-1) ?? '';

describe('a header of a balancer', () => {
  const long = Buffer.concat([four, field(1), field(900), field(0)]);
  test.each([
    ['version 1', first(client), client],
    ['version 1 of IPv6', first('2001:DB8::0:7', 'TCP6', '::1'), '2001:db8::7'],
    ['version 1 of a mapped address', first('::ffff:203.0.113.7', 'TCP6', '::1'), client],
    ['version 2', second(0x21, 0x11, four), client],
    ['version 2 of IPv6', second(0x21, 0x21, six), '2001:db8::7'],
    ['version 2 with further fields', second(0x21, 0x11, long), client],
    ['UNKNOWN', Buffer.from('PROXY UNKNOWN\r\n'), balancer],
    ['UNKNOWN with words', Buffer.from(`PROXY UNKNOWN ${client} x 1 2\r\n`), balancer],
    ['LOCAL', second(0x20, 0x00, Buffer.alloc(0)), balancer],
    ['LOCAL with addresses, which do not count', second(0x20, 0x11, four), balancer],
    ['version 2 without a family', second(0x21, 0x00, Buffer.alloc(0)), balancer],
  ])('%s', async (_, header, address) => {
    const own = get('demo');
    expect(await send([Buffer.concat([header, own])])).toBe(200);
    expect(lastLine()).toMatch(new RegExp(` 200 \\S+ demo ${address.replaceAll('.', '\\.')}$`, 'u'));
    // The same byte by byte.
    const pieces = [...header].map((byte) => Buffer.of(byte));
    expect(await send([...pieces, own])).toBe(200);
    expect(lastLine().endsWith(` demo ${address}`)).toBe(true);
    const expected = address === client ? 200 : 403;
    expect(await send([header, get()]), 'the policy of the sub-user').toBe(expected);
  });

  test('before a TLS handshake, also in one packet with its beginning', async () => {
    for (const joined of [true, false]) {
      const socket = open(tls, balancer);
      await once(socket, 'connect');
      if (joined) socket.cork();
      socket.write(second(0x21, 0x11, four));
      const secure = connectTls({ socket, rejectUnauthorized: false });
      if (joined) setImmediate(() => socket.uncork());
      secure.on('error', () => undefined);
      secure.write(get());
      expect(await readAll(secure)).toMatch(/^HTTP\/1\.1 200 /u);
      expect(lastLine().endsWith(`demo/office ${client}`)).toBe(true);
    }
  });

  test('plain HTTP at a port of TLS keeps its rules', async () => {
    const socket = open(tls, balancer);
    const answer = readAll(socket);
    socket.write(Buffer.concat([first(client), get()]));
    expect(await answer).toMatch(/^HTTP\/1\.1 403 /u);
    expect(lastLine().endsWith(client)).toBe(true);
  });
});

describe('what a balancer must not send', () => {
  test.each([
    ['no header', Buffer.alloc(0)],
    ['a line that is too long', Buffer.from(`PROXY TCP4 ${' '.repeat(120)}`)],
    ['an UNKNOWN that is too long', Buffer.from(`PROXY UNKNOWN ${'x'.repeat(120)}\r\n`)],
    ['an address that is none', first('203.0.113.256')],
    ['an address with leading zeros', first('203.0.113.007')],
    ['a name', first('localhost')],
    ['a family that does not fit', first(client, 'TCP6')],
    ['a zone', first('fe80::1%lo', 'TCP6', '::1')],
    ['another transport', first(client, 'UDP4')],
    ['a port too large', Buffer.from(`PROXY TCP4 ${client} 127.0.0.1 65536 443\r\n`)],
    ['a port too few', Buffer.from(`PROXY TCP4 ${client} 127.0.0.1 443\r\n`)],
    ['a word too many', Buffer.from(`PROXY TCP4 ${client} 127.0.0.1 1 2 3\r\n`)],
    ['two spaces', Buffer.from(`PROXY TCP4  ${client} 127.0.0.1 1 2\r\n`)],
    ['small letters', Buffer.from(`proxy TCP4 ${client} 127.0.0.1 1 2\r\n`)],
    ['a line feed alone', Buffer.from(`PROXY TCP4 ${client} 127.0.0.1 1 2\n`)],
    ['version 3', second(0x31, 0x11, four)],
    ['another command', second(0x22, 0x11, four)],
    ['a socket of a file', second(0x21, 0x31, Buffer.alloc(216))],
    ['UDP', second(0x21, 0x12, four)],
    ['addresses that are too short', second(0x21, 0x11, four.subarray(0, 8))],
    ['more than it may have', second(0x21, 0x11, Buffer.concat([four, field(5000)]))],
    ['a field that is longer than the header', second(0x21, 0x11, Buffer.concat([four, Buffer.from([2, 0, 9, 0x61])]))],
    ['an incomplete field', second(0x21, 0x11, Buffer.concat([four, Buffer.from([2, 0])]))],
  ])('%s: the connection ends without an answer', async (_, header) => {
    const before = service.log.length;
    expect(await send([Buffer.concat([header, get()])])).toBeUndefined();
    expect(await send([header.subarray(0, 30), header.subarray(30), get()])).toBeUndefined();
    expect(service.log.length).toBe(before);
  });

  test('garbage or a second header behind a header is a bad request', async () => {
    expect(await send([first(client), Buffer.from('garbage\r\n\r\n')])).toBe(400);
    expect(lastLine().endsWith(client)).toBe(true);
    expect(await send([Buffer.concat([first(client), first('10.0.0.1'), get()])])).toBe(400);
    expect(await send([Buffer.concat([first(client), second(0x21, 0x11, four), get()])])).toBe(400);
    expect(lastLine().endsWith(client)).toBe(true);
  });

  test('a header that does not come, or comes too slowly, has a time limit; other connections are served meanwhile', async () => {
    const silent = open(plain, balancer);
    const slow = open(plain, balancer);
    const ended = Promise.all([readAll(silent), readAll(slow)]);
    const header = first(client);
    let at = 0;
    const drip = setInterval(() => slow.write(header.subarray(at, (at += 1))), 100);
    expect(await send([first(client), get()])).toBe(200);
    expect(await ended).toEqual(['', '']);
    clearInterval(drip);
    expect(at).toBeLessThan(header.length);
    expect(lines.some((line) => /^closed \d+ connections of balancers without a valid PROXY header$/u.test(line))).toBe(true);
  });

  test('one that connects and goes away disturbs nobody', async () => {
    for (let round = 0; round < 20; round += 1) {
      const socket = open(plain, balancer);
      await once(socket, 'connect');
      if (round % 2 === 0) socket.end();
      else socket.resetAndDestroy();
      await new Promise((done) => socket.once('close', done));
    }
    expect(await send([first(client), get()])).toBe(200);
  });
});

describe('from any other address', () => {
  test.each([
    ['version 1', first(client)],
    ['version 2', second(0x21, 0x11, four)],
    ['LOCAL', second(0x20, 0x00, Buffer.alloc(0))],
  ])('a header of %s is a bad request, and says nothing of an address', async (_, header) => {
    expect(await send([Buffer.concat([header, get()])], stranger)).toBe(400);
    expect(lines.some((line) => line.includes(`the last from ${stranger}, which --proxy-protocol-from does not name`))).toBe(true);
    expect(lastLine()).toMatch(/ 400 \S+ - 127\.0\.0\.2$/u);
  });

  test('requests without a header are those of that address', async () => {
    expect(await send([get('demo')], stranger)).toBe(200);
    expect(lastLine().endsWith(`demo ${stranger}`)).toBe(true);
    expect(await send([get()], stranger)).toBe(403);
  });

  test('a header of HTTP that names another address changes nothing', async () => {
    const request = get().toString('latin1').replace('\r\n', `\r\nX-Forwarded-For: ${client}\r\nForwarded: for=${client}\r\n`);
    expect(await send([Buffer.from(request, 'latin1')], stranger)).toBe(403);
    expect(await send([first('10.1.1.1'), Buffer.from(request, 'latin1')])).toBe(403);
  });
});

describe('ranges', () => {
  test('of both families; mapped addresses are IPv4', () => {
    const contains = readAddressRanges(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32']);
    const inside = ['10.255.0.1', '::ffff:10.0.0.1', '192.0.2.7', '2001:db8:1::1'];
    const outside = ['11.0.0.1', '192.0.2.8', '2001:db9::1', '::ffff:192.0.2.8', '', 'x'];
    expect([inside.map(contains), outside.map(contains)]).toEqual([inside.map(() => true), outside.map(() => false)]);
  });

  test.each(['', '10.0.0.0/33', '10.0.0/8', '10.0.0.0/-1', '10.0.0.0/8/8', 'example.com', '::1/129', '10.0.0.0/'])('%s is none', (range) =>
    expect(() => readAddressRanges([range])).toThrow('is not a range of addresses'),
  );
});
