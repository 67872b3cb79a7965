import { join } from 'node:path';
import { LocalError } from '../../base/errors.ts';
import type { Engine } from '../engine.ts';
import { joinPath } from '../path.ts';
import { comparePair, type Task } from './compare.ts';
import type { Known } from './memory.ts';
import type { Pair } from './merge.ts';
import { compareProperties } from './properties.ts';
import { expectState, type Expected, type Location, type Step } from './steps.ts';
import type { Item, Side } from './tree.ts';

/** The step that a pair needs, if any. */
export interface Decision {
  readonly step?: Step | undefined;
  /** True if the step has to wait until a directory in its place is removed. */
  readonly isLate?: boolean;
  readonly known?: Known | undefined;
}

/** The location of an item of a side. */
export function locate(side: Side, rel: string): Location {
  if (side.kind === 'remote') return { kind: 'remote', path: rel === '' ? side.root : joinPath(side.root, rel), profile: side.profile };
  return { kind: 'local', file: join(side.root, rel) };
}

/** The expected state of an item before a step. */
function expect(side: Side, item: Item | undefined): Expected {
  if (side.kind === 'remote') return { etag: item?.etag ?? '' };
  return item?.state ? expectState(item.state) : { size: -1 };
}

/** The step that copies the source of a pair to its target. */
export function copyStep({ from, to }: Task, pair: Pair, target: Item | undefined, reason: string): Step {
  const { rel } = pair;
  const source = pair.from?.etag === undefined ? undefined : { etag: pair.from.etag };
  const size = pair.from?.size;
  const place: Location = pair.from?.path ? { kind: 'remote', path: pair.from.path } : locate(from, rel);
  return { action: 'copy', rel, from: place, source, to: locate(to, rel), target: expect(to, target), size, reason };
}

function mkdirStep({ to }: Task, { rel, to: there }: Pair): Step {
  return { action: 'mkdir', rel, to: locate(to, rel), target: expect(to, there), reason: there ? 'type' : 'new' };
}

/** The removal of an item of the changed side that has another kind at the source, or is missing there. */
function removeStep({ to }: Task, { rel, to: there }: Pair, reason: string): Step {
  const action = there?.kind === 'directory' ? 'rmdir' : 'delete';
  return { action, rel, to: locate(to, rel), target: action === 'delete' ? expect(to, there) : undefined, reason };
}

/** The removal that a pair needs; undefined when nothing is to be removed. */
export function decideRemoval(task: Task, pair: Pair): Step | undefined {
  const { from, to } = pair;
  if (to === undefined) return undefined;
  if (from === undefined) return removeStep(task, pair, 'extra');
  return from.kind === 'file' && to.kind === 'directory' ? removeStep(task, pair, 'type') : undefined;
}

/** @throws {LocalError} when a file and a directory have the same path, and removals are not allowed */
function checkKinds({ from, to, rel }: Pair, deletes: boolean): void {
  if (!from || !to || from.kind === to.kind || deletes) return;
  throw new LocalError(`${rel} is a ${from.kind} in the source and a ${to.kind} in the target: left alone`, {
    hint: 'to replace it: --delete',
  });
}

/** Decides how the source of a pair is brought to its target. */
export async function decideCopy(engine: Engine, task: Task, pair: Pair, deletes: boolean): Promise<Decision> {
  const { from, to } = pair;
  checkKinds(pair, deletes);
  if (!from) return {};
  if (from.kind === 'directory') return to?.kind === 'directory' ? {} : { step: mkdirStep(task, pair) };
  if (to?.kind === 'directory') return { step: copyStep(task, pair, undefined, 'type'), isLate: true };
  if (!to) return { step: copyStep(task, pair, undefined, 'new') };
  const { reason, known } = await comparePair(engine, pair, task, task.comparison);
  if (reason !== 'same') return { step: copyStep(task, pair, to, reason) };
  const properties = await compareProperties(engine, task, pair, known);
  if (properties.reason === 'same') return { known: properties.known };
  return { step: { ...copyStep(task, pair, to, properties.reason), action: 'headers', size: undefined } };
}
