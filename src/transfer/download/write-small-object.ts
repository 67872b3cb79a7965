import { closeSync, ftruncateSync, lstatSync, rmSync, writeSync, type Stats } from 'node:fs';
import { checkInterrupted, InterruptedError } from '../../base/errors.ts';
import { removeQuietly } from '../../base/private-files.ts';
import { countMoves, type Engine } from '../engine.ts';
import type { Ticket } from '../../base/monitor.ts';
import { assertApart, noteMade } from '../local/one-file.ts';
import { createOwn, giveName, removeStale } from '../local/partial-file.ts';
import { nameBriefly } from '../local/unfinished-name.ts';
import { findData } from '../local/sparse.ts';
import { sizeToContinue } from './beginning.ts';
import { readSmallObject, type Opened } from './download.ts';
import {
  checkTarget,
  createTakenError,
  describeFetched,
  readProperties,
  setProperties,
  type Fetched,
  type FetchOptions,
  type Properties,
} from './write-object.ts';

/** An object of at most this size is held in memory until it is complete, bytes. */
const smallSize = 256 * 1024;

/** True for an object whose body has been requested, and which `writeSmallObject` can write. */
export function isSmall({ size, body }: Opened, options: FetchOptions): boolean {
  return body !== undefined && size !== undefined && size <= smallSize && sizeToContinue(options) === 0;
}

/** Writes synchronously: much faster than asynchronous calls, each of which waits for a thread. @returns the stats of the file */
function writeContent(content: Uint8Array, unfinished: string, properties: Properties, sparse: boolean): Stats {
  const descriptor = createOwn(unfinished, properties.mode);
  try {
    const ranges = sparse ? findData(content, 0) : [{ start: 0, end: content.length }];
    for (const { start, end } of ranges) for (let at = start; at < end;) at += writeSync(descriptor, content, at, end - at, at);
    if (sparse) ftruncateSync(descriptor, content.length);
    return setProperties(descriptor, properties);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Writes a small object, all of whose bytes have arrived, in one step.
 * @throws {NetworkError} {LocalError} and then no file exists, or the old one
 */
export function placeSmallObject(
  { storage, processes }: Engine,
  opened: Opened,
  content: Uint8Array,
  file: string,
  options: FetchOptions,
): Fetched {
  // One check is enough, because nothing is awaited between it and the rename.
  const there = checkTarget(file, opened, options);
  const properties = readProperties(opened, options, there);
  const unfinished = nameBriefly(file, processes);
  const made = writeContent(content, unfinished, properties, options.sparse === true);
  try {
    if (there !== undefined) assertApart(storage, file);
    noteMade(storage, made);
    if (!giveName(unfinished, file, options.replaces ?? 'anything')) throw createTakenError(file);
    if (options.inTree !== true) removeStale(file, processes);
    const named = lstatSync(file, { bigint: true, throwIfNoEntry: false });
    return describeFetched(opened, file, properties.mtime, made, named);
  } catch (error) {
    removeQuietly(unfinished);
    throw error;
  }
}

/**
 * Like `writeObject`, for a small object: it is written when all of its bytes have arrived, and an interrupted download leaves nothing.
 * @throws {NetworkError} {LocalError} and then no file exists, or the old one
 */
export async function writeSmallObject(
  engine: Engine,
  opened: Opened,
  file: string,
  options: FetchOptions,
  ticket: Ticket,
): Promise<Fetched> {
  options.onHeaders?.(opened.headers);
  if (opened.size !== undefined) ticket.expect(opened.size);
  const counting = countMoves(ticket);
  try {
    const reading = readSmallObject(engine, opened, counting);
    // Awaiting bytes that have arrived would cost as much as their MD5.
    const content = reading instanceof Promise ? await reading : reading;
    return placeSmallObject(engine, opened, content, file, options);
  } catch (error) {
    counting.takeBack();
    if (!(error instanceof InterruptedError)) checkInterrupted(engine.signal, error);
    throw error;
  }
}
