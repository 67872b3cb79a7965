import type { Headers } from '../../api/message.ts';
import { ApiError, NetworkError } from '../../base/errors.ts';
import { runOrdered } from '../../base/parallel.ts';
import { openObject, readObject, readSmallObject, type Opened } from '../download/download.ts';
import { trackTransfer, type Engine } from '../engine.ts';
import type { Ticket } from '../../base/monitor.ts';
import { closeBody } from '../../api/close-body.ts';
import { inspect } from '../inspect.ts';
import { readTime } from '../local/time.ts';
import { printRemotePath, type RemotePath } from '../path.ts';
import { tryAgain } from '../retry.ts';
import type { Filter } from '../sync/tree.ts';
import { readMode } from '../tree/headers.ts';
import { walkRemote } from '../tree/walk.ts';
import { archiveEnd, encodeHeader, paddingOf } from './header.ts';

/** Objects up to this size are fetched while others before them are written, bytes. */
const smallObject = 1024 * 1024;

/** Permission bits of objects and directories without `m-mode`. */
const usualFileMode = 0o644;
const usualFolderMode = 0o755;

/** A tree or an object, and its name in the archive; for an empty name, the entries of the tree are at the top level. */
export interface PackRoot {
  readonly path: RemotePath;
  readonly type: 'object' | 'directory';
  readonly name: string;
}

export interface PackOptions {
  readonly filter: Filter;
  /** Called for each directory that cannot be listed, with its path. */
  readonly onError: (error: unknown, directory?: RemotePath) => Promise<void> | void;
  /** Runs the work for one object; undefined when it failed and was reported. */
  readonly attempt: <T>(label: string, work: () => Promise<T>) => Promise<T | undefined>;
}

/** An entry of the archive to be written. */
interface PackStep {
  readonly kind: 'object' | 'directory';
  readonly path: RemotePath;
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly mtime: number;
  readonly size: number | undefined;
}

async function* planPack(engine: Engine, roots: readonly PackRoot[], { filter, onError }: PackOptions): AsyncGenerator<PackStep> {
  for (const { path, type, name } of roots) {
    if (type === 'object') {
      yield { kind: 'object', path, name, mtime: 0, size: undefined };
      continue;
    }
    if (name !== '' && !filter.isChoosy) yield { kind: 'directory', path, name, mtime: 0, size: undefined };
    for await (const visit of walkRemote(engine.storage, path, { onError, prune: filter.prunes })) {
      const { kind, entry, rel } = visit;
      const takes = kind === 'object' ? filter.hasFile(rel) : kind === 'enter' && !filter.isChoosy && !filter.prunes(rel);
      if (!takes) continue;
      const mtime = Date.parse(entry.mtime);
      const step = { path: visit.path, name: name === '' ? rel : `${name}/${rel}`, mtime: Number.isNaN(mtime) ? 0 : mtime };
      yield { ...step, kind: kind === 'object' ? 'object' : 'directory', size: entry.size };
    }
  }
}

/** Reads time and mode from the headers of an object or directory. @param listed time in the listing, milliseconds */
function readProperties(headers: Headers, usualMode: number, listed = 0): { mtime: bigint; mode: number } {
  const kept = readTime(headers['m-mtime'])?.time;
  const changed = Date.parse(headers['last-modified'] ?? '');
  const mtime = kept ?? BigInt(Number.isNaN(changed) ? listed : changed) * 1_000_000n;
  return { mtime, mode: readMode(headers['m-mode']) ?? usualMode };
}

/** The header block of a directory. If its headers cannot be read, it gets the time of the listing. */
async function describeFolder({ storage }: Engine, { name, path, mtime }: PackStep): Promise<Buffer> {
  const found = await inspect(storage, path).catch((error: unknown) => {
    if (error instanceof ApiError) return undefined;
    throw error;
  });
  return encodeHeader({ type: 'directory', name, size: 0, ...readProperties(found?.headers ?? {}, usualFolderMode, mtime) });
}

/** The header blocks of an object. @throws {NetworkError} when its size is unknown, which has to precede the bytes */
function describeObject({ name }: PackStep, { path, headers, size }: Opened): Buffer {
  if (size === undefined)
    throw new NetworkError(`the service does not report the size of ${printRemotePath(path)}`, { code: 'UnreadableReply' });
  return encodeHeader({ type: 'file', name, size, ...readProperties(headers, usualFileMode) });
}

/** An entry that was fetched in advance. */
interface Packed {
  readonly step: PackStep;
  /** Absent for an object that is too large to be held in memory. */
  readonly blocks?: readonly Uint8Array[];
}

async function fetchSmall(engine: Engine, step: PackStep): Promise<Packed> {
  if (step.size === undefined || step.size > smallObject) return { step };
  return await tryAgain(async () => {
    const opened = await openObject(engine, step.path);
    if (opened.size !== undefined && opened.size > smallObject) {
      await closeBody(opened.body);
      return { step };
    }
    const header = describeObject(step, opened);
    const read = async (ticket: Ticket): Promise<Uint8Array> => readSmallObject(engine, opened, ticket);
    const content = await trackTransfer(engine, printRemotePath(step.path), opened.size, read);
    return { step, blocks: [header, content, paddingOf(content.length)] };
  }, engine);
}

/** Streams the blocks of an object. An error after the header ends the archive, as the announced bytes are missing. */
async function* streamObject(engine: Engine, opened: Opened, header: Buffer): AsyncGenerator<Uint8Array> {
  const ticket = engine.monitor.begin(printRemotePath(opened.path), opened.size);
  let isDone = false;
  try {
    yield header;
    yield* readObject(engine, opened, { ticket });
    yield paddingOf(opened.size ?? 0);
    isDone = true;
  } finally {
    ticket.end(isDone ? 'done' : 'failed');
  }
}

/**
 * Packs trees and objects into a tar archive, in order: small objects are fetched in advance and concurrently, larger ones are streamed.
 * Objects that cannot be read are reported and left out.
 */
export async function* packTrees(engine: Engine, roots: readonly PackRoot[], options: PackOptions): AsyncGenerator<Uint8Array> {
  const { attempt } = options;
  const fetch = async (step: PackStep): Promise<Packed | undefined> => {
    if (step.kind === 'directory') return { step, blocks: [await describeFolder(engine, step)] };
    return await attempt(printRemotePath(step.path), () => fetchSmall(engine, step));
  };
  const window = engine.parallel * 2;
  for await (const packed of runOrdered(planPack(engine, roots, options), fetch, {
    limit: engine.parallel,
    window,
    signal: engine.signal,
  })) {
    if (!packed) continue;
    const { step, blocks } = packed;
    if (blocks) yield Buffer.concat(blocks);
    else {
      const begun = await attempt(printRemotePath(step.path), async () => {
        const opened = await openObject(engine, step.path);
        return { opened, header: describeObject(step, opened) };
      });
      if (begun) yield* streamObject(engine, begun.opened, begun.header);
    }
  }
  yield archiveEnd;
}
