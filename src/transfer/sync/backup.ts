import { randomBytes } from 'node:crypto';
import { constants, existsSync, linkSync, lstatSync, utimesSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isSystemError, LocalError } from '../../base/errors.ts';
import type { Engine } from '../engine.ts';
import { readState } from '../local/file-state.ts';
import { makeWay } from '../local/folders.ts';
import { joinPath, parentOf, printRemotePath, type RemotePath } from '../path.ts';
import { isConditionFailed } from '../precondition.ts';
import { makeFolder } from '../tree/folders.ts';
import { createTagKeeper, type Tagging } from '../tree/keep-tags.ts';
import { assertCopied, linkUnlessOther } from '../tree/link.ts';
import { createChangedError, expectState, isExpected, type Expected, type Step } from './steps.ts';
import type { Side } from './tree.ts';

/**
 * Keeps files and objects that a sync replaces or deletes: below a backup directory on the changed side, under their paths. Each gets its
 * second name there before it is touched, so that an interruption at any moment loses nothing.
 */
export interface Backup {
  /** Keeps the file or object that a step replaces or deletes. @returns the step, with the state that the file has from then on */
  keep(step: Step): Promise<Step>;
  /** Keeps an object that is replaced by a directory. */
  keepObject(path: RemotePath, etag: string): Promise<void>;
}

/** Maximum number of numbered names tried where earlier backups exist. */
const mostVersions = 1000;

/** The possible names of a backup: `f`, then `f.~1~`, `f.~2~`, like those of GNU cp. */
function* listNames(rel: string): Generator<string> {
  yield rel;
  for (let number = 1; number < mostVersions; number += 1) yield `${rel}.~${number}~`;
}

function noName(rel: string): LocalError {
  return new LocalError(`${rel} has ${mostVersions} backups already: left alone`, { hint: 'give another directory: --backup-dir' });
}

/** True if an interrupted run has already created this second name. */
function isSameFile(file: string, backup: string): boolean {
  const [one, other] = [file, backup].map((each) => lstatSync(each, { bigint: true, throwIfNoEntry: false }));
  return one !== undefined && other !== undefined && one.dev === other.dev && one.ino === other.ino;
}

/** Creates a second name for a file; a copy on file systems without hard links. Returns false when the name is taken. */
async function linkFile(file: string, backup: string): Promise<boolean> {
  try {
    linkSync(file, backup);
    return true;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (error.code === 'EEXIST') return isSameFile(file, backup);
    if (!['EXDEV', 'EPERM', 'ENOTSUP', 'EMLINK', 'ENOSYS'].includes(error.code ?? '')) throw error;
  }
  if (existsSync(backup)) return false;
  const copy = `${backup}.${randomBytes(6).toString('hex')}`;
  try {
    const { atime, mtime } = lstatSync(file);
    await copyFile(file, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    utimesSync(copy, atime, mtime);
    return await linkFileWithin(copy, backup);
  } finally {
    await rm(copy, { force: true });
  }
}

/** Links a complete copy to its final name. */
async function linkFileWithin(copy: string, backup: string): Promise<boolean> {
  try {
    linkSync(copy, backup);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (error.code === 'EEXIST') return false;
    // A file system without hard links: only by chance does another process write there between the check and the copy.
    await copyFile(copy, backup, constants.COPYFILE_EXCL);
  }
  return true;
}

async function keepFile(root: string, file: string, rel: string, expected: Expected): Promise<Expected> {
  const stats = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  // Anything but a regular file, and a file that has changed, is not replaced: the step itself reports that.
  if (stats?.isFile() !== true || !isExpected(readState(stats), expected)) return expected;
  for (const name of listNames(rel)) {
    const backup = join(root, name);
    makeWay(backup, name);
    if (!(await linkFile(file, backup))) continue;
    const state = readState(lstatSync(file, { bigint: true }));
    const { ctime: _, ...known } = expected;
    if (!isExpected(state, known)) throw createChangedError(file);
    // A hard link changes the ctime.
    return expectState(state);
  }
  throw noName(rel);
}

/** Keeps files below a local directory. */
function backUpFiles(root: string): Backup {
  return {
    keep: async (step) => {
      const { to, target, action, rel } = step;
      const isReplaced =
        to.kind === 'local' && target?.size !== undefined && target.size >= 0 && action !== 'headers' && action !== 'rmdir';
      return isReplaced ? { ...step, target: await keepFile(root, to.file, rel, target) } : step;
    },
    keepObject: async () => undefined,
  };
}

/** How objects are kept. */
export interface KeepOptions {
  /** Copy the bytes through this machine where the service refuses links. */
  readonly copiesThrough: boolean;
  /** Called for each backup that does not have the role tags of what it keeps. */
  readonly warn: (message: string) => void;
}

/** Keeps objects below a remote directory, as links, which copy no bytes. Backups have the role tags of what they keep. */
function backUpObjects(engine: Engine, root: RemotePath, target: RemotePath, { copiesThrough, warn }: KeepOptions): Backup {
  const tags = createTagKeeper(engine.storage, warn);
  /** The tags of a backup directory: those of the directory whose entries it keeps; undefined for a directory above all of them. */
  async function tag(path: RemotePath): Promise<Tagging | undefined> {
    const isWithin = `${path.path}/`.startsWith(`${root.path}/`);
    return isWithin ? await tags.choose({ ...target, path: target.path + path.path.slice(root.path.length) }, path) : undefined;
  }
  const made = new Map<string, Promise<unknown>>();
  async function makeParent(path: RemotePath): Promise<void> {
    const parent = parentOf(path);
    if (!parent) return;
    const key = printRemotePath(parent);
    // Concurrent steps need the same directory.
    const making = made.get(key) ?? makeFolder(engine.storage, parent, { parents: true, tag });
    made.set(key, making);
    making.catch(() => void made.delete(key));
    await making;
  }
  async function keepObject(path: RemotePath, etag: string): Promise<void> {
    const rel = path.path.slice(target.path.length + 1);
    for (const name of listNames(rel)) {
      const to = joinPath(root, name);
      await makeParent(to);
      try {
        const step = { from: path, to, etag };
        const { isSame } = await linkUnlessOther(engine, step, { copiesThrough, tagging: await tags.choose(path, to) });
        if (!isSame) await assertCopied(engine, step);
        return;
      } catch (error) {
        if (!isConditionFailed(error)) throw error;
      }
    }
    throw noName(rel);
  }
  return {
    keep: async (step) => {
      const { to, target: expected, action } = step;
      const isReplaced = to.kind === 'remote' && expected?.etag !== undefined && expected.etag !== '';
      if (isReplaced && (action === 'copy' || action === 'delete')) await keepObject(to.path, expected.etag ?? '');
      return step;
    },
    keepObject,
  };
}

/** Keeps what is replaced or deleted on a side below a directory of the same side. */
export function createBackup(engine: Engine, to: Side, root: Side, options: KeepOptions): Backup {
  if (root.kind === 'local') return backUpFiles(root.root);
  return backUpObjects(engine, root.root, to.kind === 'remote' ? to.root : root.root, options);
}
