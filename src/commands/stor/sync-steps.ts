import { randomUUID } from 'node:crypto';
import type { Context } from '../../cli/command.ts';
import { flag, number, type Values, withTopic } from '../../cli/parameters.ts';
import { createContradiction } from '../../base/errors.ts';
import { mapEach } from '../../base/iterate.ts';
import type { Row } from '../../output/kinds.ts';
import type { Engine } from '../../transfer/engine.ts';
import type { Comparison } from '../../transfer/sync/compare.ts';
import type { CopyOptions } from '../../transfer/sync/execute.ts';
import { locate } from '../../transfer/sync/decide.ts';
import { syncSides, type SyncReport } from '../../transfer/sync/run.ts';
import type { Step } from '../../transfer/sync/steps.ts';
import type { Filter } from '../../transfer/sync/tree.ts';
import type { Tally } from './tally.ts';
import { sparseOption } from './transfer-options.ts';
import type { FilterValues } from './filters.ts';
import { guessType, keepProperties } from './headers.ts';
import { nameMemory } from './remember.ts';
import type { Sides } from './sides.ts';
import { createSkips, linksOption, readLinks } from './skips.ts';

/** Options that select files and say how they are compared. */
export const compareOptions = withTopic('compare', {
  checksum: flag('Compare contents by MD5 instead of times'),
  sizeOnly: flag('Compare sizes only'),
  headers: flag('Also compare stored headers'),
  links: linksOption,
});

type CompareValues = Values<typeof compareOptions> & FilterValues;

export function chooseComparison({ checksum, sizeOnly }: CompareValues): Comparison {
  if (checksum && sizeOnly) throw createContradiction('--checksum', '--size-only');
  return checksum ? 'checksum' : sizeOnly ? 'size' : 'mtime';
}

/** Number of files after which `sync` has loaded all modules that it needs for most. */
const someFiles = 500;

/**
 * @param putOff called when there is nothing to do for many files, and returns what undoes it: called with the first file for which there is,
 * before modules for it are loaded
 */
export function reportTo(tally: Tally, putOff?: () => Promise<() => void> | undefined): SyncReport {
  const { fail, skip } = tally;
  let passed = 0;
  let hasAttempted = false;
  let undo: (() => void) | undefined;
  const pass = (): void => {
    passed += 1;
    if (passed === someFiles && !hasAttempted) void putOff?.()?.then((each) => (undo = each));
    tally.pass();
  };
  const attempt: SyncReport['attempt'] = (rel, work) => {
    hasAttempted = true;
    undo?.();
    undo = undefined;
    return tally.attempt(rel, work);
  };
  return { attempt, fail, pass, skip };
}

export const copyOptions = {
  copies: number('Number of copies of each stored object', { range: [1, 6] }),
  modes: flag('Keep permission bits'),
  sparse: sparseOption,
  resetHeaders: flag('Reset the headers of replaced objects'),
  copy: flag('Copy the bytes if the service refuses links'),
};

export function readCopyOptions(options: Values<typeof copyOptions>, mayUseParts: boolean): CopyOptions {
  return {
    describe: async (source) => ({ 'content-type': await guessType(source.file), ...keepProperties(source, options.modes) }),
    copies: options.copies,
    modes: options.modes,
    sparse: options.sparse,
    resetsHeaders: options.resetHeaders,
    mayUseParts,
    copiesThrough: options.copy,
  };
}

export const stepShape = {
  columns: ['action', 'reason', { key: 'size', as: 'size' as const }, { key: 'rel', title: 'PATH' }],
  id: 'rel',
  fields: ['source', 'target'],
};

interface Planning {
  /** True if the target exists, as `checkSides` says. */
  readonly isThere: boolean;
  readonly filter: Filter;
  readonly deletes: boolean;
  readonly modes: boolean;
  readonly remembers: boolean;
  readonly tally: Tally;
  readonly engine: Engine;
}

/** The steps that a sync would execute. */
export async function* planSync(
  context: Context & { readonly options: CompareValues },
  sides: Sides,
  { isThere, filter, deletes, modes, remembers, tally, engine }: Planning,
): AsyncGenerator<Step> {
  const { options } = context;
  const { from, to } = sides;
  const skips = createSkips(context);
  if (!isThere) yield { action: 'mkdir', rel: '', to: locate(to, ''), reason: 'new' };
  yield* syncSides(engine, {
    task: { from, to, comparison: chooseComparison(options), comparesHeaders: options.headers || options.checksum, modes },
    filter,
    deletes,
    dryRun: true,
    isEmpty: !isThere,
    copy: readCopyOptions({ copies: undefined, modes: false, sparse: false, resetHeaders: false, copy: false }, false),
    memory: nameMemory(sides.context, from, to),
    remembers,
    id: randomUUID(),
    report: reportTo(tally),
    links: readLinks(options.links),
    onSkip: skips.add,
  });
  skips.finish();
  tally.finish();
}

export function mapSteps(steps: AsyncIterable<Step>): AsyncGenerator<Row> {
  return mapEach(steps, ({ action, reason, size, rel, source, target }) => ({ action, rel, size, reason, source, target }));
}

/** How the differences between two trees are shown as records. */
export const differenceShape = {
  columns: ['change', 'type', 'reason', { key: 'size', as: 'size' as const }, { key: 'rel', title: 'PATH' }],
  id: 'rel',
};

/** The differences that steps would remove. @param changes what each action is called, unless something is new */
export function describeChanges(steps: AsyncIterable<Step>, changes: Readonly<Record<Step['action'], string>>): AsyncGenerator<Row> {
  return mapEach(steps, ({ action, reason, rel, size }) => {
    const change = reason === 'new' ? 'new' : changes[action];
    return { change, type: action.endsWith('dir') ? 'directory' : 'object', reason, size, rel };
  });
}
