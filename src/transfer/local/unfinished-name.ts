import { createHash, randomBytes } from 'node:crypto';
import { basename } from 'node:path';
import { digestText } from '../../base/fnv.ts';
import type { Processes } from '../engine.ts';

/** The names of temporary files that hold downloads until they are complete. */

/** Temporary files of this program; never part of a tree. */
export const unfinishedName = /^(\.cloud-[0-9a-f]{20}-(\d+)-[0-9a-f]{8})([0-9a-f]{8})(?:\.(.+))?\.part$/s;

/** Returns this many random bytes in hexadecimal. */
function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}

/** The prefix of the names of all unfinished files of one version of an object; the same for every run if the etag is known. */
export function nameVersion(name: string, etag: string | undefined): string {
  if (etag === undefined) return `.cloud-${randomHex(10)}-`;
  const id = createHash('sha256').update(`${name}\n${etag}`).digest('hex').slice(0, 20);
  return `.cloud-${id}-`;
}

/** Bytes of the target's name that are part of the temporary name: short enough for the name limit of any file system. */
const shownBytes = 60;

/** The beginning of a name, cut between characters. */
export function beginOf(name: string): string {
  if (Buffer.byteLength(name) <= shownBytes) return name;
  let shown = '';
  let length = 0;
  for (const character of name) {
    length += Buffer.byteLength(character);
    if (length > shownBytes) break;
    shown += character;
  }
  return shown;
}

/** The beginning of a temporary name, unique to this process. It contains a checksum, which names of other files practically never match. */
function nameStart(name: string, etag: string | undefined, { own }: Processes): string {
  const start = `${nameVersion(name, etag)}${own}-${randomHex(4)}`;
  return `${start}${digestText(start)}`;
}

/**
 * A temporary name unique to this process that also shows the target's name.
 * @param etag absent if no later run can resume the file
 */
export function nameUnfinished(file: string, etag: string | undefined, processes: Processes): string {
  const name = basename(file);
  return `${file.slice(0, file.length - name.length)}${nameStart(name, etag, processes)}.${beginOf(name)}.part`;
}

let briefName: string | undefined;

/**
 * The same for a file that is created, written and renamed in one turn of the event loop: all such files have the same name, one after
 * another.
 */
export function nameBriefly(file: string, processes: Processes): string {
  briefName ??= `${nameStart('', undefined, processes)}.part`;
  return `${file.slice(0, file.length - basename(file).length)}${briefName}`;
}
