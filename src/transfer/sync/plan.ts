import { realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { LocalError, UsageError } from '../../base/errors.ts';
import { lazily } from '../../base/lazily.ts';
import { checkWay } from '../local/folders.ts';
import { joinPath, printRemotePath } from '../path.ts';
import { printLocation, readLine, readLocation, type Expected, type Location, type Step } from './steps.ts';
import type { Side } from './tree.ts';

/** The first line of a plan: the two directories outside of which it changes nothing. */
export interface PlanHead {
  readonly from: Location;
  readonly to: Location;
  /** True if the plan may delete. */
  readonly deletes: boolean;
}

function locateRoot(side: Side): Location {
  return side.kind === 'remote' ? { kind: 'remote', path: side.root, profile: side.profile } : { kind: 'local', file: side.root };
}

export function writeHead({ from, to, deletes }: { from: Side; to: Side; deletes: boolean }): string {
  const head = { plan: 1, from: printLocation(locateRoot(from)), to: printLocation(locateRoot(to)), deletes };
  return `${JSON.stringify(head)}\n`;
}

/** Reads the first line of a plan. @throws {UsageError} */
export function readHead(text: string | undefined): PlanHead {
  const record = text === undefined ? {} : readLine(text, 1);
  if (record['plan'] !== 1)
    throw new UsageError('line 1 does not name the two directories of the plan', {
      hint: 'keep the first line that cloud stor sync --plan writes',
    });
  const head = { from: readLocation(record['from'], 1), to: readLocation(record['to'], 1), deletes: record['deletes'] === true };
  for (const root of [head.from, head.to]) {
    if (root.kind === 'local' && resolve(root.file) !== root.file)
      throw new UsageError(`line 1: ${root.file} is not an absolute, normalized path`);
  }
  return head;
}

/** True if a location is that of `rel` below a root. */
function isPlace(place: Location, root: Location, rel: string): boolean {
  if (place.kind === 'local' && root.kind === 'local') return place.file === join(root.file, rel);
  if (place.kind !== 'remote' || root.kind !== 'remote' || place.profile !== root.profile) return false;
  return printRemotePath(place.path) === printRemotePath(rel === '' ? root.path : joinPath(root.path, rel));
}

/** True if the expected state is complete enough to be compared. */
function isComplete(expected: Expected | undefined, { kind }: Location): boolean {
  if (kind === 'remote') return expected?.etag !== undefined;
  return expected?.size !== undefined && (expected.size === -1 || expected.mtime !== undefined);
}

/** True if a step removes something, even if only to replace it. */
export function isRemoval({ action, target }: Step): boolean {
  if (action !== 'mkdir') return action === 'delete' || action === 'rmdir';
  return (target?.etag ?? '') !== '' || (target?.size ?? -1) >= 0;
}

/** @throws {UsageError} for a step that exceeds what the first line of its plan allows */
export function assertPlanned(step: Step, head: PlanHead, line: number): void {
  const { action, rel, from, to, target } = step;
  const isRoot = rel === '' && action === 'mkdir';
  if (!isRoot && rel.split('/').some((part) => part === '' || part === '.' || part === '..' || part.includes('\0')))
    throw new UsageError(`line ${line}: ${JSON.stringify(rel)} is not a path below a directory`);
  if (!isPlace(to, head.to, rel)) throw new UsageError(`line ${line}: ${printLocation(to)} is not ${rel} below ${printLocation(head.to)}`);
  if (from !== undefined && !isPlace(from, head.from, rel))
    throw new UsageError(`line ${line}: ${printLocation(from)} is not ${rel} below ${printLocation(head.from)}`);
  if (!isRoot && action !== 'rmdir' && !isComplete(target, to))
    throw new UsageError(`line ${line}: "target" does not describe the expected target`);
  if (isRemoval(step) && !head.deletes) throw new UsageError(`line ${line}: a deletion in a plan that was written without --delete`);
}

/**
 * Creates the check of the steps between two directories, which throws a `LocalError` when links lead a step out of them.
 * @param root directory of the source
 */
export function createInsideCheck(root: Location, followsLinks: boolean): (step: Step) => void {
  const inside = lazily(() => (root.kind === 'local' ? `${realpathSync.native(root.file)}/` : ''));
  return ({ rel, from, to }) => {
    if (to.kind === 'local') checkWay(to.file, rel);
    if (from?.kind !== 'local' || root.kind !== 'local' || followsLinks) return;
    if (`${realpathSync.native(from.file)}/`.startsWith(inside())) return;
    throw new LocalError(`${from.file} leads out of ${root.file}: left alone`, { hint: 'to follow links: --links follow' });
  };
}
