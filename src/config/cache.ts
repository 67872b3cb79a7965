import { closeSync, readdirSync, statSync } from 'node:fs';
import { digestText } from '../base/fnv.ts';
import {
  findFolderProblem,
  largestUserFile,
  openPrivate,
  parentOf,
  readTwice,
  removeQuietly,
  writePrivate,
  writeTwice,
} from '../base/private-files.ts';

/** Number of files at which old ones are deleted. */
const manyFiles = 50;

/** Cached responses of services, in the user's own cache folder. */
export interface Cache {
  /** Undefined when there is no fresh response. */
  read(name: string): unknown;
  /** Stores a response; failures are ignored. */
  write(name: string, answer: unknown): void;
}

function removeOld(folder: string, oldest: number): void {
  const files = readdirSync(folder);
  if (files.length < manyFiles) return;
  for (const file of files.map((name) => `${folder}/${name}`)) if (statSync(file).mtimeMs < oldest) removeQuietly(file);
}

function readAnswer(path: string): Record<string, unknown> {
  const { file, size } = openPrivate(path);
  try {
    return JSON.parse(readTwice(file, size, 0, Math.min(size, 2 * largestUserFile) / 2).toString()) as Record<string, unknown>;
  } finally {
    closeSync(file);
  }
}

const closed: Cache = { read: () => undefined, write: () => undefined };

export interface CacheOptions {
  /** The program's cache folder, and the name of a folder in it. */
  readonly top: string;
  readonly name: string;
  /** Identifies the connection that the responses depend on. */
  readonly connection: string;
  readonly now: () => number;
  /** Milliseconds for which a response is valid. */
  readonly freshness: number;
  /** Called with the reason when the folder cannot be used. */
  readonly reportUnused: (problem: string) => void;
}

/** Opens the cached responses of one connection. If others could have written to the folder, nothing is read or stored. */
export function openCache({ top, name: own, connection, now, freshness, reportUnused }: CacheOptions): Cache {
  const folder = `${top}/${own}`;
  const keyOf = (name: string): string => `${connection} ${name}`;
  // A collision of two names only costs a response, because the file contains the whole name.
  const fileOf = (name: string): string => `${folder}/${digestText(keyOf(name))}.json`;
  const problem = findFolderProblem([top, folder]);
  if (problem !== undefined) {
    reportUnused(problem);
    return closed;
  }
  return {
    read: (name) => {
      try {
        const { key, time, answer } = readAnswer(fileOf(name));
        const age = now() - Number(time);
        return key === keyOf(name) && age >= 0 && age < freshness ? answer : undefined;
      } catch {
        return undefined;
      }
    },
    write: (name, answer) => {
      try {
        const content = Buffer.from(JSON.stringify({ key: keyOf(name), time: now(), answer }));
        const file = fileOf(name);
        writePrivate(file, writeTwice(content), { flush: false });
        removeOld(parentOf(file), now() - freshness);
      } catch {
        // The disk is full or read-only: the next run sends the request again.
      }
    },
  };
}

/** The fresh response of this name; if there is none, requests it and stores it unless it is undefined. */
export async function askOnce<T>(cache: Cache, name: string, ask: () => Promise<T>): Promise<T> {
  const known = cache.read(name);
  if (known !== undefined) return known as T;
  const answer = await ask();
  if (answer !== undefined) cache.write(name, answer);
  return answer;
}
