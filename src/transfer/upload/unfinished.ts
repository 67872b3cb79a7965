import { createHash } from 'node:crypto';
import { readClock } from '../../base/clock.ts';
import type { Entry } from '../../api/objects.ts';
import { ApiError, isSystemError, NetworkError } from '../../base/errors.ts';
import type { Engine } from '../engine.ts';
import { inspect } from '../inspect.ts';
import { hashFile } from '../local/walk.ts';
import { printRemotePath, type RemotePath } from '../path.ts';
import type { FileSource } from '../local/source.ts';
import { getUpload } from './find-upload.ts';
import { createUpload, listParts, partsDirectory, readPlace, type Part, type PutOptions, type UploadPlace } from './parts.ts';

/** An upload in progress, as it is remembered until it is committed. */
export interface Unfinished {
  /** Name in `Memory`. */
  readonly name: string;
  readonly place: UploadPlace;
  readonly partSize: number;
  readonly parts: Record<number, Part>;
}

/** The bytes of one version of a source, which can be read again from any position. */
export interface Resumable {
  /** The source of the bytes. */
  readonly file: string;
  readonly size: number;
  /** Values that differ for every other version. */
  readonly version: readonly string[];
  /** MD5 of a range, Base64; absent where reading a range costs as much as sending it. */
  readonly hash?: (start: number, end: number) => Promise<string>;
}

/** A local file in the state recorded in `FileSource`. */
export function resumeFile({ file, size, mtime, ctime, ino }: FileSource, signal: AbortSignal | undefined): Resumable {
  return { file, size, version: [mtime, ctime, ino].map(String), hash: (start, end) => hashFile(file, signal, start, end) };
}

/** Milliseconds after which a note counts as abandoned even if its process seems to live: PIDs are reused. */
const longestSilence = 3_600_000;

/** Milliseconds between two notes of an upload in progress. */
const notePause = 1000;

/** Properties that decide which upload can be resumed. */
type UploadProperties = Pick<PutOptions, 'headers' | 'copies'>;

/** The name under which an upload is remembered: of this version of the file, to this path, at this service. */
function nameUpload({ service }: Engine, source: Resumable, target: RemotePath, { headers, copies }: UploadProperties): string {
  const { file, size, version } = source;
  const what = JSON.stringify([service, printRemotePath(target), file, size, ...version, headers, copies]);
  return `uploads/${createHash('sha256').update(what).digest('hex').slice(0, 32)}`;
}

/** True if an earlier run noted that it had started to send this file in parts. */
export function isBegun(engine: Engine, source: FileSource, target: RemotePath, options: PutOptions): boolean {
  return engine.memory.read(nameUpload(engine, resumeFile(source, engine.signal), target, options)) !== undefined;
}

function readParts(value: unknown): Record<number, Part> {
  if (typeof value !== 'object' || value === null) return {};
  const valid = Object.entries(value as Record<string, Partial<Part> | null>).filter(
    ([number, part]) => /^\d+$/.test(number) && typeof part?.etag === 'string' && typeof part.md5 === 'string',
  );
  return Object.fromEntries(valid) as Record<number, Part>;
}

/** True if the service still accepts parts for an upload. */
async function isOpen({ storage }: Engine, place: UploadPlace): Promise<boolean> {
  try {
    const { state } = await getUpload(storage, place);
    if (state !== undefined) return state === 'created';
    // The parts directory exists as long as parts are accepted.
    return (await inspect(storage, partsDirectory(place))) !== undefined;
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return false;
    throw error;
  }
}

/** True if a part at the service has exactly these bytes of the file. In a listing without MD5s, the noted etag is enough. */
async function holdsPart(source: Resumable, number: number, partSize: number, entry: Entry, noted: Part | undefined): Promise<boolean> {
  const start = number * partSize;
  const end = Math.min(source.size, start + partSize);
  if (entry.size !== end - start) return false;
  if (entry.contentMD5 === undefined || source.hash === undefined) return noted !== undefined && noted.etag === entry.etag;
  return entry.contentMD5 === (await source.hash(start, end));
}

/** The place and part size in a note; empty when the note is damaged. */
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

/** True if another living process sends the parts of a noted upload. */
function isInUse({ processes }: Engine, noted: Record<string, unknown> | undefined): boolean {
  const { pid, at } = noted ?? {};
  if (typeof pid !== 'number' || typeof at !== 'number' || pid === processes.own) return false;
  return Date.now() - at < longestSilence && processes.isAlive(pid);
}

/** The upload that an earlier run started for this file and did not finish; undefined when there is nothing to resume. */
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

/** Keeps what a later run needs to resume an upload. */
export interface Notes {
  /** Notes the parts, at most once per second. */
  soon(): void;
  now(): void;
  /** Removes the note. */
  drop(): void;
  /** True if a later run can find the upload. */
  readonly areKept: boolean;
}

/**
 * Opens the upload of a file: the one that an earlier run left, or a new one. An upload that another process is sending is left to that
 * process: each would overwrite parts whose etags the other has noted.
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

/** Notes the upload of a stream, so that its parts can be removed if the process is killed. */
export function noteStream(engine: Engine, place: UploadPlace, target: RemotePath): Pick<Notes, 'drop'> {
  const upload = { name: `uploads/${place.id.replaceAll(/[^0-9a-f]/gi, '').slice(0, 32)}`, place, partSize: 1, parts: {} };
  const notes = keepNotes(engine, upload, { service: engine.service, target: printRemotePath(target) }, false);
  notes.now();
  return notes;
}

const noNotes: Notes = { soon: () => undefined, now: () => undefined, drop: () => undefined, areKept: false };

function keepNotes({ memory, processes }: Engine, upload: Unfinished, about: object, areThere: boolean): Notes {
  let last = -Infinity;
  let areKept = areThere;
  const now = (): void => {
    last = readClock();
    const { account, path } = partsDirectory(upload.place);
    const state = { partsDirectory: `/${account}/${path}`, partSize: upload.partSize, parts: upload.parts };
    try {
      memory.write(upload.name, { ...about, ...state, pid: processes.own, at: Date.now() });
      areKept = true;
    } catch (error) {
      // Without notes the file is still stored, but the upload cannot be resumed.
      if (!isSystemError(error)) throw error;
    }
  };
  return {
    now,
    soon: () => {
      if (readClock() - last > notePause) now();
    },
    drop: () => memory.remove(upload.name),
    get areKept() {
      return areKept;
    },
  };
}
