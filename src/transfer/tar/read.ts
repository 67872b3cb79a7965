import { readAll, type ByteStream } from '../../api/message.ts';
import { readTime } from '../local/time.ts';
import { ArchiveError, blockSize, paddingOf, readHeader, readRecords, type RawHeader } from './header.ts';

/** An entry of an archive; names are bytes. */
export interface ArchiveEntry {
  readonly type: 'file' | 'directory' | 'hard link' | 'symbolic link' | 'special';
  readonly name: Buffer;
  /** Target of a link. */
  readonly link: Buffer;
  readonly size: number;
  /** Nanoseconds since the epoch. */
  readonly mtime: bigint;
  readonly mode: number;
  /** The content, readable once, before the next entry is requested; unread bytes are skipped. */
  readonly body: () => ByteStream;
}

/** Maximum size of a header for long names and the like, bytes: longer ones would fill memory. */
const longestHeader = 1024 * 1024;

/** Maximum number of zeros after the end, bytes: programs pad their last record. */
const longestEnd = 1024 * 1024;

const types: Readonly<Record<string, ArchiveEntry['type']>> = {
  '\0': 'file',
  '0': 'file',
  '7': 'file',
  '1': 'hard link',
  '2': 'symbolic link',
  '3': 'special',
  '4': 'special',
  '5': 'directory',
  '6': 'special',
};

/** Magic bytes of compressed archives, in hexadecimal, and the programs that decompress them. */
const compressions: readonly (readonly [start: string, program: string])[] = [
  ['1f8b', 'zcat'],
  ['425a68', 'bzcat'],
  ['fd377a585a', 'xzcat'],
  ['28b52ffd', 'zstdcat'],
];

/** Reads a given number of bytes. */
interface ByteReader {
  /** Reads exactly `count` bytes; undefined at the end of the source. @throws {ArchiveError} when only some of them follow */
  readonly read: (count: number) => Promise<Buffer | undefined>;
  /** Streams exactly `count` bytes. @throws {ArchiveError} when fewer follow */
  readonly take: (count: number) => AsyncGenerator<Uint8Array>;
  /** Streams the remaining bytes. */
  readonly rest: () => AsyncGenerator<Uint8Array>;
  /** Releases the source. */
  readonly close: () => Promise<void>;
}

function createByteReader(source: AsyncIterable<Uint8Array>, cut: () => ArchiveError): ByteReader {
  const pieces = source[Symbol.asyncIterator]();
  let held: Uint8Array = new Uint8Array();
  let failure: { error: unknown } | undefined;
  async function fill(): Promise<boolean> {
    while (held.length === 0) {
      // After its failure, a source would seem to have ended.
      if (failure) throw failure.error;
      const next = await pieces.next().catch((error: unknown) => {
        failure = { error };
        throw error;
      });
      if (next.done === true) return false;
      held = next.value;
    }
    return true;
  }
  async function* take(count: number): AsyncGenerator<Uint8Array> {
    for (let left = count; left > 0;) {
      if (!(await fill())) throw cut();
      const piece = held.subarray(0, left);
      held = held.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }
  return {
    take,
    read: async (count) => {
      if (!(await fill())) return undefined;
      if (held.length < count) return Buffer.from(await readAll(take(count)));
      const bytes = Buffer.from(held.subarray(0, count));
      held = held.subarray(count);
      return bytes;
    },
    rest: async function* rest() {
      while (await fill()) {
        const piece = held;
        held = new Uint8Array();
        yield piece;
      }
    },
    close: async () => void (await pieces.return?.()),
  };
}

/** Properties of an entry from the headers before it. */
interface Extra {
  name?: Buffer | undefined;
  link?: Buffer | undefined;
  size?: bigint | undefined;
  mtime?: bigint | undefined;
}

function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

/** Reads those pax records that are supported. */
function readExtra(bytes: Buffer, fail: (problem: string) => ArchiveError): Extra {
  const records = readRecords(bytes);
  if (!records) throw fail('has a damaged pax header');
  if ([...records.keys()].some((key) => key.startsWith('GNU.sparse.')))
    throw fail('has a sparse file: create the archive without --sparse');
  const [size, mtime] = ['size', 'mtime'].map((key) => records.get(key)?.toString('latin1'));
  const extra: Extra = { name: records.get('path'), link: records.get('linkpath') };
  if (size !== undefined && !/^\d{1,20}$/.test(size)) throw fail('has a damaged pax header');
  if (size !== undefined) extra.size = BigInt(size);
  const time = readTime(mtime)?.time;
  if (time !== undefined) extra.mtime = time;
  return extra;
}

/** Checks the zeros from the end of an archive to the end of its stream. */
async function readEnd(reader: ByteReader, fail: (problem: string) => ArchiveError): Promise<void> {
  let size = 0;
  for await (const piece of reader.rest()) {
    size += piece.length;
    if (!isZero(piece)) throw fail('has data after its end');
    if (size > longestEnd) throw fail('has too much padding after its end');
  }
}

/** The error for a first block that is not a header. */
function explainStart(block: Buffer, label: string): ArchiveError {
  const [, program] = compressions.find(([start]) => block.toString('hex').startsWith(start)) ?? [];
  if (program === undefined) return new ArchiveError(`${label} is not a tar archive`);
  return new ArchiveError(`${label} is compressed`, {
    hint: `${program} ${label === 'stdin' ? '' : `${label} `}| cloud stor put --untar - ...`,
  });
}

function readSize(header: RawHeader, extra: Extra, fail: (problem: string) => ArchiveError): number {
  const size = extra.size ?? header.size;
  if (size < 0n || size > BigInt(Number.MAX_SAFE_INTEGER)) throw fail('has an entry of invalid size');
  return Number(size);
}

/**
 * Streams the entries of an archive: ustar, pax, GNU tar and older. Holds in memory one header and one chunk of the source.
 * @throws {ArchiveError} for damaged or truncated archives, and for other files
 */
export async function* readArchive(source: AsyncIterable<Uint8Array>, label: string): AsyncGenerator<ArchiveEntry> {
  let current = '';
  const fail = (problem: string): ArchiveError => new ArchiveError(`${label} ${problem}${current === '' ? '' : ` (after ${current})`}`);
  const reader = createByteReader(source, () => fail('is truncated'));
  let extra: Extra = {};
  let globalTime: bigint | undefined;
  let isFirst = true;

  /** Reads the content of a header that describes the next entry. */
  async function readLong(size: number): Promise<Buffer> {
    if (size > longestHeader) throw fail(`has a header of ${size} bytes, which is too large`);
    return Buffer.from(await readAll(reader.take(size + paddingOf(size).length))).subarray(0, size);
  }

  /** Reads a header that describes the next entry; false when the header is that of an entry itself. */
  async function takeExtra(header: RawHeader): Promise<boolean> {
    if (!'xgLK'.includes(header.type)) return false;
    const bytes = await readLong(readSize(header, {}, fail));
    const name = bytes.subarray(0, bytes.indexOf(0) < 0 ? bytes.length : bytes.indexOf(0));
    if (header.type === 'L') extra.name ??= name;
    else if (header.type === 'K') extra.link ??= name;
    else if (header.type === 'x') extra = { ...extra, ...readExtra(bytes, fail) };
    else {
      const { name, link, size, mtime } = readExtra(bytes, fail);
      if (name ?? link ?? size) throw fail('has a global header with a name or size');
      globalTime = mtime ?? globalTime;
    }
    return true;
  }

  try {
    for (;;) {
      const block = await reader.read(blockSize);
      if (!block) throw fail(isFirst ? 'is empty: not a tar archive' : 'has no end-of-archive block: it may be truncated');
      if (isZero(block)) {
        await readEnd(reader, fail);
        return;
      }
      const header = readHeader(block);
      if (!header) throw isFirst ? explainStart(block, label) : fail('is damaged: invalid header');
      isFirst = false;
      if (await takeExtra(header)) continue;
      const type = types[header.type];
      if (type === undefined) throw fail(`has an entry of unknown type ${JSON.stringify(header.type)}`);
      const { name = header.name, link = header.link, mtime = globalTime ?? header.mtime * 1_000_000_000n } = extra;
      // Only files have content; some programs give links the size of their target.
      const isFile = type === 'file' && !name.toString('latin1').endsWith('/');
      const size = type === 'file' ? readSize(header, extra, fail) : 0;
      extra = {};
      let left = size;
      async function* body(): AsyncGenerator<Uint8Array> {
        for await (const piece of reader.take(left)) {
          left -= piece.length;
          yield piece;
        }
      }
      yield { type: type === 'file' && !isFile ? 'directory' : type, name, link, size: isFile ? size : 0, mtime, mode: header.mode, body };
      current = JSON.stringify(name.toString());
      for await (const piece of reader.take(left)) void piece;
      for await (const piece of reader.take(paddingOf(size).length)) void piece;
    }
  } finally {
    await reader.close();
  }
}
