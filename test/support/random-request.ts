import { createHash, generateKeyPairSync } from 'node:crypto';
import { compute } from '../../src/api/compute.ts';
import type { Operation, ServiceName } from '../../src/api/operation.ts';
import { placeOf } from '../../src/api/operation.ts';
import { storage } from '../../src/api/storage.ts';
import { createDraw, damage, drawJson, drawValue, nastyTexts, type Draw } from './random-values.ts';
import { createEcdsaKey, createRsaKey, type TestKey } from './service.ts';

/** Makes the headers or the query that sign a request. */
export interface RandomSigners {
  /** `date` and `authorization` of the account or its sub-user. */
  headers(service: ServiceName, who: 'account' | 'user'): Promise<readonly [string, string][]>;
  /** The target with the parameters of a pre-signed URL. */
  presign(service: ServiceName, method: string, target: string): Promise<string>;
}

/** A request as the bytes that go over the connection. */
export interface RandomRequest {
  readonly service: ServiceName;
  readonly method: string;
  readonly target: string;
  readonly pieces: readonly Buffer[];
  /** True when nothing more comes although the request seems to want more. */
  readonly ends: boolean;
  /** Whether it is HTTP, so that it must be answered. */
  readonly isSound: boolean;
}

/** Characters of a target that leave room for headers: more than 16 KiB of both is refused while the rest is still being sent. */
const longestTarget = 12_000;

/** What responses told of: ids that later requests use. */
export type Known = Set<string>;

const words = ['a', 'b', 'c', 'd', 'reader', 'writer', 'bob', 'eve'];
const operations: readonly Operation[] = [...Object.values(compute), ...Object.values(storage)];
/** Most operations are met as often as others; those that start processes, seldom. */
const costly = new Set(['createJob', 'createImageFromMachine', 'createUser', 'changeUserPassword']);

/** Keys that requests register: of all kinds, none of them the one that signs. */
const spareKeys = [createRsaKey(), createEcdsaKey()].map(({ line }: TestKey) => line);
const edKey = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x ?? '';
spareKeys.push(
  `ssh-ed25519 ${Buffer.from(`0000000b${Buffer.from('ssh-ed25519').toString('hex')}00000020${Buffer.from(edKey, 'base64url').toString('hex')}`, 'hex').toString('base64')}`,
);

/** Text as it may stand in a target, sometimes percent-encoded twice, in lower case or not at all. */
function encode(draw: Draw, text: string): string {
  const whole = Buffer.from(text).toString();
  const encoded = encodeURIComponent(whole);
  if (draw.chance(0.9)) return encoded;
  return draw.pick([encodeURIComponent(encoded), encoded.toLowerCase(), whole.replaceAll(/[^!-~]/gu, ''), encoded.replace('%', '%%')]);
}

function drawName(draw: Draw, known: Known): string {
  if (draw.chance(0.8)) return draw.pick(words);
  if (draw.chance(0.5) && known.size > 0) return draw.pick([...known].slice(-50));
  return draw.pick(nastyTexts);
}

/** A path below an account in the object storage. */
function drawEntryPath(draw: Draw, known: Known): string[] {
  const root = draw.pick(['stor', 'stor', 'stor', 'stor', 'public', 'public', 'jobs', 'uploads', 'reports']);
  return [root, ...Array.from({ length: draw.below(4) }, () => drawName(draw, known))];
}

function drawPath(draw: Draw, operation: Operation, known: Known): string {
  const parts = operation.segments.flatMap(({ kind, text }): string[] => {
    if (kind === 'literal') return [text];
    if (kind === 'rest')
      return text === 'resource'
        ? ['demo', draw.pick(['keys', 'users', 'roles', 'images', 'policies']), drawName(draw, known)].slice(0, 2 + draw.below(2))
        : drawEntryPath(draw, known);
    if (text === 'account') return [draw.chance(0.93) ? 'demo' : draw.pick(['my', 'other', '', ...nastyTexts])];
    if (text === 'id' && known.size > 0 && draw.chance(0.7)) return [draw.pick([...known].slice(-30))];
    if (text === 'part') return [draw.pick(['0', '1', '9999', '10000', '-1', '1e3', ...nastyTexts.slice(0, 10)])];
    return [drawName(draw, known)];
  });
  const uploads = operation.path.includes('uploads/:prefix');
  if (uploads) parts[2] = draw.chance(0.9) ? (parts[3] ?? '').slice(0, 3) : drawName(draw, known);
  const path = `/${parts.map((part) => encode(draw, part)).join('/')}`;
  return draw.chance(0.95) ? path : damageTarget(draw, path);
}

function damageTarget(draw: Draw, target: string): string {
  return Buffer.from(damage(draw, target))
    .toString()
    .replaceAll(/[^!-~]/gu, encodeURIComponent);
}

function drawQuery(draw: Draw, operation: Operation): string {
  const pairs = Object.entries(operation.when.query ?? {}).map(([name, value]) => [name, value]);
  for (const [name, field] of Object.entries(operation.fields)) {
    const isQuery = placeOf(operation, field) === 'query';
    if (!isQuery && !draw.chance(0.05)) continue;
    if (field.optional && draw.chance(0.5)) continue;
    const value = drawValue(draw, name, field, spareKeys);
    const text = typeof value === 'string' ? value : JSON.stringify(value ?? '');
    pairs.push([name, text.slice(0, 3000)]);
    if (draw.chance(0.05)) pairs.push([name, draw.pick(nastyTexts)]);
  }
  if (draw.chance(0.05)) pairs.push(['as-role', draw.pick(['a', 'reader,writer', ...nastyTexts])]);
  if (draw.chance(0.03)) pairs.push([draw.pick(nastyTexts), draw.pick(nastyTexts)]);
  return pairs.length === 0 ? '' : `?${pairs.map(([name = '', value = '']) => `${encode(draw, name)}=${encode(draw, value)}`).join('&')}`;
}

function writeForm(values: Record<string, unknown>): Buffer {
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    (Array.isArray(value) ? (value as unknown[]) : [value]).map((each) => [name, each] as const),
  );
  const query = new URLSearchParams(
    pairs.map(([name, value]): [string, string] => [name, typeof value === 'string' ? value : (JSON.stringify(value) ?? '')]),
  );
  return Buffer.from(query.toString());
}

function writeMultipart(values: Record<string, unknown>, boundary: string): Buffer {
  const parts = Object.entries(values).map(([name, value]) => {
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
    return `--${boundary}\r\nContent-Disposition: form-data; name="${name.replaceAll(/["\r\n]/g, '_')}"\r\n\r\n${text}\r\n`;
  });
  return Buffer.from(`${parts.join('')}--${boundary}--\r\n`);
}

interface Content {
  type?: string;
  bytes: Buffer;
}

/** JSON nested deeper than most programs can go, and name=value pairs that never end. */
function drawDeep(draw: Draw, operation: Operation): Buffer {
  const depth = draw.pick([5000, 200_000]);
  const [name = 'a'] = Object.keys(operation.fields);
  return Buffer.from(`{"${draw.chance(0.5) ? name : draw.pick(words)}":${'['.repeat(depth)}${']'.repeat(depth)}}`);
}

function drawJsonBody(draw: Draw, operation: Operation): Content {
  const values: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(operation.fields)) {
    if (placeOf(operation, field) !== 'body' || (field.optional && draw.chance(0.5)) || draw.chance(0.05)) continue;
    values[name] = drawValue(draw, name, field, spareKeys);
  }
  if (draw.chance(0.1)) values[draw.pick(['id', '__proto__x', 'constructor', 'account', 'owner', 'created'])] = drawJson(draw);
  const luck = draw.next();
  if (luck < 0.75) return { type: 'application/json', bytes: Buffer.from(JSON.stringify(values)) };
  if (luck < 0.82) return { type: 'application/x-www-form-urlencoded', bytes: writeForm(values) };
  if (luck < 0.88) return { type: 'multipart/form-data; boundary=xyz', bytes: writeMultipart(values, draw.pick(['xyz', 'xyz', 'other'])) };
  if (luck < 0.92) return { type: 'application/json', bytes: Buffer.from(damage(draw, JSON.stringify(values))) };
  if (luck < 0.94) return { type: 'application/json', bytes: drawDeep(draw, operation) };
  const whole = Buffer.from(JSON.stringify(draw.chance(0.5) ? drawJson(draw) : values) ?? '');
  const type = draw.pick([
    'text/plain',
    'application/json; charset=utf-16',
    'application/json;',
    'multipart/form-data',
    '',
    'a'.repeat(500),
  ]);
  return { type, bytes: whole };
}

function drawBytes(draw: Draw): Buffer {
  const size = draw.pick([0, 1, 10, 1000, 70_000]);
  return Buffer.alloc(size, draw.below(256));
}

function drawContent(draw: Draw, operation: Operation): Content | undefined {
  if (operation.body === 'json') return drawJsonBody(draw, operation);
  if (operation.body === 'bytes') return { bytes: drawBytes(draw) };
  if (operation.body === 'lines')
    return {
      type: 'text/plain',
      bytes: Buffer.from(draw.pick(['/demo/stor/a\n', '/demo/stor/a', 'x\r\n\r\n', '\n'.repeat(5000), `${draw.pick(nastyTexts)}\n`])),
    };
  return draw.chance(0.05) ? { bytes: drawBytes(draw) } : undefined;
}

/** Headers of their own meaning to the services, with values that are right and values that are not. */
function drawHeaders(draw: Draw, operation: Operation, content: Content | undefined): [string, string][] {
  const tag = draw.pick(words);
  const choices: readonly [string, readonly string[]][] = [
    ['if-match', ['*', '', '"x"', tag]],
    ['if-none-match', ['*', '"x"', 'W/"x"']],
    ['if-modified-since', ['Thu, 01 Jan 1970 00:00:00 GMT', 'never']],
    ['if-unmodified-since', ['Thu, 01 Jan 1970 00:00:00 GMT', '9'.repeat(50)]],
    ['range', ['bytes=0-0', 'bytes=-1', 'bytes=5-', 'bytes=9-1', 'bytes=0-0,2-3', 'bytes=-', `bytes=${'9'.repeat(400)}-`, 'lines=1-2']],
    [
      'content-md5',
      [
        createHash('md5')
          .update(content?.bytes ?? '')
          .digest('base64'),
        'AAAAAAAAAAAAAAAAAAAAAA==',
        'no',
      ],
    ],
    ['durability-level', ['1', '6', '7', '0', '-1', '1e1', '']],
    ['max-content-length', ['0', '5', '100000', '-1', '1e9', '9'.repeat(30)]],
    ['role-tag', [tag, 'a,b', '', ',']],
    ['role', [tag, '*', 'a,b', ',']],
    ['location', ['/demo/stor/a', '/demo/public/a', '/other/stor/a', '/demo/stor/%zz', '/demo/uploads/a', '/', 'a']],
    ['origin', ['https://page.test', 'null', '*']],
    ['access-control-allow-origin', ['*', 'https://page.test, https://b.test', '']],
    ['access-control-request-method', ['PUT', 'GET']],
    ['content-disposition', ['attachment; filename="../a"', "a; filename*=UTF-8''%2e%2e%2fa", ';;', `a; b="${'\\"'.repeat(1000)}`]],
    ['content-encoding', ['gzip', 'identity']],
    ['accept', ['application/json', 'text/html', '*/*;q=0', ',;=', 'a/b;q=x']],
    ['accept-version', ['~9', '~8', '*', '7.0.0', '~9||~8', '>=8 <10', 'x', '~', '9'.repeat(400)]],
    ['x-request-id', ['0f8fad5b-d9cb-469f-a165-70867728950e', 'x'.repeat(3000)]],
    ['m-note', [tag, 'v'.repeat(4096), 'w'.repeat(9000)]],
    ['m-', ['x']],
    ['__proto__', ['x']],
    ['constructor', ['x']],
    ['expect', ['100-continue']],
    ['connection', ['keep-alive', 'upgrade', 'close, x']],
    ['cookie', ['a=b'.repeat(50)]],
  ];
  const wanted = new Set(Object.values(operation.fields).map((field) => field.header));
  const headers = choices
    .filter(([name]) => draw.chance(wanted.has(name) ? 0.15 : 0.02))
    .map(([name, values]): [string, string] => [name, draw.pick(values)]);
  if (draw.chance(0.03)) headers.push(['x-odd', draw.pick(nastyTexts).replaceAll(/[^ -~\t]/gu, '\u00e9')]);
  if (operation.service === 'compute' && !headers.some(([name]) => name === 'accept-version') && !draw.chance(0.02))
    headers.push(['accept-version', '~9']);
  const { contentType } = operation.when;
  const type = contentType === undefined ? content?.type : `application/json; type=${contentType}`;
  if (type !== undefined && !draw.chance(0.02)) headers.push(['content-type', type]);
  if (contentType === 'link' && !headers.some(([name]) => name === 'location')) headers.push(['location', `/demo/stor/${tag}`]);
  return headers;
}

/** A body in chunks of any size, with what HTTP allows around them. */
function writeChunked(draw: Draw, bytes: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = Math.min(bytes.length - at, 1 + draw.below(draw.pick([4, 4000])) + bytes.length / 50) | 0;
    const extension = draw.chance(0.1) ? ';name="value"' : '';
    pieces.push(
      Buffer.from(`${draw.chance(0.5) ? size.toString(16) : size.toString(16).toUpperCase().padStart(6, '0')}${extension}\r\n`),
      bytes.subarray(at, at + size),
      Buffer.from('\r\n'),
    );
    at += size;
  }
  pieces.push(Buffer.from(draw.chance(0.9) ? '0\r\n\r\n' : '0\r\nX-Trailer: a\r\n\r\n'));
  return Buffer.concat(pieces);
}

/** What is not HTTP, or only nearly. */
function drawUnsound(draw: Draw, head: string, body: Buffer): Buffer {
  const [first = '', ...rest] = head.split('\r\n');
  const headers = rest.join('\r\n');
  const nearly: readonly (() => string)[] = [
    () => `${first}\r\nContent-Length: 5\r\nContent-Length: 6\r\n${headers}\r\n\r\nabcde`,
    () => `${first}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n${headers}\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n`,
    () => `${first}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n${headers}\r\n\r\n0\r\n\r\n`,
    () => `${first}\r\nTransfer-Encoding: xchunked\r\n${headers}\r\n\r\n0\r\n\r\n`,
    () => `${first}\r\nTransfer-Encoding : chunked\r\n${headers}\r\n\r\n0\r\n\r\n`,
    () => `${first}\r\nContent-Length: -1\r\n${headers}\r\n\r\n`,
    () => `${first}\r\nContent-Length: 1e2\r\n${headers}\r\n\r\n`,
    () => `${first}\r\nContent-Length: 99999999999999999999\r\n${headers}\r\n\r\nabc`,
    () => `${first}\r\nContent-Length: 500\r\n${headers}\r\n\r\nabc`,
    () => `${first}\r\nTransfer-Encoding: chunked\r\n${headers}\r\n\r\nzz\r\n\r\n`,
    () => `${first}\r\nTransfer-Encoding: chunked\r\n${headers}\r\n\r\nfffffffffffffffff\r\n\r\n`,
    () => `${first}\r\nTransfer-Encoding: chunked\r\n${headers}\r\n\r\n5\r\nabc`,
    () => `${first}\r\n folded: yes\r\n${headers}\r\n\r\n`,
    () => `${first}\r\nBad Header\r\n${headers}\r\n\r\n`,
    () => `${first}\r\nX-Nul: a\0b\r\n${headers}\r\n\r\n`,
    () => `${first}\r\nX-Large: ${'x'.repeat(20_000)}\r\n${headers}\r\n\r\n`,
    () => `${first}\r\n${Array.from({ length: 3000 }, (_, index) => `x${index}: y`).join('\r\n')}\r\n${headers}\r\n\r\n`,
    () => head.replaceAll('\r\n', '\n') + '\n\n',
    () =>
      `${first.replace('HTTP/1.1', draw.pick(['HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/9.9', 'http/1.1', '', 'HTTP/1.1 x']))}\r\n${headers}\r\n\r\n`,
    () =>
      `${first.replace(/^\S+/u, draw.pick(['CONNECT', 'TRACE', 'PRI', 'get', 'G\u00cbT', 'M-SEARCH', 'PURGE', 'X'.repeat(100)]))}\r\n${headers}\r\n\r\n`,
    () =>
      `${first.replace(/ \S+ /u, draw.pick([' * ', ' http://other.test/demo ', ' //evil.test/demo ', ' demo ', ` /${'a'.repeat(30_000)} `, ' /\u00e9 ']))}\r\n${headers}\r\n\r\n`,
    () => `${first}\r\nUpgrade: websocket\r\nConnection: upgrade\r\n${headers}\r\n\r\n`,
    () => `${first}\r\nExpect: 200-maybe\r\n${headers}\r\n\r\n`,
    () => `\r\n\r\n\r\n${head}\r\n\r\n`,
    () => damage(draw, `${head}\r\n\r\n${body.toString('latin1')}`),
    () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    () => Array.from({ length: 200 }, () => String.fromCharCode(draw.below(256))).join(''),
    () => '',
  ];
  return Buffer.from(draw.pick(nearly)(), 'latin1');
}

/** Sometimes in pieces as a slow network brings them. */
function splitBytes(draw: Draw, bytes: Buffer): Buffer[] {
  if (draw.chance(0.8) || bytes.length < 2) return [bytes];
  const at = 1 + draw.below(bytes.length - 1);
  return [bytes.subarray(0, at), bytes.subarray(at)];
}

async function drawSigning(draw: Draw, service: ServiceName, signers: RandomSigners): Promise<readonly [string, string][]> {
  const luck = draw.next();
  if (luck < 0.75) return signers.headers(service, 'account');
  if (luck < 0.87) return signers.headers(service, 'user');
  if (luck < 0.9) return [];
  const [date, authorization] = await signers.headers(service, 'account');
  const header = authorization?.[1] ?? '';
  return draw.pick<readonly [string, string][]>([
    [
      ['date', 'yesterday'],
      ['authorization', header],
    ],
    [['authorization', header]],
    [
      date ?? ['date', ''],
      [
        'authorization',
        damage(draw, header)
          .replaceAll(/[^ -~]/gu, '')
          .slice(0, 10_000),
      ],
    ],
    [
      date ?? ['date', ''],
      [
        'authorization',
        header.replace(
          /keyId="[^"]*"/u,
          `keyId="/demo/${draw.pick(['keys/..', '../keys/a', 'users/a/keys/b', '%zz/keys/a', 'a/keys/b', 'keys/%00'])}"`,
        ),
      ],
    ],
    [
      date ?? ['date', ''],
      ['authorization', header.replace('rsa-sha256', draw.pick(['rsa-sha1', 'ecdsa-sha256', 'none', 'hmac-sha256', '__proto__']))],
    ],
    [date ?? ['date', ''], ['date', 'Thu, 01 Jan 1970 00:00:00 GMT'], ['authorization', header], ['authorization', 'Signature x']],
    [
      [
        'authorization',
        draw.pick(['Basic ZGVtbzpkZW1v', 'Bearer x', 'Signature', 'Signature keyId="', `Signature ${'a="b",'.repeat(500)}`]),
      ],
    ],
  ]);
}

/** One request that the operation tables suggest, more or less as they want it. */
export async function drawRequest(next: () => number, known: Known, signers: RandomSigners): Promise<RandomRequest> {
  const draw = createDraw(next);
  let operation = draw.pick(operations);
  while (costly.has(operation.name) && draw.chance(0.7)) operation = draw.pick(operations);
  const { service } = operation;
  const content = drawContent(draw, operation);
  const method = draw.chance(0.96) ? operation.method : draw.pick(['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE']);
  const plain = `${drawPath(draw, operation, known)}${drawQuery(draw, operation)}`.slice(0, longestTarget);
  const isPresigned = draw.chance(0.04);
  const signed = isPresigned ? await signers.presign(service, method, plain) : plain;
  const target = isPresigned && draw.chance(0.3) ? damageTarget(draw, signed).slice(0, longestTarget) : signed;
  const headers = [...drawHeaders(draw, operation, content), ...(isPresigned ? [] : await drawSigning(draw, service, signers))];
  const body = content?.bytes ?? Buffer.alloc(0);
  const isChunked = content !== undefined && draw.chance(0.2);
  const written = isChunked ? writeChunked(draw, body) : body;
  const framing = isChunked ? ['Transfer-Encoding: chunked'] : content === undefined ? [] : [`Content-Length: ${body.length}`];
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: fuzz.test', ...headers.map(([name, value]) => `${name}: ${value}`)];
  const told = { service, method, target };
  if (draw.chance(0.08))
    return { ...told, pieces: splitBytes(draw, drawUnsound(draw, lines.join('\r\n'), body)), ends: true, isSound: false };
  const whole = Buffer.concat([Buffer.from(`${[...lines, ...framing].join('\r\n')}\r\n\r\n`, 'latin1'), written]);
  return { ...told, pieces: splitBytes(draw, whole), ends: false, isSound: true };
}
