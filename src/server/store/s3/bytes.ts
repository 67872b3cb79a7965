import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { streamOf, type Body } from '../../../api/message.ts';
import { collectorName, markerName, type ByteStore, type Note, type StoredBytes } from '../bytes.ts';
import { compress, inflateRange, isCompressed, markCompressed } from '../compressed-bytes.ts';
import { keepInline, readInline } from '../inline-bytes.ts';
import { isRow } from '../row-bytes.ts';
import { openS3, S3Refusal, type S3Client, type S3Times } from './client.ts';
import { listObjects, listUploads } from './listing.ts';
import type { S3Options } from './options.ts';
import { abortUpload, putStream } from './put.ts';
import { readObject, readWhole } from './read.ts';

/** Contents in a bucket of a store with the S3 protocol. */
export interface S3Bytes extends ByteStore {
  /** Checks that the bucket can be used. @throws {S3Refusal} when the store rejects access, {StoreUnavailable} when it does not respond */
  check(): Promise<void>;
  /** Says which cluster has its contents here. */
  readonly marker: Note;
  close(): Promise<void>;
}

/** Start of all keys, after the prefix of the store. */
const folder = 'bytes/';

/** Ids created by this program: everything else in the bucket belongs to others. */
const ownId = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?:\.z)?$/u;

const keyOf = (id: string): string => `${folder}${id}`;

/** For `catch`: undefined if an object or upload does not exist. @throws every other error */
function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof S3Refusal) || error.status !== 404 || error.reason === 'NoSuchBucket') throw error;
}

/** True if the store does not list unfinished uploads, or not for this key pair. */
function isUnlisted(error: unknown): boolean {
  return error instanceof S3Refusal && [403, 405, 501].includes(error.status);
}

async function put(client: S3Client, id: string, body: Body): Promise<StoredBytes> {
  const hash = createHash('md5');
  const bytes = body instanceof Uint8Array ? streamOf(body) : body;
  if (!isCompressed(id)) {
    const size = await putStream(client, keyOf(id), bytes, (piece) => hash.update(piece));
    return { id, size, md5: hash.digest('base64') };
  }
  const { stream, measure } = compress(bytes, hash);
  await putStream(client, keyOf(id), stream, () => undefined);
  return { id, size: measure(), md5: hash.digest('base64') };
}

/**
 * Contents as objects `bytes/<id>` of a bucket. Each is written once under its own key and never changed, so that every request may be
 * repeated, and nothing depends on conditional requests, which not all stores support.
 * @param times other timeouts than the default, for tests
 */
export function openS3Bytes(options: S3Options, times?: Partial<S3Times>): S3Bytes {
  const client = openS3(options, times);

  async function download(id: string, file: string): Promise<void> {
    try {
      await pipeline(await readWhole(client, keyOf(id)), createWriteStream(file, { flags: 'wx', mode: 0o600 }));
    } catch (error) {
      await rm(file, { force: true });
      throw error;
    }
  }

  const noteOf = (key: string): Note => ({
    read: () => client.send({ method: 'GET', key }).catch(ignoreMissing),
    write: async (text) => {
      await client.send({ method: 'PUT', key, body: Buffer.from(text) });
    },
  });

  return {
    // The free space is unknown.
    measureFree: async () => Infinity,

    write: (body) => put(client, randomUUID(), body),

    writeCompressed: (body) => put(client, markCompressed(randomUUID()), body),

    keep: async (bytes) => keepInline(bytes) ?? put(client, randomUUID(), bytes),

    async read(id, start, end) {
      if (end <= start) return streamOf();
      const inline = readInline(id);
      if (inline) return streamOf(inline.subarray(start, end));
      if (!isCompressed(id)) return readObject(client, keyOf(id), start, end);
      return inflateRange(Readable.from(await readWhole(client, keyOf(id))), start, end);
    },

    async place(id, file) {
      if (isCompressed(id) || isRow(id)) return false;
      const inline = readInline(id);
      try {
        if (inline) await writeFile(file, inline, { mode: 0o600 });
        else await download(id, file);
        return true;
      } catch (error) {
        ignoreMissing(error);
        return false;
      }
    },

    async remove(id) {
      if (readInline(id) !== undefined || isRow(id)) return;
      await client.send({ method: 'DELETE', key: keyOf(id) }).catch(ignoreMissing);
    },

    async *list(before = Infinity) {
      for await (const { name, modified } of listObjects(client, `${options.prefix}${folder}`)) {
        if (ownId.test(name) && (before === Infinity || modified < before)) yield name;
      }
    },

    async *listUnfinished(before) {
      try {
        for await (const { name, uploadId, begun } of listUploads(client, `${options.prefix}${folder}`)) {
          if (!ownId.test(name) || begun >= before) continue;
          yield { id: name, abort: () => abortUpload(client, keyOf(name), uploadId).catch(ignoreMissing) };
        }
      } catch (error) {
        if (!isUnlisted(error)) throw error;
      }
    },

    collector: noteOf(collectorName),

    marker: noteOf(markerName),

    check: async () => {
      await client.send({ method: 'GET', query: { 'list-type': '2', 'max-keys': '1' } });
    },

    close: () => client.close(),
  };
}
