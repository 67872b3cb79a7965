import { createHash } from 'node:crypto';
import type { Entry } from '../../api/objects.ts';
import { ApiError, isSystemError, NetworkError } from '../../base/errors.ts';
import type { Engine } from '../engine.ts';
import { inspect } from '../inspect.ts';
import { hashFile } from '../local/walk.ts';
import { printRemotePath, type RemotePath } from '../path.ts';
import type { FileSource } from '../local/source.ts';
import { getUpload } from './find-upload.ts';
import { createUpload, listParts, partsDirectory, readPlace, type Part, type PutOptions, type UploadPlace } from './parts.ts';

/** An upload that is on its way, as it is remembered until it is committed. */
export interface Unfinished {
  /** Name in the memory. */
  readonly name: string;
  readonly place: UploadPlace;
  readonly partSize: number;
  readonly parts: Record<number, Part>;
}

/** Bytes of one version of something, which can be read again from any place. */
export interface Resumable {
  /** Where they come from. */
  readonly file: string;
  readonly size: number;
  /** What another version has otherwise. */
  readonly version: readonly string[];
  /** MD5 of a range, Base64; absent where reading it costs as much as sending it. */
  readonly hash?: (start: number, end: number) => Promise<string>;
}

/** A local file as it was when it was looked at. */
export function resumeFile({ file, size, mtime, ctime, ino }: FileSource): Resumable {
  return { file, size, version: [mtime, ctime, ino].map(String), hash: (start, end) => hashFile(file, start, end) };
}

/** Milliseconds after which a note is taken for left, though the process that wrote it seems to live: numbers are used again. */
const longestSilence = 3_600_000;

/** Milliseconds between two notes of a growing upload. */
const notePause = 1000;

/** What decides which upload can be gone on with. */
type UploadProperties = Pick<PutOptions, 'headers' | 'copies'>;

/** The name under which the upload of this file, as it is now, to this path of this service is remembered. */
function nameUpload({ service }: Engine, source: Resumable, target: RemotePath, { headers, copies }: UploadProperties): string {
  const { file, size, version } = source;
  const what = JSON.stringify([service, printRemotePath(target), file, size, ...version, headers, copies]);
  return `uploads/${createHash('sha256').update(what).digest('hex').slice(0, 32)}`;
}

/** Whether an earlier run noted that it had begun to send this file in parts. */
export function isBegun(engine: Engine, source: FileSource, target: RemotePath, options: PutOptions): boolean {
  return engine.memory.read(nameUpload(engine, resumeFile(source), target, options)) !== undefined;
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
    const { state } = await getUpload(storage, place);
    if (state !== undefined) return state === 'created';
    // The directory is there for as long as parts are taken.
    return (await inspect(storage, partsDirectory(place))) !== undefined;
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return false;
    throw error;
  }
}

/** Whether the service has exactly these bytes of the file as a part. A listing without MD5 is trusted when the etag is the one noted. */
async function holdsPart(source: Resumable, number: number, partSize: number, entry: Entry, noted: Part | undefined): Promise<boolean> {
  const start = number * partSize;
  const end = Math.min(source.size, start + partSize);
  if (entry.size !== end - start) return false;
  if (entry.contentMD5 === undefined || source.hash === undefined) return noted !== undefined && noted.etag === entry.etag;
  return entry.contentMD5 === (await source.hash(start, end));
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

/** Whether another process, which is still there, sends the parts of a noted upload. */
function isInUse({ processes }: Engine, noted: Record<string, unknown> | undefined): boolean {
  const { pid, at } = noted ?? {};
  if (typeof pid !== 'number' || typeof at !== 'number' || pid === processes.own) return false;
  return Date.now() - at < longestSilence && processes.isAlive(pid);
}

/** What an earlier run began and did not finish for this file; undefined when there is nothing to go on with. */
export async function findUnfinished(
  engine: Engine,
  source: Resumable,
  name: string,
  noted: Record<string, unknown> | undefined,
): Promise<Unfinished | undefined> {
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

/** Keeps what a later run has to know of an upload. */
export interface Notes {
  /** Notes the parts, at most once in a second. */
  soon(): void;
  now(): void;
  /** Forgets the upload. */
  drop(): void;
  /** Whether a later run will find it. */
  readonly areKept: boolean;
}

/**
 * The upload of a file: the one that an earlier run left, or a new one. One that another process is sending is left to that process: each
 * would store parts that the other has named already.
 */
export async function openUpload(
  engine: Engine,
  source: Resumable,
  target: RemotePath,
  options: UploadProperties,
  partSize: number,
): Promise<{ upload: Unfinished; notes: Notes }> {
  const name = nameUpload(engine, source, target, options);
  const noted = engine.memory.read(name);
  const isOwn = !isInUse(engine, noted);
  const earlier = isOwn ? await findUnfinished(engine, source, name, noted) : undefined;
  const upload = earlier ?? { name, place: await createUpload(engine, target, options), partSize, parts: {} };
  const about = { service: engine.service, target: printRemotePath(target), file: source.file, size: source.size };
  return { upload, notes: isOwn ? keepNotes(engine, upload, about, earlier !== undefined) : noNotes };
}

/** Notes that an upload whose bytes come once is under way, so that its parts can be removed when the process is killed. */
export function noteStream(engine: Engine, place: UploadPlace, target: RemotePath): Pick<Notes, 'drop'> {
  const upload = { name: `uploads/${place.id.replaceAll(/[^0-9a-f]/gi, '').slice(0, 32)}`, place, partSize: 1, parts: {} };
  const notes = keepNotes(engine, upload, { service: engine.service, target: printRemotePath(target) }, false);
  notes.now();
  return notes;
}

const noNotes: Notes = { soon: () => undefined, now: () => undefined, drop: () => undefined, areKept: false };

function keepNotes({ memory, processes }: Engine, upload: Unfinished, about: object, areThere: boolean): Notes {
  let last = 0;
  let areKept = areThere;
  const now = (): void => {
    last = performance.now();
    const { account, path } = partsDirectory(upload.place);
    const state = { partsDirectory: `/${account}/${path}`, partSize: upload.partSize, parts: upload.parts };
    try {
      memory.write(upload.name, { ...about, ...state, pid: processes.own, at: Date.now() });
      areKept = true;
    } catch (error) {
      // Without notes the file is stored as well; it can only not be gone on with.
      if (!isSystemError(error)) throw error;
    }
  };
  return {
    now,
    soon: () => {
      if (performance.now() - last > notePause) now();
    },
    drop: () => memory.remove(upload.name),
    get areKept() {
      return areKept;
    },
  };
}
