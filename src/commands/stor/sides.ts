import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { Context } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { adviseOnFile } from '../../base/absent-file.ts';
import { UsageError } from '../../base/errors.ts';
import { inspect } from '../../transfer/inspect.ts';
import { assertNothingElse, isFolder } from '../../transfer/local/folders.ts';
import { printRemotePath, readPlace, readRemotePath } from '../../transfer/path.ts';
import { locate } from '../../transfer/sync/decide.ts';
import { printLocation } from '../../transfer/sync/steps.ts';
import type { Origin, Side } from '../../transfer/sync/tree.ts';
import { requireThere } from './paths.ts';

/** The two sides of `sync`, `diff` and `cp -r`, and the context of the service to work with: the target's where both sides are services. */
export interface Sides {
  readonly from: Side;
  readonly to: Side;
  readonly context: Context;
}

/** Number of connections for reading from another service. */
const readingConnections = 18;

/** True if an argument names a path with a profile. */
export function namesProfile(word: string): boolean {
  return readPlace(word)?.profile !== undefined;
}

/** The context of a profile alone: options and environment variables apply to the other side. */
export function openProfile(context: Context, name: string | undefined): Context {
  return name === undefined ? context : context.withProfile(context.profiles.read(name), { isAlone: true });
}

function readOrigin(context: Context): Origin {
  return { service: context.settings().storUrl?.value ?? '', storage: context.bulk(readingConnections) };
}

/**
 * Reads the two arguments of a command line. `stor:` means the object storage, anything else is local.
 * @param remoteOnly arguments without `stor:` are paths of the object storage too
 */
export function readSides(context: Context, words: { from: string; to: string }, remoteOnly = false): Sides {
  const read = (word: string) => readPlace(word) ?? (remoteOnly ? { profile: undefined, path: word } : undefined);
  const [from, to] = [read(words.from), read(words.to)];
  const [fromContext, toContext] = [openProfile(context, from?.profile), openProfile(context, to?.profile)];
  const local = (word: string): Side => ({ kind: 'local', root: resolvePath(context.world, word) });
  const target: Side = to ? { kind: 'remote', root: readRemotePath(to.path, toContext.account), profile: to.profile } : local(words.to);
  if (!from) return { from: local(words.from), to: target, context: toContext };
  const source = { kind: 'remote', root: readRemotePath(from.path, fromContext.account), profile: from.profile } as const;
  if (!to) return { from: source, to: target, context: fromContext };
  const origin = from.profile === to.profile ? undefined : readOrigin(fromContext);
  return { from: { ...source, origin }, to: target, context: toContext };
}

export function printSide(side: Side): string {
  return printLocation(locate(side, ''));
}

/** An absolute name of a side: two sides overlap when they are at the same service and one is inside the other. */
function identify(side: Side, { settings }: Context): string {
  if (side.kind === 'local') return `${side.root}/`;
  return `stor:${side.origin?.service ?? settings().storUrl?.value ?? ''}${printRemotePath(side.root)}/`;
}

/** @returns true if the target exists @throws {UsageError} for sides that cannot be synced */
export async function checkSides({ from, to, context }: Sides): Promise<boolean> {
  const { storage } = context;
  if (from.kind === 'local' && to.kind === 'local') {
    throw new UsageError(`both directories are local: ${from.root} and ${to.root}`, {
      hint: `did you mean stor:${basename(to.root)}? write stor:PATH for a directory of the object storage`,
    });
  }
  const [a, b] = [identify(from, context), identify(to, context)];
  if (a.startsWith(b) || b.startsWith(a)) throw new UsageError(`${printSide(from)} and ${printSide(to)} overlap`);
  if (from.kind === 'local' && !isFolder(from.root)) {
    if (existsSync(from.root)) throw new UsageError(`${from.root} is a file, not a directory`, { hint: 'use cloud stor put or cp' });
    throw new UsageError(`${from.root}: no such directory`, { hint: adviseOnFile(from.root) });
  }
  if (from.kind === 'remote') {
    const found = await requireThere(from.origin?.storage ?? storage, from.root);
    if (found.type === 'object')
      throw new UsageError(`${printSide(from)} is an object, not a directory`, { hint: 'use cloud stor get or cp' });
  }
  if (to.kind === 'local') {
    assertNothingElse(to.root);
    return isFolder(to.root);
  }
  const found = await inspect(storage, to.root);
  if (found?.type === 'object') throw new UsageError(`${printSide(to)} is an object, not a directory`);
  return found !== undefined;
}

/** Reads another directory: a local one, or one of the service that the sides use. */
export function readSide({ context }: Sides, word: string): Side {
  const place = readPlace(word);
  if (!place) return { kind: 'local', root: resolvePath(context.world, word) };
  const { account } = openProfile(context, place.profile);
  return { kind: 'remote', root: readRemotePath(place.path, account), profile: place.profile };
}
