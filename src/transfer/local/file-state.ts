import type { BigIntStats } from 'node:fs';

/** What tells whether a local file is still the same one, with the same content. */
export interface FileState {
  readonly dev: bigint;
  readonly ino: bigint;
  /** Bytes. */
  readonly size: number;
  /** Nanoseconds since the epoch. */
  readonly mtime: bigint;
  readonly ctime: bigint;
}

export function readState({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): FileState {
  return { dev, ino, size: Number(size), mtime: mtimeNs, ctime: ctimeNs };
}

export function isSameState(a: FileState, b: FileState): boolean {
  return a.dev === b.dev && a.ino === b.ino && a.size === b.size && a.mtime === b.mtime && a.ctime === b.ctime;
}
