import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { archiveEnd, encodeHeader, paddingOf, type Member } from '../../../src/transfer/tar/header.ts';
import { readArchive } from '../../../src/transfer/tar/read.ts';
import { planUnpack } from '../../../src/transfer/tar/unpack.ts';
import { createFilter } from '../../../src/transfer/sync/tree.ts';

const second = 1_000_000_000n;

function file(name: string, content = '', rest: Partial<Member> = {}): Buffer {
  const bytes = Buffer.from(content);
  const header = encodeHeader({ type: 'file', name, size: bytes.length, mtime: 0n, mode: 0o644, ...rest });
  return Buffer.concat([header, bytes, paddingOf(bytes.length)]);
}

/** Changes fields of a header and computes its checksum anew. */
function patch(block: Buffer, changes: readonly (readonly [at: number, bytes: string | Buffer])[]): Buffer {
  const copy = Buffer.from(block);
  for (const [at, bytes] of changes) Buffer.from(bytes).copy(copy, at);
  copy.write('        ', 148, 'latin1');
  const sum = copy.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  copy.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return copy;
}

const link = (name: string, to: string, type = '2'): Buffer =>
  patch(file(name), [
    [156, type],
    [157, to],
  ]);
const typed = (name: string, type: string): Buffer => patch(file(name), [[156, type]]);

/** Pieces of odd lengths, as pipes give them. */
async function* pieces(bytes: Buffer, length = 100): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function unpack(archive: Buffer | AsyncIterable<Uint8Array>, links: 'skip' | 'inside' = 'inside') {
  const steps: unknown[] = [];
  const skipped: string[] = [];
  const options = {
    label: 'x.tar',
    filter: createFilter([], []),
    links,
    onSkip: (rel: string, reason: string) => skipped.push(`${rel} ${reason}`),
  };
  const source = Buffer.isBuffer(archive) ? pieces(archive) : archive;
  for await (const step of planUnpack(source, options)) {
    if (step.kind !== 'file') steps.push(step.kind === 'link' ? `${step.rel} -> ${step.to}` : `${step.kind} ${step.rel}`);
    else {
      const body = [];
      for await (const piece of step.body()) body.push(piece);
      steps.push(`${step.rel}: ${Buffer.concat(body).toString()}`);
    }
  }
  return { steps, skipped };
}

function join(...parts: readonly Buffer[]): Buffer {
  return Buffer.concat([...parts, archiveEnd]);
}

test.each<[string, Buffer, RegExp]>([
  ['a name that goes up', join(file('a/../../b')), /"a\/\.\.\/\.\.\/b", which contains "\.\."/],
  ['an absolute name', join(file('/etc/passwd')), /"\/etc\/passwd", which begins with a slash/],
  ['a name that is not UTF-8', join(patch(file('aaaa'), [[0, Buffer.from([0x61, 0xff])]])), /is not UTF-8/],
  ['a name of 5,000 bytes', join(file('a'.repeat(5000))), /has 5000 bytes/],
  ['a file twice', join(file('a', '1'), file('b'), file('./a', '2')), /"a" more than once/],
  [
    'a file in place of a directory',
    join(encodeHeader({ type: 'directory', name: 'a', size: 0, mtime: 0n, mode: 0o755 }), file('a')),
    /"a" more than once/,
  ],
  ['a file below a file', join(file('a'), file('a/b/c')), /"a\/b\/c" below "a"/],
  ['a file below a link', join(link('a', 'b'), file('a/x')), /"a\/x" below "a"/],
  ['a symbolic link out of the tree', join(link('d/a', '../../x')), /link "d\/a" to "\.\.\/\.\.\/x", outside the target/],
  ['an absolute link', join(link('a', '/etc/passwd')), /link "a" to "\/etc\/passwd", outside the target/],
  ['a hard link out of the tree', join(link('d/a', '../x', '1')), /outside the target/],
  ['a name of a pax header that goes up', join(Buffer.concat([paxHeader('path', '../x'), file('a')])), /contains "\.\."/],
  ['a long header', Buffer.concat([patch(typed('a', 'x'), [[124, '77777777777 ']])]), /has a header of 8589934591 bytes/],
  ['a long name of GNU tar', Buffer.concat([patch(typed('a', 'L'), [[124, '77777777777 ']])]), /has a header of 8589934591 bytes/],
  ['an impossible size', patch(file('a'), [[124, Buffer.from('80ffffffffffffffffffffff', 'hex')]]), /invalid size/],
  ['a negative size', patch(file('a'), [[124, Buffer.from('ffffffffffffffffffffffff', 'hex')]]), /invalid size/],
  ['an impossible size of a pax header', Buffer.concat([paxHeader('size', '99999999999999999999'), file('a')]), /invalid size/],
  ['a name for all entries', join(Buffer.concat([paxHeader('path', 'x', 'g'), file('a')])), /global header with a name or size/],
  ['a sparse file', join(Buffer.concat([paxHeader('GNU.sparse.major', '1'), file('a')])), /sparse/],
  ['a sparse file of old GNU tar', join(typed('a', 'S')), /type "S"/],
  ['a damaged pax header', join(Buffer.concat([Buffer.from(paxHeader('path', 'x')).fill('9', 512, 514), file('a')])), /damaged pax header/],
  ['nothing', Buffer.alloc(0), /is empty/],
  ['text', Buffer.from('hello '.repeat(200)), /^x\.tar is not a tar archive$/],
  ['what is compressed', Buffer.concat([Buffer.from('1f8b0800', 'hex'), Buffer.alloc(600, 1)]), /is compressed/],
  ['what is cut in a header', file('a').subarray(0, 300), /is truncated/],
  ['what is cut in a file', file('a', 'x'.repeat(2000)).subarray(0, 1000), /is truncated/],
  ['what is cut between files', file('a', 'x'), /has no end-of-archive block: it may be truncated \(after "a"\)/],
  ['a wrong checksum', join(file('a'), Buffer.from(file('b')).fill('x', 0, 1)), /invalid header \(after "a"\)/],
  ['a second archive after the end', Buffer.concat([join(file('a')), join(file('b'))]), /has data after its end/],
])('an archive with %s is refused', async (_, archive, message) => {
  await expect(unpack(archive)).rejects.toThrow(message);
});

function paxHeader(key: string, value: string, type = 'x'): Buffer {
  const record = (length: number): string => `${length} ${key}=${value}\n`;
  let length = 0;
  while (record(length).length !== length) length = record(length).length;
  const bytes = Buffer.from(record(length));
  return Buffer.concat([
    patch(typed('PaxHeader', type), [[124, `${bytes.length.toString(8).padStart(11, '0')}\0`]]),
    bytes,
    paddingOf(bytes.length),
  ]);
}

test('zeros without an end are not read for ever', async () => {
  let given = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      given += 65_536;
      yield Buffer.alloc(65_536);
    }
  }
  await expect(unpack(endless())).rejects.toThrow(/too much padding/);
  expect(given).toBeLessThan(3 * 1024 * 1024);
});

test('links that lead to nothing do not fill the memory', async () => {
  const to = Buffer.from('x'.repeat(1_000_000));
  const long = patch(typed('a', 'K'), [[124, `${to.length.toString(8).padStart(11, '0')}\0`]]);
  let sent = 0;
  async function* links(): AsyncGenerator<Uint8Array> {
    for (; sent < 1000; sent += 1) yield Buffer.concat([long, to, paddingOf(to.length), link(`l${sent}`, 'y')]);
  }
  await expect(unpack(links())).rejects.toThrow('x.tar has too many links to entries that come later');
  expect(sent).toBeLessThan(20);
});

test('links become names of files that are in the archive, before them or after; others are left out', async () => {
  const folder = encodeHeader({ type: 'directory', name: 'd', size: 0, mtime: 0n, mode: 0o755 });
  const archive = join(
    folder,
    link('early', 'd/f'),
    file('d/f', 'text'),
    link('d/late', 'f'),
    link('hard', './d/f', '1'),
    link('away', 'no'),
    link('dir', 'd'),
  );
  const { steps, skipped } = await unpack(archive);
  expect(steps).toEqual(['folder d', 'd/f: text', 'd/late -> d/f', 'hard -> d/f', 'early -> d/f']);
  expect(skipped).toEqual(['away dangling', 'dir directory']);
  expect(await unpack(archive, 'skip')).toEqual({
    steps: ['folder d', 'd/f: text'],
    skipped: ['early link', 'd/late link', 'hard link', 'away link', 'dir link'],
  });
  expect((await unpack(join(link('out', '/etc/passwd'), typed('fifo', '6')), 'skip')).steps).toEqual(['special fifo']);
});

test('every member is read as it was written, whatever its name, size, time and mode', async () => {
  const names = ['a', 'ü', 'x'.repeat(100), 'x'.repeat(101), `${'d/'.repeat(200)}f`, 'a\nb', ' a ', '=', 'a\u0001'];
  const times = [
    0n,
    1n,
    -1n,
    1_500_000_000n,
    -152_625_600n * second - 250_000_000n,
    8n ** 11n * second,
    253_402_300_799n * second + 999_999_999n,
  ];
  const members = names.map((name, at) => ({
    type: 'file' as const,
    name,
    size: at * 300,
    mtime: times[at % times.length] ?? 0n,
    mode: (at * 73) & 0o777,
  }));
  const archive = join(
    ...members.map((member) => Buffer.concat([encodeHeader(member), Buffer.alloc(member.size, 1), paddingOf(member.size)])),
  );
  for (const length of [1, 511, 512, 10_000, archive.length]) {
    const found = [];
    for await (const { type, name, size, mtime, mode } of readArchive(pieces(archive, length), 'x.tar'))
      found.push({ type, name: name.toString(), size, mtime, mode });
    expect(found).toEqual(members);
  }
});

test('GNU tar reads what is written, with times and long names', () => {
  const name = `${'ordner/'.repeat(30)}ü`;
  const archive = join(file(name, 'content', { mtime: 1_700_000_000n * second + 123_456_789n, mode: 0o751 }));
  const listed = spawnSync('tar', ['tv', '--full-time', '--quoting-style=literal', '-f', '-'], {
    input: archive,
    env: { ...process.env, TZ: 'UTC', LC_ALL: 'C.UTF-8' },
  });
  expect([listed.stderr.toString(), listed.stdout.toString()]).toEqual([
    '',
    `-rwxr-x--x 0/0               7 2023-11-14 22:13:20.123456789 ${name}\n`,
  ]);
});

test('what is damaged anywhere is refused or read, never more and never for ever', async () => {
  const archive = join(file('a/b', 'x'.repeat(700)), file('ü'.repeat(80), 'y'), link('l', 'a/b'), file('z'));
  let state = 20_261_123;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state % below;
  };
  for (let round = 0; round < 400; round += 1) {
    const damaged = Buffer.from(archive);
    for (let count = random(4); count >= 0; count -= 1) damaged[random(damaged.length)] = random(256);
    const cut = random(3) === 0 ? damaged.subarray(0, random(damaged.length)) : damaged;
    try {
      expect((await unpack(cut)).steps.length).toBeLessThanOrEqual(4);
    } catch (error) {
      expect(String(error)).toMatch(/^ArchiveError: x\.tar |^Error: x\.tar /);
    }
  }
});
