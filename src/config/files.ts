import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isSystemError, UsageError } from '../errors.ts';

/** The JSON object in a file; undefined when there is no file. */
export function readJsonFile(path: string): Record<string, unknown> | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (error) {
    throw new UsageError(`${path}: not JSON: ${error instanceof Error ? error.message : ''}`, { hint: 'mend the file or remove it' });
  }
  throw new UsageError(`${path}: not a JSON object`, { hint: 'mend the file or remove it' });
}

/** Writes a file whole or not at all, readable by the user only: a temporary name, flushed unless it may be lost, then renamed. */
export function writeFileAtomically(path: string, content: string, { flush = true }: { flush?: boolean } = {}): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // Nobody else has this name: the file must not exist. Loading what makes better random numbers takes longer than all the rest.
  const temporary = `${path}.${Math.random().toString(36).slice(2)}`;
  try {
    const file = openSync(temporary, 'wx', 0o600);
    try {
      // Until all is written: a disk that is nearly full takes a part.
      writeFileSync(file, content);
      if (flush) fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    // The name under which it was being written says nothing to anybody.
    if (isSystemError(error)) error.path = path;
    throw error;
  }
}
