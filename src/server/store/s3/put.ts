import { createHash } from 'node:crypto';
import type { ByteStream } from '../../../api/message.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { S3Refusal, type S3Client } from './client.ts';
import { readElement } from './xml.ts';

/** Size of a part in bytes. */
const partSize = 8 * 1024 ** 2;

/** Number of parts after which the part size doubles: an object has at most 10,000 parts. */
const partsOfOneSize = 2000;

/** Timeout in milliseconds for the store to join the parts. */
const joinTime = 120_000;

function checksum(body: Uint8Array): Record<string, string> {
  return { 'content-md5': createHash('md5').update(body).digest('base64') };
}

/** A multipart upload in progress. */
interface Parts {
  add(body: Uint8Array): Promise<void>;
  /** Creates the object from the parts. */
  join(): Promise<void>;
  abort(): Promise<void>;
}

/** Aborts a multipart upload. @throws {S3Refusal} 404 if it does not exist */
export async function abortUpload(client: S3Client, key: string, uploadId: string): Promise<void> {
  await client.send({ method: 'DELETE', key, query: { uploadId } });
}

function readEtag(etag: string | undefined): string {
  if (etag === undefined) throw new Error('the store gave a part no etag');
  return etag.replaceAll('"', '');
}

async function beginParts(client: S3Client, key: string): Promise<Parts> {
  const id = readElement(await client.send({ method: 'POST', key, query: { uploads: '' } }), 'UploadId');
  if (id === undefined) throw new StoreUnavailable('the store of the contents began an upload and gave it no id');
  const etags: string[] = [];
  let size = 0;

  /** A commit whose response was lost fails when it is repeated, because it has been done. */
  async function isThere(): Promise<boolean> {
    return client.send({ method: 'HEAD', key }, ({ headers }) => headers['content-length'] === String(size)).catch(() => false);
  }

  return {
    async add(body) {
      const query = { partNumber: String(etags.length + 1), uploadId: id };
      const request = { method: 'PUT', key, query, headers: checksum(body), body } as const;
      etags.push(await client.send(request, ({ headers, body: answer }) => (answer.resume(), readEtag(headers['etag']))));
      size += body.length;
    },
    async join() {
      const parts = etags.map((etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>"${etag}"</ETag></Part>`);
      const body = Buffer.from(
        `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`,
      );
      const request = { method: 'POST', key, query: { uploadId: id }, headers: checksum(body), body, head: joinTime } as const;
      try {
        const text = await client.send(request);
        // The store sends the status before the work is done.
        const reason = readElement(text, 'Code');
        if (reason !== undefined) throw new S3Refusal(request, 200, reason, readElement(text, 'Message') ?? '');
      } catch (error) {
        if (!(error instanceof S3Refusal) || !(await isThere())) throw error;
      }
    },
    abort: () => abortUpload(client, key, id),
  };
}

/** Gathers bytes until there are enough for a part. */
function createGathering() {
  let pieces: Uint8Array[] = [];
  let size = 0;
  return {
    add: (piece: Uint8Array): void => {
      pieces.push(piece);
      size += piece.length;
    },
    size: () => size,
    /** Removes and returns the first bytes, at most `count`. */
    take: (count: number): Uint8Array => {
      const all = Buffer.concat(pieces, size);
      pieces = size > count ? [all.subarray(count)] : [];
      size -= Math.min(count, size);
      return all.subarray(0, count);
    },
  };
}

/**
 * Stores a stream as an object: a short one in one request, a longer one in parts, each of which is sent while the next one arrives.
 * Nothing is kept of a stream that fails.
 * @param seen called with each chunk
 * @returns its size
 */
export async function putStream(client: S3Client, key: string, body: ByteStream, seen: (piece: Uint8Array) => void): Promise<number> {
  const gathering = createGathering();
  let parts: Parts | undefined;
  let sending: Promise<void> = Promise.resolve();
  let [size, count] = [0, 0];
  try {
    for await (const piece of body) {
      seen(piece);
      size += piece.length;
      gathering.add(piece);
      for (let most = partSize; gathering.size() > (most = partSize * 2 ** Math.floor(count / partsOfOneSize)); count += 1) {
        await sending;
        parts ??= await beginParts(client, key);
        sending = parts.add(gathering.take(most));
        // Awaited later, which reports the error.
        sending.catch(() => undefined);
      }
    }
    const last = gathering.take(gathering.size());
    await sending;
    if (parts === undefined) {
      await client.send({ method: 'PUT', key, headers: checksum(last), body: last });
    } else {
      await parts.add(last);
      await parts.join();
    }
    return size;
  } catch (error) {
    await sending.catch(() => undefined);
    // An upload that cannot be aborted now is left to collectors.
    await parts?.abort().catch(() => undefined);
    throw error;
  }
}
