import { createHash, createHmac, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { readAll } from '../../../src/api/message.ts';
import { isDiskFull } from '../../../src/server/store/disk-full.ts';
import { openS3Bytes, type S3Bytes } from '../../../src/server/store/s3/bytes.ts';
import type { S3Times } from '../../../src/server/store/s3/client.ts';
import { StoreUnavailable } from '../../../src/server/store/unavailable.ts';

/** What goes wrong between the services and a store: each test says how the store behaves. test/cluster/bytes.test.ts has real ones. */

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

type Behave = (asked: Asked, response: ServerResponse, turn: number) => void;

const credentials = { accessKeyId: 'key', secretAccessKey: 'hush' };
const id = '11111111-2222-4333-8444-555555555555';
const opened: { server: Server; bytes: S3Bytes }[] = [];

afterEach(async () => {
  for (const { server, bytes } of opened.splice(0)) {
    await bytes.close();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
});

/** A store that behaves so, and what it was asked. */
async function open(behave: Behave, times: Partial<S3Times> = {}): Promise<{ bytes: S3Bytes; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void readAll(request).then((body) => {
      const each = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body: Buffer.from(body) };
      asked.push(each);
      behave(each, response, asked.length);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const bytes = openS3Bytes(
    { endpoint, bucket: 'cloud', prefix: 'here/', region: 'east-1', credentials },
    { pause: 50, timeoutMs: 20_000, ...times },
  );
  opened.push({ server, bytes });
  return { bytes, asked };
}

const refuse = (response: ServerResponse, status: number, code: string): void => {
  response.writeHead(status).end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>as the test wants</Message></Error>`);
};

/** Answers a GET as a store does that has these bytes. */
const give = (response: ServerResponse, { headers }: Asked, content: Buffer, { sent = Infinity, etag = '"e"' } = {}): void => {
  const [, start = '0', end = ''] = /^bytes=(\d+)-(\d*)$/u.exec(headers.range ?? '') ?? [];
  const part = content.subarray(Number(start), end === '' ? undefined : Number(end) + 1);
  const range =
    headers.range === undefined ? {} : { 'content-range': `bytes ${start}-${Number(start) + part.length - 1}/${content.length}` };
  response.writeHead(headers.range === undefined ? 200 : 206, { ...range, 'content-length': part.length, etag });
  if (sent >= part.length) response.end(part);
  else response.write(part.subarray(0, sent), () => setImmediate(() => response.destroy()));
};

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');

/** The signature of a request by the published description of Signature Version 4, written anew. */
function signatureOf({ method, url, headers }: Asked): string {
  const [path = '', query = ''] = url.split('?');
  const signed = /SignedHeaders=([^,]+)/u.exec(headers.authorization ?? '')?.[1] ?? '';
  const lines = signed.split(';').map((name) => `${name}:${String(headers[name])}`);
  const canonical = [method, path, query, ...lines, '', signed, headers['x-amz-content-sha256']].join('\n');
  const time = String(headers['x-amz-date']);
  const scope = `${time.slice(0, 8)}/east-1/s3/aws4_request`;
  const key = hmac(hmac(hmac(hmac('AWS4hush', time.slice(0, 8)), 'east-1'), 's3'), 'aws4_request');
  return hmac(key, ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')).toString('hex');
}

test('each request is signed, names what it is about, and no secret is sent', async () => {
  const { bytes, asked } = await open((_, response) => response.end());
  const { id: stored } = await bytes.write(Buffer.from('x'));
  await bytes.remove(stored);
  for await (const _ of bytes.list()) throw new Error('nothing is listed');
  expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
    `PUT /cloud/here/bytes/${stored}`,
    `DELETE /cloud/here/bytes/${stored}`,
    'GET /cloud?list-type=2&prefix=here%2Fbytes%2F',
  ]);
  for (const each of asked) {
    expect(each.headers.authorization).toContain(`Signature=${signatureOf(each)}`);
    expect(each.headers['x-amz-content-sha256']).toBe('UNSIGNED-PAYLOAD');
    expect(JSON.stringify(each)).not.toContain('hush');
    // What not all stores know.
    expect(Object.keys(each.headers).filter((name) => name.startsWith('if-'))).toEqual([]);
  }
  expect(asked[0]?.headers['content-md5']).toBe(createHash('md5').update('x').digest('base64'));
});

test('unfinished uploads of contents are listed over pages, and given up when they are old', async () => {
  const upload = (key: string, uploadId: string, begun: string): string =>
    `<Upload><Key>${key}</Key><UploadId>${uploadId}</UploadId><Initiator><ID>me</ID></Initiator><Initiated>${begun}</Initiated></Upload>`;
  const page = (more: string, ...uploads: string[]): string =>
    `<?xml version="1.0"?><ListMultipartUploadsResult><Bucket>cloud</Bucket>${more}${uploads.join('')}</ListMultipartUploadsResult>`;
  const [old, young] = ['2026-01-01T00:00:00.000Z', '2026-01-03T00:00:00.000Z'];
  const next = `<NextKeyMarker>here/bytes/${id}</NextKeyMarker><NextUploadIdMarker>a&amp;b</NextUploadIdMarker><IsTruncated>true</IsTruncated>`;
  const { bytes, asked } = await open(({ method, url }, response) => {
    // The second one has ended meanwhile.
    if (method === 'DELETE') return url.endsWith('=last') ? refuse(response, 404, 'NoSuchUpload') : void response.writeHead(204).end();
    if (url.includes('key-marker'))
      return void response.end(page('<IsTruncated>false</IsTruncated>', upload(`here/bytes/${id}.z`, 'last', old)));
    const others = [
      upload(`here/bytes/${id}`, 'young', young),
      upload('here/bytes/notes', 'foreign', old),
      upload(`here/bytes/${id}`, 'undated', ''),
    ];
    return void response.end(page(next, ...others, upload(`here/bytes/${id}`, 'a&amp;b', old)));
  });
  const ids: string[] = [];
  for await (const unfinished of bytes.listUnfinished?.(Date.parse('2026-01-02')) ?? []) {
    ids.push(unfinished.id);
    await unfinished.abort();
  }
  expect(ids).toEqual([id, `${id}.z`]);
  expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'GET /cloud?prefix=here%2Fbytes%2F&uploads=',
    `DELETE /cloud/here/bytes/${id}?uploadId=a%26b`,
    `GET /cloud?key-marker=here%2Fbytes%2F${id}&prefix=here%2Fbytes%2F&upload-id-marker=a%26b&uploads=`,
    `DELETE /cloud/here/bytes/${id}.z?uploadId=last`,
  ]);
});

test.each([
  [403, 'AccessDenied'],
  [501, 'NotImplemented'],
])('a store that does not list unfinished uploads (%i) has none that can be given up', async (status, code) => {
  const { bytes } = await open((_, response) => refuse(response, status, code), { timeoutMs: 100 });
  for await (const _ of bytes.listUnfinished?.(Infinity) ?? []) throw new Error('nothing is listed');
});

describe('what passes is tried again', () => {
  test.each([
    [503, 'SlowDown'],
    [500, 'InternalError'],
    [400, 'RequestTimeout'],
    [429, 'TooManyRequests'],
  ])('%i %s', async (status, code) => {
    const { bytes, asked } = await open((_, response, turn) => (turn < 4 ? refuse(response, status, code) : response.end()));
    const { id: stored } = await bytes.write(Buffer.from('x'));
    expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual(Array(4).fill(`PUT /cloud/here/bytes/${stored}`));
  });

  test('connections that break, answers that do not come', async () => {
    const { bytes, asked } = await open((_, response, turn) => (turn === 1 ? response.destroy() : turn === 2 || response.end()), {
      head: 200,
    });
    await bytes.remove(id);
    expect(asked).toHaveLength(3);
  });

  test('until it is too long: then the store is away', async () => {
    const { bytes } = await open((_, response) => refuse(response, 503, 'SlowDown'), { timeoutMs: 300 });
    await expect(bytes.write(Buffer.from('x'))).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(bytes.read(id, 0, 5)).rejects.toThrow('away: ');
    await expect(bytes.check()).rejects.toBeInstanceOf(StoreUnavailable);
  });

  test('not what would be refused another time too', async () => {
    const { bytes, asked } = await open((_, response) => refuse(response, 403, 'AccessDenied'));
    await expect(bytes.write(Buffer.from('x'))).rejects.toThrow(/refuses PUT bytes\/\S+: 403 AccessDenied as the test wants$/u);
    expect(asked).toHaveLength(1);
  });

  test('nor for want of room', async () => {
    const { bytes } = await open((_, response) => refuse(response, 403, 'QuotaExceeded'));
    expect(await bytes.write(Buffer.from('x')).catch(isDiskFull)).toBe(true);
  });
});

describe('bytes', () => {
  const content = randomBytes(500_000);

  test('go on where the store broke off', async () => {
    const { bytes, asked } = await open((each, response, turn) => give(response, each, content, { sent: turn < 3 ? 100_000 : Infinity }));
    expect(content.equals(await readAll(await bytes.read(id, 0, content.length)))).toBe(true);
    expect(asked.map(({ headers }) => headers.range)[0]).toBe('bytes=0-499999');
    expect(asked).toHaveLength(3);
  });

  test('fail where it breaks off for good', async () => {
    const { bytes } = await open(
      (each, response, turn) => (turn === 1 ? give(response, each, content, { sent: 70_000 }) : response.destroy()),
      {
        timeoutMs: 300,
      },
    );
    await expect(readAll(await bytes.read(id, 0, content.length))).rejects.toBeInstanceOf(StoreUnavailable);
  });

  test.each([10, 400_000])('%i of them fail where fewer are there, or another range comes', async (size) => {
    for (const wrong of [content.subarray(0, size - 1), Buffer.alloc(0)]) {
      const { bytes, asked } = await open((each, response) => give(response, each, wrong));
      await expect(bytes.read(id, 0, size)).rejects.toThrow('other bytes');
      expect(asked).toHaveLength(1);
    }
    const { bytes } = await open((_, response) => response.writeHead(200, { 'content-length': size }).end(content.subarray(0, size)));
    await expect(bytes.read(id, 1, size + 1)).rejects.toThrow('other bytes');
  });

  test('fail where they are another object when they are gone on with', async () => {
    const other = randomBytes(content.length);
    const { bytes } = await open((each, response, turn) =>
      turn === 1 ? give(response, each, content, { sent: 90_000 }) : give(response, each, other, { etag: '"other"' }),
    );
    await expect(readAll(await bytes.read(id, 0, content.length))).rejects.toThrow('another bytes/');
  });

  test('fail where they are missing', async () => {
    const { bytes, asked } = await open((_, response) => refuse(response, 404, 'NoSuchKey'));
    await expect(bytes.read(id, 0, 5)).rejects.toThrow('404 NoSuchKey');
    expect(asked).toHaveLength(1);
  });
});

describe('an object in parts', () => {
  /** Three parts. */
  const content = randomBytes(17 * 1024 ** 2);
  /** Two parts. */
  const short = content.subarray(0, 8 * 1024 ** 2 + 1);

  /** A store that keeps what it is given. */
  function keep(fail: (asked: Asked, response: ServerResponse) => boolean): {
    behave: Behave;
    parts: Map<string, Buffer>;
    joined: () => string[];
  } {
    const parts = new Map<string, Buffer>();
    let joined: string[] = [];
    const behave: Behave = (asked, response) => {
      const query = new URL(asked.url, 'http://store').searchParams;
      const number = query.get('partNumber');
      if (number !== null) parts.set(`"${number}"`, asked.body);
      if (query.has('uploadId') && asked.method === 'POST')
        joined = [...asked.body.toString().matchAll(/<ETag>(.*?)<\/ETag>/gu)].map(([, etag = '']) => etag);
      if (fail(asked, response)) return;
      if (query.has('uploads')) response.end('<InitiateMultipartUploadResult><UploadId>u&amp;1</UploadId></InitiateMultipartUploadResult>');
      else if (number !== null) response.writeHead(200, { etag: `"${number}"` }).end();
      else response.writeHead(200, { 'content-length': asked.method === 'HEAD' ? short.length : 0 }).end();
    };
    return { behave, parts, joined: () => joined };
  }

  test('is joined of all parts in order, each with its checksum', async () => {
    const { behave, parts, joined } = keep(() => false);
    const { bytes, asked } = await open(behave);
    expect(await bytes.write(content)).toMatchObject({ size: content.length });
    expect(content.equals(Buffer.concat(joined().map((etag) => parts.get(etag) ?? Buffer.alloc(0))))).toBe(true);
    for (const { headers, body } of asked.filter(({ method }) => method === 'PUT'))
      expect(headers['content-md5']).toBe(createHash('md5').update(body).digest('base64'));
    for (const each of asked) expect(each.headers.authorization).toContain(signatureOf(each));
  });

  test('whose joining was done and its answer lost is there', async () => {
    let count = 0;
    const { behave } = keep(({ method, url }, response) => {
      if (method !== 'POST' || !url.includes('uploadId')) return false;
      count += 1;
      if (count === 1) response.destroy();
      else refuse(response, 404, 'NoSuchUpload');
      return true;
    });
    const { bytes } = await open(behave);
    expect(await bytes.write(short)).toMatchObject({ size: short.length });
    expect(count).toBe(2);
  });

  test('whose joining fails behind a good status is none, and is given up', async () => {
    const { behave } = keep(({ method, url }, response) => {
      if (method === 'HEAD') response.writeHead(404).end();
      else if (method === 'POST' && url.includes('uploadId')) refuse(response, 200, 'InvalidPart');
      else return false;
      return true;
    });
    const { bytes, asked } = await open(behave);
    await expect(bytes.write(short)).rejects.toThrow('InvalidPart');
    expect(asked.at(-1)).toMatchObject({ method: 'DELETE', url: expect.stringContaining('uploadId=u%261') });
  });

  test('of which a part is refused is given up', async () => {
    const { behave } = keep(({ url }, response) => (url.includes('partNumber=2') ? (refuse(response, 403, 'AccessDenied'), true) : false));
    const { bytes, asked } = await open(behave);
    await expect(bytes.write(short)).rejects.toThrow('AccessDenied');
    expect(asked.at(-1)?.method).toBe('DELETE');
  });
});

test('a list of several pages, with what is not ours between', async () => {
  const object = (key: string, time: string): string =>
    `<Contents><Key>here/bytes/${key}</Key><LastModified>${time}</LastModified></Contents>`;
  const second = id.replace('1111', '2222');
  const { bytes, asked } = await open(({ url }, response) => {
    const isFirst = !url.includes('continuation-token');
    const contents = isFirst
      ? object(id, '2026-01-01T00:00:00.000Z') + object('of&amp;others', '2020-01-01T00:00:00.000Z')
      : object(second, 'no time');
    const next = isFirst
      ? '<IsTruncated>true</IsTruncated><NextContinuationToken>a b&lt;</NextContinuationToken>'
      : '<IsTruncated>false</IsTruncated>';
    response.end(`<ListBucketResult>${next}${contents}</ListBucketResult>`);
  });
  const list = async (before?: number): Promise<string[]> => {
    const ids: string[] = [];
    for await (const each of bytes.list(before)) ids.push(each);
    return ids;
  };
  expect(await list()).toEqual([id, second]);
  expect(await list(Date.parse('2026-01-02'))).toEqual([id]);
  expect(await list(Date.parse('2026-01-01'))).toEqual([]);
  expect(asked[1]?.url).toContain('continuation-token=a%20b%3C&');
});
