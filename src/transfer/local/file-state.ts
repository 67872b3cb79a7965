import type { BigIntStats } from 'node:fs';

/** The state of a local file; the same state means the same file with the same content. */
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
