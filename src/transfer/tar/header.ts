import { LocalError } from '../../base/errors.ts';

/**
 * Headers of tar archives: blocks of 512 bytes (POSIX.1-2017, pax, section "ustar Interchange Format"; and the long names and numbers of
 * GNU tar). This program writes ustar headers, preceded by a pax header for values that do not fit.
 */

export const blockSize = 512;

/** A file or directory in an archive. */
export interface Member {
  readonly type: 'file' | 'directory';
  /** Path with `/`, without a trailing one. */
  readonly name: string;
  /** Bytes; 0 for a directory. */
  readonly size: number;
  /** Nanoseconds since the epoch. */
  readonly mtime: bigint;
  /** Permission bits. */
  readonly mode: number;
}

/** The archive is damaged, truncated, or implausible; reading stops. */
export class ArchiveError extends LocalError {}

/** Fields of a ustar header: offset and length. */
const fields = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  mtime: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  link: [157, 100],
  magic: [257, 8],
  prefix: [345, 155],
} as const;

type FieldName = keyof typeof fields;

const second = 1_000_000_000n;

/** Numbers from here on do not fit into eleven octal digits. */
const octalLimit = 8n ** 11n;

function fieldOf(block: Uint8Array, name: FieldName): Buffer {
  const [start, length] = fields[name];
  return Buffer.from(block.buffer, block.byteOffset + start, length);
}

function sumOf(block: Uint8Array): number {
  const [start, length] = fields.checksum;
  let sum = 0;
  for (let at = 0; at < blockSize; at += 1) sum += at >= start && at < start + length ? 32 : (block[at] ?? 0);
  return sum;
}

/** Formats a record of a pax header: its length, which includes the digits of the length itself, the key and the value. */
function printRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest;
  while (length !== rest + String(length).length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

/** Formats seconds with as many decimals as needed. */
function printSeconds(time: bigint): string {
  const magnitude = time < 0n ? -time : time;
  const fraction = String(magnitude % second)
    .padStart(9, '0')
    .replace(/0+$/, '');
  return `${time < 0n ? '-' : ''}${magnitude / second}${fraction === '' ? '' : `.${fraction}`}`;
}

function encodeBlock(name: string, type: string, { size, mtime, mode }: { size: bigint; mtime: bigint; mode: number }): Buffer {
  const block = Buffer.alloc(blockSize);
  const octal = (field: FieldName, value: bigint): void =>
    void fieldOf(block, field).write(value.toString(8).padStart(fields[field][1] - 1, '0'), 'latin1');
  fieldOf(block, 'name').write(name, 'latin1');
  octal('mode', BigInt(mode));
  octal('uid', 0n);
  octal('gid', 0n);
  octal('size', size);
  octal('mtime', mtime);
  fieldOf(block, 'type').write(type, 'latin1');
  fieldOf(block, 'magic').write('ustar\u000000', 'latin1');
  fieldOf(block, 'checksum').write(`${sumOf(block).toString(8).padStart(6, '0')}\0 `, 'latin1');
  return block;
}

/** The zeros that fill up the last block. */
export function paddingOf(size: number): Buffer {
  return Buffer.alloc((blockSize - (size % blockSize)) % blockSize);
}

/** The two zero blocks that end an archive. */
export const archiveEnd = Buffer.alloc(2 * blockSize);

/** The header blocks of a file or directory. */
export function encodeHeader({ type, name, size, mtime, mode }: Member): Buffer {
  const path = type === 'directory' ? `${name}/` : name;
  // Programs that do not know pax headers get the beginning of the name.
  const plain = path.replaceAll(/[^\u0020-\u007e]/g, '_').slice(0, fields.name[1]);
  const isOctal = mtime >= 0n && mtime / second < octalLimit;
  const records = [
    plain === path ? '' : printRecord('path', path),
    BigInt(size) < octalLimit ? '' : printRecord('size', String(size)),
    isOctal && mtime % second === 0n ? '' : printRecord('mtime', printSeconds(mtime)),
  ].join('');
  const shortTime = isOctal ? mtime / second : 0n;
  const shortSize = BigInt(size) < octalLimit ? BigInt(size) : 0n;
  const header = encodeBlock(plain, type === 'directory' ? '5' : '0', { size: shortSize, mtime: shortTime, mode });
  if (records === '') return header;
  const bytes = Buffer.from(records);
  const pax = encodeBlock('PaxHeader', 'x', { size: BigInt(bytes.length), mtime: shortTime, mode: 0o644 });
  return Buffer.concat([pax, bytes, paddingOf(bytes.length), header]);
}

/** A ustar header of an archive; names are bytes. */
export interface RawHeader {
  /** One character. */
  readonly type: string;
  readonly name: Buffer;
  readonly link: Buffer;
  readonly size: bigint;
  /** Seconds since the epoch. */
  readonly mtime: bigint;
  readonly mode: number;
}

/** The bytes before the first NUL. */
function untilNul(bytes: Buffer): Buffer {
  const end = bytes.indexOf(0);
  return end < 0 ? bytes : bytes.subarray(0, end);
}

/** Parses a number: octal digits or, if the first bit is set, big-endian base 256. Undefined for anything else. */
function readNumber(bytes: Buffer): bigint | undefined {
  const first = bytes[0] ?? 0;
  if (first === 0x80 || first === 0xff) {
    const magnitude = BigInt(`0x${bytes.subarray(1).toString('hex')}`);
    return first === 0x80 ? magnitude : magnitude - (1n << BigInt(bytes.length * 8 - 8));
  }
  const digits = untilNul(bytes).toString('latin1').trim();
  if (digits === '') return 0n;
  return /^[0-7]+$/.test(digits) ? BigInt(`0o${digits}`) : undefined;
}

/** Parses a header; undefined when its checksum or a number is wrong. */
export function readHeader(block: Buffer): RawHeader | undefined {
  const [checksum, size, mtime, mode] = (['checksum', 'size', 'mtime', 'mode'] as const).map((name) => readNumber(fieldOf(block, name)));
  if (checksum !== BigInt(sumOf(block)) || size === undefined || mtime === undefined || mode === undefined) return undefined;
  const name = untilNul(fieldOf(block, 'name'));
  const isPosix = fieldOf(block, 'magic').toString('latin1').startsWith('ustar\0');
  const prefix = isPosix ? untilNul(fieldOf(block, 'prefix')) : Buffer.alloc(0);
  return {
    type: fieldOf(block, 'type').toString('latin1'),
    name: prefix.length === 0 ? name : Buffer.concat([prefix, Buffer.from('/'), name]),
    link: untilNul(fieldOf(block, 'link')),
    size,
    mtime,
    mode: Number(mode & 0o777n),
  };
}

/** Parses the records of a pax header, values as bytes. Undefined when a record is damaged. */
export function readRecords(bytes: Buffer): Map<string, Buffer> | undefined {
  const records = new Map<string, Buffer>();
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(' ', at);
    const digits = bytes.toString('latin1', at, space);
    const end = at + Number(digits);
    const equals = bytes.indexOf('=', space);
    if (space < 0 || !/^[1-9]\d{0,9}$/.test(digits) || end > bytes.length || equals < 0 || equals >= end || bytes[end - 1] !== 10)
      return undefined;
    records.set(bytes.toString('utf8', space + 1, equals), bytes.subarray(equals + 1, end - 1));
    at = end;
  }
  return records;
}
