import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { jobError } from '../../../src/api/objects.ts';
import { streamOf, type HttpResponse } from '../../../src/api/message.ts';
import { storage } from '../../../src/api/storage.ts';
import { AuthorizationSyntaxError, parseAuthorization, signedText } from '../../../src/auth/authorization-header.ts';
import { readFingerprint } from '../../../src/auth/fingerprint.ts';
import { parseKeyId, writeKeyId } from '../../../src/auth/key-id.ts';
import { parsePresigned } from '../../../src/auth/presign.ts';
import { loadPrivateKey } from '../../support/private-key.ts';
import { InvalidKeyError, readPublicKey } from '../../../src/auth/public-key.ts';
import { readRecord } from '../../../src/cli/from.ts';
import { readError, readLines, readResult } from '../../../src/client/response.ts';
import { openCache } from '../../../src/config/cache.ts';
import { document } from '../../../src/rbac/document.ts';
import { openState } from '../../../src/config/state.ts';
import { openProfiles } from '../../../src/config/profiles.ts';
import { ApiError, KeyError, NetworkError, UsageError } from '../../../src/base/errors.ts';
import { parseDuration, parseSize } from '../../../src/output/units.ts';
import { readDate } from '../../../src/policy/moments.ts';
import { accepts } from '../../../src/server/storage/accept.ts';
import { cleanDisposition } from '../../../src/server/storage/disposition.ts';
import { readRange } from '../../../src/server/storage/ranges.ts';
import { parseTarget } from '../../../src/server/http/target.ts';
import { chooseVersion } from '../../../src/server/http/version.ts';
import type { Engine } from '../../../src/transfer/engine.ts';
import { readRemotePath } from '../../../src/transfer/path.ts';
import { readMemory } from '../../../src/transfer/sync/memory.ts';
import { readStep } from '../../../src/transfer/sync/steps.ts';
import { findUnfinished } from '../../../src/transfer/upload/unfinished.ts';
import { createMatcher } from '../../../src/transfer/tree/wildcard.ts';
import type { World } from '../../../src/base/world.ts';
import { anyCodePoint } from '../../support/code-points.ts';
import { readTimeHere } from '../../support/processor-time.ts';

const folder = mkdtempSync(join(tmpdir(), 'cloud-hostile-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type ErrorClass = abstract new (...given: never[]) => Error;

/** Runs a parser on anything; it may refuse with its own errors only. */
function expectOwn(parse: () => unknown, ...own: readonly ErrorClass[]): void {
  try {
    parse();
  } catch (error) {
    if (!own.some((each) => error instanceof each)) throw error;
  }
}

async function expectOwnLater(parse: () => Promise<unknown>, ...own: readonly ErrorClass[]): Promise<void> {
  try {
    await parse();
  } catch (error) {
    if (!own.some((each) => error instanceof each)) throw error;
  }
}

/** Text near to what the parser wants: pieces of the right thing in any order, and anything between them. */
function near(...pieces: readonly string[]): fc.Arbitrary<string> {
  const piece = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...pieces) },
    { weight: 1, arbitrary: fc.string({ unit: anyCodePoint, maxLength: 6 }) },
  );
  return fc.array(piece, { maxLength: 12 }).map((parts) => parts.join(''));
}

/** A text with a stretch of it replaced. */
function damaged(text: string): fc.Arbitrary<string> {
  const place = fc.nat({ max: text.length });
  const other = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom('', '\n', '=', '\0', '-----', 'A'.repeat(500)));
  return fc
    .record({ from: place, length: fc.nat({ max: 40 }), other })
    .map(({ from, length, other: given }) => text.slice(0, from) + given + text.slice(from + length));
}

/** Bytes cut into pieces anywhere. */
function inPieces(bytes: Uint8Array): fc.Arbitrary<Uint8Array[]> {
  return fc.array(fc.nat({ max: bytes.length }), { maxLength: 8 }).map((cuts) => {
    const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
    return places.slice(1).map((end, at) => bytes.subarray(places[at], end));
  });
}

const origin = { url: new URL('https://service.test'), now: () => 0 };

function replyWith(pieces: readonly Uint8Array[], headers = {}, status = 200): HttpResponse {
  return { status, headers, body: streamOf(...pieces) };
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

test('lines and records of listings come out the same however the stream is cut', async () => {
  const record = fc.record({ name: fc.string({ unit: 'grapheme' }), type: fc.constantFrom('object', 'directory'), size: fc.nat() });
  const cut = fc.array(record, { maxLength: 5 }).chain((records) => {
    const bytes = Buffer.from(records.map((each) => `${JSON.stringify(each)}\n`).join(''));
    return fc.record({ records: fc.constant(records), pieces: inPieces(bytes) });
  });
  await fc.assert(
    fc.asyncProperty(cut, async ({ records, pieces }) => {
      const { records: read } = (await readResult('records', replyWith(pieces), origin)) as { records: AsyncIterable<unknown> };
      expect(await collect(read)).toEqual(records);
      expect(await collect(readLines(streamOf(...pieces)))).toHaveLength(records.length);
    }),
  );
});

test('a stream of records or job errors that is damaged or cut short is an error of the network, never another', async () => {
  const line = JSON.stringify({ taskId: 'x', phaseNum: '0', what: 'phase 0: input "/a\u00e9"', code: 'UserTaskError', message: 'm' });
  expect(Object.keys(jobError.fields ?? {})).toContain('taskId');
  await fc.assert(
    fc.asyncProperty(damaged(`${line}\n${line}\n`), fc.constantFrom('records', 'json', 'lines', 'empty'), async (text, kind) => {
      await expectOwnLater(async () => {
        const result = await readResult(kind, replyWith([Buffer.from(text)]), origin);
        if (kind === 'records') await collect((result as { records: AsyncIterable<unknown> }).records);
      }, NetworkError);
    }),
  );
});

test('whatever a refusal has as its body, it becomes an error of the service', async () => {
  const body = fc.oneof(
    fc.json(),
    fc.string(),
    near('{"code":', '"x"', ',"message":', '"m"', ',"errors":[', '{"field":1}', 'null', ']', '}'),
  );
  await fc.assert(
    fc.asyncProperty(body, fc.constantFrom(400, 401, 404, 500, 503, 999), async (text, status) => {
      const error = await readError(replyWith([Buffer.from(text)], { date: text.slice(0, 20) }, status), origin);
      expect(error).toBeInstanceOf(ApiError);
      expect(error.message).not.toBe('');
    }),
  );
});

test('damaged key files of every form are a KeyError', async () => {
  const make = (name: string, ...words: string[]): string => {
    execFileSync('ssh-keygen', ['-q', '-f', join(folder, name), '-N', '', ...words]);
    return readFileSync(join(folder, name), 'utf8');
  };
  const openssh = [make('rsa', '-t', 'rsa', '-b', '1024'), make('ec', '-t', 'ecdsa'), make('ed', '-t', 'ed25519')];
  const texts = [...openssh, make('pem', '-t', 'rsa', '-b', '1024', '-m', 'PEM'), make('eight', '-t', 'ecdsa', '-m', 'PKCS8')];
  const file = join(folder, 'damaged');
  writeFileSync(file, '', { mode: 0o600 });
  // The base64 is damaged too, in its decoded form: most changes of the text are caught before the key itself is looked at.
  const inside = fc.constantFrom(...openssh).chain((text) => {
    const bytes = Buffer.from(text.split('\n').slice(1, -2).join(''), 'base64');
    return damaged(bytes.toString('latin1')).map(
      (other) =>
        `-----BEGIN OPENSSH PRIVATE KEY-----\n${Buffer.from(other, 'latin1').toString('base64')}\n-----END OPENSSH PRIVATE KEY-----\n`,
    );
  });
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.constantFrom(...texts).chain(damaged), inside), async (text) => {
      writeFileSync(file, text);
      await expectOwnLater(() => loadPrivateKey(file, () => Promise.resolve('secret')), KeyError);
    }),
    { numRuns: 200 },
  );
  const lines = ['rsa', 'ec', 'ed'].map((name) => readFileSync(join(folder, `${name}.pub`), 'utf8'));
  fc.assert(
    fc.property(fc.constantFrom(...lines).chain(damaged), (text) => expectOwn(() => readPublicKey(text), InvalidKeyError)),
    { numRuns: 300 },
  );
});

async function readText(text: string): Promise<unknown> {
  const stdin = { stream: Readable.from([Buffer.from(text)]), isTerminal: false };
  const world = { cwd: folder, home: folder, stdin, interrupted: new AbortController().signal };
  return readRecord(world as unknown as World, '-', fc.sample(fc.boolean(), 1)[0] === true ? document : storage.createJob.fields);
}

test('YAML and JSON for --from: any text is read or refused as wrong usage', async () => {
  const yaml = near(
    'name: a\n',
    'phases:\n',
    '  - exec: wc\n',
    '- ',
    '&a ',
    '*a',
    '!!binary x',
    '{',
    '}',
    '[',
    ']',
    ': ',
    '"',
    "'",
    '|',
    '>',
    '%YAML 9',
    '---\n',
    '<<: *a\n',
    '\t',
    '#',
    '__proto__: 1\n',
  );
  await fc.assert(
    fc.asyncProperty(fc.oneof(yaml, fc.json()), (text) => expectOwnLater(() => readText(text), UsageError)),
    { numRuns: 300 },
  );
});

test('aliases of aliases that stand for a billion values are refused at once', async () => {
  const names = 'abcdefghijk'.split('');
  const lines = names.map(
    (name, at) => `${name}: &${name} [${Array.from({ length: 10 }, () => (at === 0 ? 'x' : `*${names[at - 1]}`)).join(', ')}]`,
  );
  const started = readTimeHere();
  await expect(readText(`${lines.join('\n')}\n`)).rejects.toThrow(UsageError);
  expect(readTimeHere() - started).toBeLessThan(3000);
});

test('Authorization headers and pre-signed URLs: any text is read or refused as such', () => {
  const header = near(
    'Signature ',
    'keyId="',
    '/demo/keys/aa"',
    ',',
    'algorithm="rsa-sha256"',
    ' headers="date host constructor __proto__"',
    'signature="AAAA="',
    '"',
    '=',
    ' ',
  );
  const request = { method: 'GET', target: '/', headers: { date: 'x', host: 'h' } };
  fc.assert(
    fc.property(header, (text) =>
      expectOwn(
        () => (['compute', 'storage'] as const).map((service) => signedText(parseAuthorization(text), service, request)),
        AuthorizationSyntaxError,
      ),
    ),
  );
  const query = near(
    '/a?',
    'keyId=',
    '&',
    'signature=',
    'expires=',
    '1',
    '99999999999999999999',
    'NaN',
    '1e99',
    '-1',
    '%',
    '%zz',
    'method=',
    'GET',
    'algorithm=a',
  );
  fc.assert(
    fc.property(query, (target) => expectOwn(() => parsePresigned({ method: 'GET', target, host: 'h' }, 0), AuthorizationSyntaxError)),
  );
});

test('an owner of a key is found only in the form that is written', () => {
  const name = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !text.includes('/'));
  fc.assert(
    fc.property(name, name, fc.option(name, { nil: undefined }), (account, key, user) => {
      expect(parseKeyId('storage', writeKeyId('storage', { account, key, user }))).toEqual({
        account,
        key,
        ...(user !== undefined && { user }),
      });
    }),
  );
  const any = near('/', 'demo', 'keys', 'users', '..', '%2e', '%2F', '%', 'aa:bb', ' ');
  fc.assert(
    fc.property(any, fc.constantFrom('compute' as const, 'storage' as const), (text, service) => {
      const read = parseKeyId(service, text);
      if (read !== undefined) expect([read.account, read.key, read.user ?? 'x']).not.toContain('');
    }),
  );
});

test('headers of the object storage: ranges lie in the object, names of files have no folders, versions are served ones', () => {
  fc.assert(
    fc.property(near('bytes', '=', '-', ',', '0', '5', '99999999999999999999', ' '), fc.nat({ max: 20 }), (text, size) => {
      expectOwn(() => {
        const range = readRange(text, size);
        if (typeof range !== 'object') return;
        expect(range.start >= 0 && range.start < range.end && range.end <= size).toBe(true);
      }, ApiError);
    }),
  );
  fc.assert(
    fc.property(near('attachment', ';', ' ', 'filename', '*', '=', '"', '\\', '../', "UTF-8''", '%2f', '%', 'a'), (text) => {
      expectOwn(() => {
        const cleaned = cleanDisposition(text);
        expect(cleaned).not.toMatch(/filename="[^"]*[/]/u);
        expect(cleanDisposition(cleaned)).toBe(cleaned);
      }, ApiError);
    }),
  );
  fc.assert(fc.property(near('text', '/', '*', ';', 'q=', '0', '.', ',', ' '), (text) => void accepts(text, 'text/plain')));
  fc.assert(fc.property(near('~', '9', '.', '||', 'x', '*', '>=', ' ', 'v'), (text) => expectOwn(() => chooseVersion(text), ApiError)));
  fc.assert(
    fc.property(near('/', 'a', '%', '%2f', '%00', '?', 'http://x', '&', '='), (text) =>
      expectOwn(() => parseTarget('storage', text), ApiError),
    ),
  );
});

test('sizes, durations, dates, fingerprints, paths and patterns', () => {
  const numbers = near('0', '1', '9'.repeat(30), '.', 'k', 'GiB', 'ms', 'h', 'd', '-', 'e', ' ');
  fc.assert(
    fc.property(numbers, (text) => {
      expectOwn(() => expect(Number.isSafeInteger(parseSize(text))).toBe(true), UsageError);
      expectOwn(() => expect(Number.isSafeInteger(parseDuration(text))).toBe(true), UsageError);
    }),
  );
  fc.assert(fc.property(near('2026', '-', '02', '30', 'T', '25:00', 'Z', '+99:99'), (text) => void readDate(text)));
  fc.assert(fc.property(near('aa', ':', 'SHA256:', 'MD5:', '='), (text) => expectOwn(() => readFingerprint(text), UsageError)));
  fc.assert(
    fc.property(near('/', '~~', 'stor:', '..', '.', 'a', '\0'), (text) =>
      expectOwn(() => {
        const { path } = readRemotePath(text, 'demo');
        expect(path.split('/').filter((part) => part === '..' || part === '.')).toEqual([]);
      }, UsageError),
    ),
  );
});

/** The same by the regular expressions of the language: right, but slow for some patterns. */
function matchSlowly(pattern: string): RegExp {
  const source = pattern.replaceAll(
    /\*\*\/|\*\*|\*|\?|[^a-z/]/gu,
    (sign) => ({ '**/': '(?:[^/]+/)*', '**': '.*', '*': '[^/]*', '?': '[^/]' })[sign] ?? `\\${sign}`,
  );
  return new RegExp(`^${source}$`, 'su');
}

test('patterns match what the same regular expression matches', () => {
  const pattern = fc
    .array(fc.constantFrom('*', '**', '**/', '?', '/', 'a', 'b'), { maxLength: 7 })
    .map((parts) => parts.join('').replaceAll(/\*{3,}/gu, '**'));
  const subject = fc.array(fc.constantFrom('a', 'b', '/', 'ab/'), { maxLength: 7 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(pattern, subject, (given, text) => {
      expect([given, text, createMatcher(given)(text)]).toEqual([given, text, matchSlowly(given).test(text)]);
    }),
    { numRuns: 2000 },
  );
  fc.assert(
    fc.property(near('*', '[', ']', '!', 'a-z', 'z-a', '\\', '^', '{'), fc.string(), (given, text) =>
      expectOwn(() => createMatcher(given)(text), UsageError),
    ),
  );
});

test('profiles that are damaged are wrong usage', () => {
  const profiles = openProfiles(folder);
  mkdirSync(join(folder, 'profiles'), { recursive: true });
  const text = fc.oneof(near('{', '"account":', '"demo"', ',', '"url":', '1', 'null', '[]', '}'), fc.json());
  fc.assert(
    fc.property(text, (content) => {
      writeFileSync(join(folder, 'profiles', 'x.json'), content);
      writeFileSync(join(folder, 'config.json'), content);
      expectOwn(() => profiles.read('x'), UsageError);
      expectOwn(() => profiles.current(), UsageError);
    }),
    { numRuns: 60 },
  );
});

test('notes of unfinished uploads, of synchronising and of completion that are damaged count as none', async () => {
  const good = JSON.stringify({
    partsDirectory: '/demo/uploads/0f8/0f8fad5b',
    partSize: 5_242_880,
    parts: { 0: { etag: 'e', md5: 'm', size: 1 }, 1: null },
  });
  const memory = openState(folder, () => undefined);
  const asked: unknown[] = [];
  const client = { getMultipartUpload: (input: unknown) => (asked.push(input), Promise.resolve({ state: 'done' })) };
  const engine = { memory, storage: client } as unknown as Engine;
  const source = { file: 'f', size: 1, version: [] };
  await fc.assert(
    fc.asyncProperty(fc.oneof(damaged(good), fc.json()), async (text) => {
      writeFileSync(join(folder, 'note.json'), text);
      expect(await findUnfinished(engine, source, 'note', engine.memory.read('note'))).toBeUndefined();
      writeFileSync(join(folder, 'memory'), `${text}\n["a","e","1"]\n`);
      expect([...readMemory(join(folder, 'memory'))].at(-1)).toEqual({ rel: 'a', etag: 'e', mtime: 1n });
      expectOwn(() => readStep(text, 1), UsageError);
      const cache = openCache({
        top: folder,
        name: 'own',
        connection: 'here',
        now: () => 1000,
        freshness: 10_000,
        reportUnused: () => undefined,
      });
      cache.write('name', ['answer']);
      expect(cache.read('name')).toEqual(['answer']);
    }),
    { numRuns: 60 },
  );
});
