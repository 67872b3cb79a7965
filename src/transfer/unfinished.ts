import { createHash } from 'node:crypto';
import type { Entry } from '../api/objects.ts';
import { ApiError, NetworkError } from '../errors.ts';
import type { Engine } from './engine.ts';
import { hashFile } from './local-walk.ts';
import { printRemotePath, type RemotePath } from './path.ts';
import type { FileSource } from './source.ts';
import { listParts, partsDirectory, readPlace, type Part, type UploadPlace } from './upload-parts.ts';
import type { PutOptions } from './upload.ts';

/** An upload that is on its way, as it is remembered until it is committed. */
export interface Unfinished {
  /** Name in the memory. */
  readonly name: string;
  readonly place: UploadPlace;
  readonly partSize: number;
  readonly parts: Record<number, Part>;
}

/** Milliseconds between two notes of a growing upload. */
const notePause = 1000;

/** The name under which the upload of this file, as it is now, to this path is remembered. */
export function nameUpload(source: FileSource, target: RemotePath, { headers, copies }: PutOptions): string {
  const { file, size, mtime } = source;
  const what = JSON.stringify([printRemotePath(target), file, size, mtime, headers, copies]);
  return `uploads/${createHash('sha256').update(what).digest('hex').slice(0, 32)}`;
}

function readParts(value: unknown): Record<number, Part> {
  if (typeof value !== 'object' || value === null) return {};
  const valid = Object.entries(value as Record<string, Partial<Part> | null>).filter(
    ([number, part]) => /^\d+$/.test(number) && typeof part?.etag === 'string' && typeof part.md5 === 'string',
  );
  return Object.fromEntries(valid) as Record<number, Part>;
}

/** Whether the service still takes parts for an upload. */
async function isOpen({ storage }: Engine, place: UploadPlace): Promise<boolean> {
  try {
    return (await storage.getMultipartUpload(place)).state === 'created';
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return false;
    throw error;
  }
}

/** Whether the service has exactly these bytes of the file as a part. A listing without MD5 is trusted when the etag is the one noted. */
async function holdsPart(source: FileSource, number: number, partSize: number, entry: Entry, noted: Part | undefined): Promise<boolean> {
  const start = number * partSize;
  const end = Math.min(source.size, start + partSize);
  if (entry.size !== end - start) return false;
  if (entry.contentMD5 === undefined) return noted !== undefined && noted.etag === entry.etag;
  return entry.contentMD5 === (await hashFile(source.file, start, end));
}

/** What a note says of an upload; nothing when it is damaged. */
function readNoted(noted: Record<string, unknown> | undefined): { place?: UploadPlace; partSize?: number } {
  const { partsDirectory: directory, partSize } = noted ?? {};
  if (typeof directory !== 'string' || !Number.isSafeInteger(partSize) || Number(partSize) < 1) return {};
  try {
    return { place: readPlace(directory), partSize: Number(partSize) };
  } catch (error) {
    if (error instanceof NetworkError) return {};
    throw error;
  }
}

/** What an earlier run began and did not finish for this file; undefined when there is nothing to go on with. */
export async function findUnfinished(engine: Engine, source: FileSource, name: string): Promise<Unfinished | undefined> {
  const noted = engine.memory.read(name);
  const { place, partSize } = readNoted(noted);
  if (place === undefined || partSize === undefined) return undefined;
  if (!(await isOpen(engine, place))) {
    engine.memory.remove(name);
    return undefined;
  }
  const earlier = readParts(noted?.['parts']);
  const parts: Record<number, Part> = {};
  for (const [number, entry] of await listParts(engine.storage, place)) {
    const { etag = '', contentMD5 = earlier[number]?.md5 ?? '', size = 0 } = entry;
    if (await holdsPart(source, number, partSize, entry, earlier[number])) parts[number] = { etag, md5: contentMD5, size };
  }
  return { name, place, partSize, parts };
}

/** Notes an upload for a later run, at most once in a second. */
export function noteParts({ memory }: Pick<Engine, 'memory'>, upload: Unfinished, about: object): { soon(): void; now(): void } {
  let last = 0;
  const now = (): void => {
    last = performance.now();
    const { account, path } = partsDirectory(upload.place);
    memory.write(upload.name, { ...about, partsDirectory: `/${account}/${path}`, partSize: upload.partSize, parts: upload.parts });
  };
  return {
    now,
    soon: () => {
      if (performance.now() - last > notePause) now();
    },
  };
}
