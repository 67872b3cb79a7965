import { createHash } from 'node:crypto';
import type { ByteStream } from '../../api/message.ts';
import type { SkipReason } from '../local/walk.ts';
import type { Filter } from '../sync/tree.ts';
import { ArchiveError } from './header.ts';
import { readArchive, type ArchiveEntry } from './read.ts';
import { quietly } from '../../base/errors.ts';

/** One step of storing the entries of an archive. Paths are relative to the target directory. */
export type UnpackStep =
  | { readonly kind: 'folder'; readonly rel: string; readonly mtime: bigint; readonly mode: number }
  | {
      readonly kind: 'file';
      readonly rel: string;
      readonly size: number;
      readonly mtime: bigint;
      readonly mode: number;
      /** The content, readable once, before the next step is requested. */
      readonly body: () => ByteStream;
    }
  /** Another name of an earlier file. */
  | { readonly kind: 'link'; readonly rel: string; readonly to: string }
  /** Neither file nor directory nor link. */
  | { readonly kind: 'special'; readonly rel: string };

export interface UnpackOptions {
  /** Name of the archive, for messages. */
  readonly label: string;
  readonly filter: Filter;
  /** `skip`: links are left out. */
  readonly links: 'skip' | 'inside';
  readonly onSkip: (rel: string, reason: SkipReason) => void;
}

/** Maximum number of characters in the names of links whose targets have not been read yet. */
const mostWaiting = 16 * 1024 * 1024;

/** Maximum length of a path, bytes: that of Linux. */
const longestPath = 4096;

/** The key under which a path is remembered: 96 bits practically never collide, and a million of them take 60 MB. */
function keyOf(rel: string): string {
  return createHash('sha256').update(rel).digest('base64').slice(0, 16);
}

function decodeName(bytes: Buffer): string | undefined {
  return quietly(() => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), undefined);
}

/** The components of a path without `.` and `..`; undefined when the path leads out of its root. */
function resolveParts(start: readonly string[], path: string): string[] | undefined {
  if (path.startsWith('/')) return undefined;
  const parts = [...start];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts;
}

/**
 * Reads a name as a path relative to the target directory; empty for that directory itself.
 * @throws {ArchiveError} for a name that leads elsewhere, or that no path can have
 */
function readName(bytes: Buffer, label: string): string {
  const name = decodeName(bytes);
  const createError = (problem: string): ArchiveError =>
    new ArchiveError(`${label} has the name ${JSON.stringify(bytes.toString())}, which ${problem}`);
  if (name === undefined) throw createError('is not UTF-8');
  if (name.startsWith('/')) throw createError('begins with a slash and would be outside the target');
  if (name.split('/').includes('..')) throw createError('contains ".." and would be outside the target');
  if (bytes.length > longestPath) throw createError(`has ${bytes.length} bytes`);
  return (resolveParts([], name) ?? []).join('/');
}

/** The names of the entries of an archive so far. */
interface Names {
  /** @throws {ArchiveError} for a duplicate name, and for one below something that is not a directory */
  add(rel: string, isFolder: boolean): void;
  /** The same for entries that are neither file nor directory. */
  addLink(rel: string): void;
  isFile(rel: string): boolean;
  isFolder(rel: string): boolean;
}

function createNames(label: string): Names {
  const files = new Set<string>();
  const folders = new Set<string>();
  const others = new Set<string>();
  let lastParent = '';
  function checkParents(rel: string): void {
    const parts = rel.split('/').slice(0, -1);
    if (parts.join('/') === lastParent) return;
    for (const [at] of parts.entries()) {
      const parent = parts.slice(0, at + 1).join('/');
      if (files.has(keyOf(parent)) || others.has(keyOf(parent)))
        throw new ArchiveError(
          `${label} has ${JSON.stringify(rel)} below ${JSON.stringify(parent)}, which is not a directory in the archive`,
        );
    }
    lastParent = parts.join('/');
  }
  function check(rel: string, isFolder: boolean): void {
    checkParents(rel);
    const key = keyOf(rel);
    if (files.has(key) || others.has(key) || (!isFolder && folders.has(key)))
      throw new ArchiveError(`${label} has ${JSON.stringify(rel)} more than once`);
    lastParent = lastParent === rel ? '' : lastParent;
  }
  return {
    add: (rel, isFolder) => {
      check(rel, isFolder);
      (isFolder ? folders : files).add(keyOf(rel));
    },
    addLink: (rel) => {
      check(rel, false);
      others.add(keyOf(rel));
    },
    isFile: (rel) => files.has(keyOf(rel)),
    isFolder: (rel) => rel === '' || folders.has(keyOf(rel)),
  };
}

/** The target of a link, relative to the target directory. @throws {ArchiveError} when it is outside */
function readLink({ type, link }: ArchiveEntry, rel: string, label: string): string {
  const path = decodeName(link);
  const start = type === 'symbolic link' ? rel.split('/').slice(0, -1) : [];
  const parts = path === undefined ? undefined : resolveParts(start, path);
  if (parts) return parts.join('/');
  throw new ArchiveError(`${label} has the link ${JSON.stringify(rel)} to ${JSON.stringify(link.toString())}, outside the target`, {
    hint: 'to skip links: --links skip',
  });
}

/** True if a path is selected: neither the path nor a directory above it is left out. */
function takesPart(filter: Filter, rel: string, isFolder: boolean): boolean {
  const parts = rel.split('/');
  const isPruned = parts.some((_, at) => (at < parts.length - 1 || isFolder) && filter.prunes(parts.slice(0, at + 1).join('/')));
  return !isPruned && (isFolder ? !filter.isChoosy : filter.hasFile(rel));
}

/**
 * The steps that store the entries of an archive, in its order.
 * @throws {ArchiveError} for a name or link that leads elsewhere, for a duplicate name, and for a damaged archive
 */
export async function* planUnpack(
  source: AsyncIterable<Uint8Array>,
  { label, filter, links, onSkip }: UnpackOptions,
): AsyncGenerator<UnpackStep> {
  const names = createNames(label);
  /** Links whose targets have not been read yet. */
  const waiting: { readonly rel: string; readonly to: string }[] = [];
  let waitingSize = 0;
  for await (const entry of readArchive(source, label)) {
    const rel = readName(entry.name, label);
    const { type, size, mtime, mode, body } = entry;
    if (rel === '') {
      if (type !== 'directory') throw new ArchiveError(`${label} has a ${type} without a name`);
      continue;
    }
    if (type === 'directory') {
      names.add(rel, true);
      if (takesPart(filter, rel, true)) yield { kind: 'folder', rel, mtime, mode };
      continue;
    }
    const takes = takesPart(filter, rel, false);
    if (type === 'file') {
      names.add(rel, false);
      if (takes) yield { kind: 'file', rel, size, mtime, mode, body };
    } else if (type === 'special') {
      names.addLink(rel);
      if (takes) yield { kind: 'special', rel };
    } else if (links === 'skip') {
      names.addLink(rel);
      if (takes) onSkip(rel, 'link');
    } else {
      const to = readLink(entry, rel, label);
      const isFile = names.isFile(to);
      if (isFile) names.add(rel, false);
      else names.addLink(rel);
      if (!takes) continue;
      if (isFile && takesPart(filter, to, false)) yield { kind: 'link', rel, to };
      else {
        waitingSize += rel.length + to.length;
        if (waitingSize > mostWaiting) throw new ArchiveError(`${label} has too many links to entries that come later`);
        waiting.push({ rel, to });
      }
    }
  }
  for (const { rel, to } of waiting) {
    if (names.isFile(to) && takesPart(filter, to, false)) yield { kind: 'link', rel, to };
    else onSkip(rel, names.isFolder(to) ? 'directory' : 'dangling');
  }
}
