import type { S3Client } from './client.ts';
import { readElement, readElements } from './xml.ts';

/** An object of a bucket. */
export interface Listed {
  /** Its key after the prefix of the listing. */
  readonly name: string;
  /** Milliseconds since the epoch, by the clock of the store. */
  readonly modified: number;
}

/** All objects whose keys begin with a prefix, page by page. */
export async function* listObjects(client: S3Client, prefix: string): AsyncGenerator<Listed> {
  let token: string | undefined;
  do {
    const query = { 'list-type': '2', prefix, ...(token !== undefined && { 'continuation-token': token }) };
    const page = await client.send({ method: 'GET', query });
    for (const object of readElements(page, 'Contents')) {
      const key = readElement(object, 'Key') ?? '';
      const modified = Date.parse(readElement(object, 'LastModified') ?? '');
      // An object without a time must never be considered old.
      if (key.startsWith(prefix)) yield { name: key.slice(prefix.length), modified: Number.isNaN(modified) ? Infinity : modified };
    }
    token = readElement(page, 'IsTruncated') === 'true' ? readElement(page, 'NextContinuationToken') : undefined;
  } while (token !== undefined);
}

/** A multipart upload in progress. */
export interface ListedUpload {
  /** Key of the object after the prefix of the listing. */
  readonly name: string;
  readonly uploadId: string;
  /** When it was created, milliseconds since the epoch, by the clock of the store. */
  readonly begun: number;
}

/** All unfinished multipart uploads of objects whose keys begin with a prefix, page by page. */
export async function* listUploads(client: S3Client, prefix: string): AsyncGenerator<ListedUpload> {
  let markers: Record<string, string> | undefined = {};
  while (markers !== undefined) {
    const page: string = await client.send({ method: 'GET', query: { uploads: '', prefix, ...markers } });
    for (const upload of readElements(page, 'Upload')) {
      const [key = '', uploadId = ''] = [readElement(upload, 'Key'), readElement(upload, 'UploadId')];
      const begun = Date.parse(readElement(upload, 'Initiated') ?? '');
      if (key.startsWith(prefix) && uploadId !== '' && !Number.isNaN(begun)) yield { name: key.slice(prefix.length), uploadId, begun };
    }
    const [key, uploadId] = [readElement(page, 'NextKeyMarker'), readElement(page, 'NextUploadIdMarker')];
    const isMore = readElement(page, 'IsTruncated') === 'true' && key !== undefined && uploadId !== undefined;
    markers = isMore ? { 'key-marker': key, 'upload-id-marker': uploadId } : undefined;
  }
}
