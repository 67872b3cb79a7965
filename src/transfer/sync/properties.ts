import { chmodSync, statSync } from 'node:fs';
import type { Headers } from '../../api/message.ts';
import { UsageError } from '../../base/errors.ts';
import type { Engine } from '../engine.ts';
import { readState } from '../local/file-state.ts';
import { decodeStored, printMode, readMode } from '../tree/headers.ts';
import { inspect } from '../inspect.ts';
import { changeMetadata, type Metadata } from '../tree/metadata.ts';
import { joinPath, printRemotePath, type RemotePath } from '../path.ts';
import type { Task } from './compare.ts';
import type { Known } from './memory.ts';
import type { Pair } from './merge.ts';
import { createChangedError, isExpected, type Step } from './steps.ts';
import { engineAt } from './tree.ts';

/** Properties of files and objects other than their content, which can change without it: stored headers and permission bits. */

interface Compared {
  readonly reason: 'same' | 'headers' | 'mode';
  readonly known?: Known | undefined;
}

async function readHeaders({ storage }: Pick<Engine, 'storage'>, path: RemotePath): Promise<Headers> {
  return (await inspect(storage, path))?.headers ?? {};
}

export function isSameRecord(a: Headers, b: Headers): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => a[name] === b[name]);
}

/**
 * Compares the properties of two files with the same content.
 * @param known what the comparison of the contents learnt
 */
export async function compareProperties(engine: Engine, task: Task, pair: Pair, known: Known | undefined): Promise<Compared> {
  const { from, to, rel } = pair;
  if (!from || !to) return { reason: 'same', known };
  if (task.from.kind === 'remote' && task.to.kind === 'remote') {
    // The times of two different paths cannot be compared; those of one path, now and in a snapshot, can.
    const isOfSnapshot = from.path !== undefined || to.path !== undefined;
    const isUntouched = isOfSnapshot && from.changed !== undefined && from.changed === to.changed && from.etag === to.etag;
    if (!task.comparesHeaders || isUntouched) return { reason: 'same', known };
    const sides = [
      { side: task.from, path: from.path ?? joinPath(task.from.root, rel) },
      { side: task.to, path: to.path ?? joinPath(task.to.root, rel) },
    ];
    const all = await Promise.all(sides.map(({ side, path }) => readHeaders(engineAt(engine, side), path)));
    const [a = {}, b = {}] = all.map(decodeStored);
    return { reason: isSameRecord(a, b) ? 'same' : 'headers', known };
  }
  if (!task.modes) return { reason: 'same', known };
  const mode = ((task.from.kind === 'local' ? from.mode : to.mode) ?? 0) & 0o777;
  if (!task.comparesHeaders && known?.mode === mode) return { reason: 'same', known };
  const remote = task.from.kind === 'remote' ? task.from : task.to;
  const kept = remote.kind === 'remote' ? readMode((await readHeaders(engine, joinPath(remote.root, rel)))['m-mode']) : undefined;
  // For a download, an object without `m-mode` counts as the same.
  const isSame = kept === mode || (kept === undefined && task.from.kind === 'remote');
  return isSame ? { reason: 'same', known: known && { ...known, mode } } : { reason: 'mode' };
}

/** Changes the stored headers of an object that must still have the expected etag. */
async function changeHeaders(engine: Engine, target: RemotePath, step: Step, merge: (current: Headers) => Headers): Promise<void> {
  const change = (current: Headers): Metadata => {
    if (step.target?.etag !== undefined && current['etag'] !== step.target.etag) throw createChangedError(printRemotePath(target));
    return { headers: merge(decodeStored(current)) };
  };
  const changed = await changeMetadata(engine.storage, target, change, engine.signal ?? new AbortController().signal);
  if (!changed) throw createChangedError(printRemotePath(target));
}

async function readExpectedHeaders(engine: Engine, source: RemotePath, { source: expected }: Step): Promise<Headers> {
  const headers = await readHeaders(engine, source);
  if (headers['etag'] !== expected?.etag) throw createChangedError(printRemotePath(source));
  return headers;
}

/** Copies properties without content. */
export async function copyProperties(engine: Engine, step: Step, source: Engine = engine): Promise<void> {
  const { from, to } = step;
  if (from?.kind === 'remote' && to.kind === 'remote') {
    const headers = decodeStored(await readExpectedHeaders(source, from.path, step));
    await changeHeaders(engine, to.path, step, () => headers);
    return;
  }
  if (from?.kind === 'local' && to.kind === 'remote') {
    const bits = statSync(from.file).mode & 0o777;
    await changeHeaders(engine, to.path, step, (current) => ({ ...current, 'm-mode': printMode(bits) }));
    return;
  }
  if (from?.kind !== 'remote' || to.kind !== 'local') throw new UsageError(`${step.rel}: nothing to copy from`);
  const headers = await readExpectedHeaders(engine, from.path, step);
  const mode = readMode(headers['m-mode']);
  const state = readState(statSync(to.file, { bigint: true }));
  if (step.target?.size !== undefined && !isExpected(state, step.target)) throw createChangedError(to.file);
  if (mode !== undefined) chmodSync(to.file, mode);
}
