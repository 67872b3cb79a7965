import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { startBadService, writeForever, type BadService, type Misdeed } from '../support/bad-service.ts';
import { report } from '../support/figures.ts';
import { useLocal, type Outcome } from '../support/sandbox.ts';

/**
 * A service that answers garbage. Whatever it sends, the tool ends in time with another code than 0 and one clear line, in little
 * memory, without a control character on the terminal, and its signature goes nowhere else.
 */

const user = useLocal();
const program = resolve(import.meta.dirname, '../../bin/cloud');
const mebibyte = 1024 * 1024;
/** Most memory of the tool, bytes, and most milliseconds. */
const [most, timeoutMs] = [300 * mebibyte, 20_000];
const services: BadService[] = [];
let [peak, longest, cases] = [0, 0, 0];

afterAll(async () => {
  await Promise.all(services.map((service) => service.close()));
});

interface Measured extends Outcome {
  memory: number;
  milliseconds: number;
}

async function measure(line: string, url: string): Promise<Measured> {
  const file = join(user.home, 'peak');
  const write = `require('fs').writeFileSync(${JSON.stringify(file)}, String(process.resourceUsage().maxRSS))`;
  const hook = user.write('peak.cjs', `process.on('exit', () => ${write});`);
  rmSync(file, { force: true });
  const started = performance.now();
  const words = `${line} --url ${url} --stor-url ${url} --timeout 1s --max-time 8s --retries 1`;
  const outcome = await user.shell(`timeout -s KILL 60 "${process.execPath}" --require "${hook}" "${program}" ${words}`);
  const memory = Number(readFileSync(file, 'utf8')) * 1024;
  const milliseconds = performance.now() - started;
  [peak, longest, cases] = [Math.max(peak, memory), Math.max(longest, milliseconds), cases + 1];
  return { ...outcome, memory, milliseconds };
}

async function start(misdeed: Misdeed): Promise<BadService> {
  const service = await startBadService(misdeed);
  services.push(service);
  return service;
}

/** What holds for every answer. */
function checkEnd(told: string, { code, stderr, memory, milliseconds }: Measured): void {
  expect([code === 0, code === null], `${told}: ${stderr}`).toEqual([false, false]);
  expect(memory, told).toBeLessThan(most);
  expect(milliseconds, told).toBeLessThan(timeoutMs);
  expect(stderr.trim().split('\n').length, `${told}: ${stderr}`).toBeLessThanOrEqual(2);
  expect(stderr, told).toMatch(/^(cloud .*: .+\n|\{"code":".+\}\n)/u);
  expect(stderr, told).not.toMatch(/unexpected error|Warning|^\s+at /mu);
  // oxlint-disable-next-line no-control-regex
  expect(stderr, told).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/u);
  expect(stderr.length, told).toBeLessThan(5000);
}

const date = `Date: ${new Date().toUTCString()}`;
const head = (status: string, ...headers: string[]): string => [`HTTP/1.1 ${status}`, date, ...headers, '', ''].join('\r\n');
const chunked = 'Transfer-Encoding: chunked';
const chunk = (text: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n`), Buffer.from(text), Buffer.from('\r\n')]);

const once =
  (bytes: string | Buffer): Misdeed =>
  (socket) =>
    void socket.end(bytes);
const forever =
  (start: string | Buffer, piece: string | Buffer): Misdeed =>
  (socket) => {
    socket.write(start);
    return writeForever(socket, piece);
  };
const whole = (status: string, headers: readonly string[], body: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from(head(status, ...headers, `Content-Length: ${Buffer.byteLength(body)}`)), Buffer.from(body)]);

const json = 'Content-Type: application/json';
const records = 'Content-Type: application/x-json-stream; type=directory';
const key = `${JSON.stringify({ name: 'x'.repeat(50_000), fingerprint: '00:11', key: 'ssh-rsa AAAA' })},`;
const entry = `${JSON.stringify({ name: 'x'.repeat(50_000), type: 'object', etag: '1', size: 1, mtime: '2025-01-01T00:00:00Z' })}\n`;
const bomb = gzipSync(Buffer.alloc(512 * mebibyte, ' '));
const evil = '\u0000\u001b]0;owned\u0007\u001b[31m\u009b31m\r\n\u0008';

/** Answers to lists of the compute service, `keys list`. */
const computeAnswers: Readonly<Record<string, Misdeed>> = {
  'half JSON': once(whole('200 OK', [json], '[{"name": "a')),
  'nothing with 200': once(whole('200 OK', [json], '')),
  'a text where a list belongs': once(whole('200 OK', [json], '"hello"')),
  'null where a list belongs': once(whole('200 OK', [json], 'null')),
  'a list of what are no records': once(whole('200 OK', [json], '[1, null, "x", []]')),
  'bytes that are no UTF-8': once(whole('200 OK', ['Content-Type: image/png'], Buffer.from([0x89, 0xff, 0xfe, 0x00, 0x1b]))),
  'JSON nested without end': once(whole('200 OK', [json], '['.repeat(5_000_000))),
  'a list that never ends': forever(head('200 OK', json, chunked) + '1\r\n[\r\n', chunk(key)),
  'an error that never ends': forever(head('400 Bad Request', json, chunked), chunk('x'.repeat(65_536))),
  'an empty response that never ends': forever(head('200 OK', json, chunked), chunk(' '.repeat(65_536))),
  'headers that never end': forever('HTTP/1.1 200 OK\r\n', `x-header: ${'x'.repeat(1000)}\r\n`),
  'one header that never ends': forever('HTTP/1.1 200 OK\r\nx-header: ', 'x'.repeat(65_536)),
  'trailers that never end': forever(head('200 OK', json, chunked) + '2\r\n[]\r\n0\r\n', `x-trailer: ${'x'.repeat(1000)}\r\n`),
  'a chunk size that never ends': forever(head('200 OK', json, chunked), '0'.repeat(65_536)),
  'a status line that never ends': forever('HTTP/1.1 200 ', 'x'.repeat(65_536)),
  '1xx without end': forever('', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1000)),
  'early hints without end': forever('', `HTTP/1.1 103 Early Hints\r\nlink: <${'x'.repeat(1000)}>\r\n\r\n`.repeat(10)),
  'a byte in each half second': async (socket) => {
    for (const letter of head('200 OK', json, 'Content-Length: 100000') + ' '.repeat(1000)) {
      if (socket.destroyed) return;
      socket.write(letter);
      await new Promise((done) => void setTimeout(done, 500));
    }
  },
  'gzip that nobody asked for': once(whole('200 OK', [json, 'Content-Encoding: gzip'], gzipSync('[]'))),
  'a gzip bomb': once(whole('200 OK', [json, 'Content-Encoding: gzip'], bomb)),
  'a gzip bomb as an error': once(whole('500 Oops', [json, 'Content-Encoding: gzip'], bomb)),
  'fewer bytes than announced': once(`${head('200 OK', json, 'Content-Length: 500')}[]`),
  'more bytes than announced': once(`${head('200 OK', json, 'Content-Length: 1')}[{"name":"a"}]`),
  'two lengths': once(`${head('200 OK', json, 'Content-Length: 2', 'Content-Length: 20')}[]`),
  'a negative length': once(`${head('200 OK', json, 'Content-Length: -1')}[]`),
  'a length beyond all numbers': once(`${head('200 OK', json, 'Content-Length: 99999999999999999999999')}[]`),
  'a length and chunks': once(`${head('200 OK', json, 'Content-Length: 2', chunked)}2\r\n[\r\n`),
  'HTTP/0.9': once('<html>hello</html>\n'),
  'a status that is none': once('HTTP/1.1 99999 What\r\n\r\n'),
  'a line of SMTP': once('220 mail.example.com ESMTP\r\n'),
  'a switch of protocols': once('HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n'),
  'control characters in an error': once(
    whole(
      '409 Conflict',
      [json],
      JSON.stringify({ code: `Bad${evil}`, message: `no${evil}`, errors: [{ field: evil, code: evil, message: evil }] }),
    ),
  ),
  'control characters in a redirection': once(
    head('302 Found', 'Location: https://evil.example.com/\u001b[31m\u009b31m', 'Content-Length: 0'),
  ),
  'an error message of a mebibyte': once(
    whole('409 Conflict', [json], JSON.stringify({ code: 'X'.repeat(mebibyte / 4), message: 'y'.repeat(mebibyte / 2) })),
  ),
  'an error whose message is a list': once(whole('409 Conflict', [json], '{"code":["a"],"message":{"b":1}}')),
  silence: () => undefined,
  'an end before the head': (socket) => void socket.destroy(),
};

/** Answers to `stor ls`. */
const storageAnswers: Readonly<Record<string, Misdeed>> = {
  'a line that never ends': forever(head('200 OK', records, chunked), chunk('x'.repeat(65_536))),
  'a line that is not JSON': once(whole('200 OK', [records], '{"name":"a","type":"object"}\n{"name":')),
  'a line that is not a record': once(whole('200 OK', [records], '7\nnull\n"x"\n')),
  'the same page again and again': once(
    whole(
      '200 OK',
      [records, 'Result-Set-Size: 5000'],
      `${'{"name":"a","type":"object","etag":"1","size":1,"mtime":"2025-01-01T00:00:00Z"}\n'.repeat(1000)}{`,
    ),
  ),
  'a cut list': once(`${head('200 OK', records, chunked)}${chunk(entry).toString()}`),
};

test.each(Object.entries(computeAnswers))('keys list: %s', { timeout: 60_000 }, async (name, misdeed) => {
  const { url } = await start(misdeed);
  const outcome = await measure('keys list', url);
  checkEnd(name, outcome);
  expect(outcome.stdout, name).toBe('');
});

test.each(Object.entries(storageAnswers))('stor ls: %s', { timeout: 60_000 }, async (name, misdeed) => {
  const { url } = await start(misdeed);
  checkEnd(name, await measure('stor ls', url));
});

test('a page of a listing that never ends is given up', { timeout: 60_000 }, async () => {
  const { url } = await start(forever(head('200 OK', records, chunked), chunk(entry)));
  const outcome = await measure('stor ls -o jsonl', url);
  checkEnd('a listing that never ends', outcome);
});

test.each([
  'stor get x',
  'stor get x -P 4',
  'stor get x back',
  'stor cat x',
  'stor stat x',
  'images list -o jsonl',
  'jobs list',
  'ping',
  'rbac export',
])('%s: nonsense of each kind', { timeout: 120_000 }, async (line) => {
  for (const name of [
    'half JSON',
    'headers that never end',
    '1xx without end',
    'fewer bytes than announced',
    'HTTP/0.9',
    'an end before the head',
  ]) {
    // A body says nothing where bytes are asked for, or headers alone.
    if (line.startsWith('stor ') && (name === 'half JSON' || (line.startsWith('stor stat') && name.startsWith('fewer')))) continue;
    const { url } = await start(computeAnswers[name] ?? once(''));
    const outcome = await measure(line, url);
    expect([line, name, outcome.code === 0], outcome.stderr).toEqual([line, name, false]);
    expect(outcome.memory, `${line} ${name}`).toBeLessThan(most);
    expect(outcome.milliseconds, `${line} ${name}`).toBeLessThan(timeoutMs);
    expect(outcome.stderr + outcome.stdout).not.toMatch(/unexpected error|^\s+at /mu);
  }
  expect(readdirSync(user.home).filter((name) => name === 'back' || name.startsWith('.cloud-'))).toEqual([]);
});

test.each([301, 302, 303, 307, 308])('a redirection %s to elsewhere is not followed: no signature goes there', async (status) => {
  const elsewhere = await start(once(whole('200 OK', [json], '[]')));
  const { url } = await start(once(head(`${status} Moved`, `Location: ${elsewhere.url}/my/keys`, 'Content-Length: 0')));
  for (const line of ['keys list', 'stor ls', 'stor get x back', 'stor put /etc/hostname x', 'policies create a --rule "CAN getobject"']) {
    checkEnd(`${status} ${line}`, await measure(line, url));
  }
  // What the user wrote as a request is answered with what came.
  await measure('api /my/keys', url);
  expect(elsewhere.requests).toEqual([]);
});

test('what it took', () => {
  report('proof', {
    name: `${cases} commands to services that answer garbage`,
    ours: `at most ${Math.round(peak / mebibyte)} MiB and ${(longest / 1000).toFixed(1)} s`,
    promise: 'one clear line, less than 300 MiB',
  });
});
