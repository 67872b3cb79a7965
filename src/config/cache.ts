import { readdirSync, rmSync, statSync } from 'node:fs';
import { readJsonFile, writeFileAtomically } from './files.ts';

/** Files from which on old ones are removed. */
const manyFiles = 50;

/** Answers of services in the user's own cache folder, good for a while. */
export interface Cache {
  /** Undefined when there is no fresh answer. */
  read(name: string): unknown;
  /** Keeps an answer; one that cannot be kept is no failure. */
  write(name: string, answer: unknown): void;
}

/** FNV-1a. Two names of one file only cost an answer: the whole name stands in the file. */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return (value >>> 0).toString(16).padStart(8, '0');
}

function removeOld(folder: string, oldest: number): void {
  const files = readdirSync(folder);
  if (files.length < manyFiles) return;
  for (const file of files.map((name) => `${folder}/${name}`)) if (statSync(file).mtimeMs < oldest) rmSync(file, { force: true });
}

/** Opens the answers in a folder that were given over one connection. @param freshness milliseconds that they are good for */
export function openCache(folder: string, connection: string, now: () => number, freshness: number): Cache {
  const keyOf = (name: string): string => `${connection} ${name}`;
  const fileOf = (name: string): string => `${folder}/${hash(keyOf(name))}.json`;
  return {
    read: (name) => {
      try {
        const { key, time, answer } = readJsonFile(fileOf(name)) ?? {};
        const age = now() - Number(time);
        return key === keyOf(name) && age >= 0 && age < freshness ? answer : undefined;
      } catch {
        return undefined;
      }
    },
    write: (name, answer) => {
      try {
        writeFileAtomically(fileOf(name), JSON.stringify({ key: keyOf(name), time: now(), answer }), { flush: false });
        removeOld(folder, now() - freshness);
      } catch {
        // A disk that is full or read-only: the next run asks again.
      }
    },
  };
}

/** The fresh answer of this name; where there is none, a new one, which is kept unless it is undefined. */
export async function askOnce<T>(cache: Cache, name: string, ask: () => Promise<T>): Promise<T> {
  const known = cache.read(name);
  if (known !== undefined) return known as T;
  const answer = await ask();
  if (answer !== undefined) cache.write(name, answer);
  return answer;
}
