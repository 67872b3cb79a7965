import { listKeys } from '../../cli/shapes.ts';
import { command, type Context } from '../../cli/command.ts';
import { createAbsentError } from '../../cli/named.ts';
import { flag, some } from '../../cli/parameters.ts';
import { createAttempts } from '../../cli/attempts.ts';
import { createContradiction, UsageError } from '../../base/errors.ts';
import type { Unfinished } from '../../config/journal.ts';
import { records, type Row } from '../../output/kinds.ts';
import { describeUnfinished, listShape, summarize } from './describe.ts';
import { cleanFiles, cleanService, drop } from './drop.ts';
import { goOn } from './go-on.ts';
import { finishChanges, showRows } from '../../cli/rows.ts';

/** Finds the entry with an id, or with an id that begins with a word. @throws {NotFoundError} {UsageError} */
function findEntry(entries: readonly Unfinished[], word: string): Unfinished {
  const found = entries.filter(({ id }) => id === word || (word.length > 2 && id.startsWith(word)));
  const [first, ...others] = found;
  const ids = entries.map(({ id }) => id);
  if (first === undefined) throw createAbsentError('interrupted work', word, ids, 'cloud resume --list');
  if (others.length > 0)
    throw new UsageError(`interrupted work "${word}" is ambiguous: ${found.map(({ id }) => id).join(', ')}`, { hint: 'give the full id' });
  return first;
}

/** The entries that `--all` can resume; entries that are running or not resumable are reported and left out. */
function chooseAll({ note }: Context, entries: readonly Unfinished[]): Unfinished[] {
  return entries.filter(({ id, runs, pid, obstacle }) => {
    if (runs) note(`${id} is in use by process ${pid}: skipped`);
    else if (obstacle !== undefined) note(`${id} cannot be resumed: ${obstacle}; to clean it up: cloud resume --drop ${id}`);
    return !runs && obstacle === undefined;
  });
}

async function goOnWith(context: Context, unfinished: Unfinished): Promise<Row> {
  const { id, obstacle } = unfinished;
  if (obstacle !== undefined)
    throw new UsageError(`${id} cannot be resumed: ${obstacle}`, { hint: `to clean it up: cloud resume --drop ${id}` });
  const entry = (await context.journal()).claim(id);
  // `claim` returns none if another process has finished the entry since it was listed.
  if (entry)
    await goOn(context, unfinished, entry, async (there) => {
      cleanFiles(context, unfinished, entry);
      if (unfinished.kind !== 'job') await cleanService(there, unfinished, entry);
    });
  context.note(`Finished ${summarize(unfinished)}`);
  return { id, kind: unfinished.kind, outcome: 'finished' };
}

/** Resumes an entry for `--all`; leaves it to another process that has claimed it since it was listed. */
async function goOnUnlessTaken(context: Context, unfinished: Unfinished): Promise<Row> {
  try {
    return await goOnWith(context, unfinished);
  } catch (error) {
    const { InUseError } = await import('../../config/journal.ts');
    if (!(error instanceof InUseError)) throw error;
    context.note(`${error.message}: skipped`);
    return { id: unfinished.id, kind: unfinished.kind, outcome: 'running' };
  }
}

async function dropOne(context: Context, unfinished: Unfinished): Promise<Row> {
  const entry = (await context.journal()).claim(unfinished.id);
  if (entry) await drop(context, unfinished, entry);
  context.note(`Dropped ${summarize(unfinished)}`);
  return { id: unfinished.id, kind: unfinished.kind, outcome: 'dropped' };
}

export const resume = command({
  summary: 'List, resume or discard interrupted work',
  description:
    'Interrupted uploads, downloads, syncs, copies, moves and deletions of trees are recorded, and so are jobs whose inputs were not all added. An interruption is Ctrl-C, a network failure, a killed process or a power failure. Work is resumed with the same profile, directory and options. Finished items are not repeated. A file that has changed since is sent again; a target that others have changed since is not replaced; a sync compares both sides again. Entries expire after 14 days. Without an id or --all, they are listed.',
  arguments: { id: some('Id of interrupted work, or its first characters', { values: 'unfinished' }) },
  options: {
    all: flag('All interrupted work'),
    list: flag('Only list interrupted work'),
    drop: flag('Discard the work: delete partial files here and at the service'),
  },
  fields: [...listKeys(listShape.columns), ...listShape.fields, 'outcome'],
  changes: true,
  run: async (invocation) => {
    const { args, options } = invocation;
    if (options.list && options.drop) throw createContradiction('--list', '--drop');
    if (options.all && args.id.length > 0) throw new UsageError('--all cannot be combined with ids');
    const entries = (await invocation.journal()).list();
    const named = args.id.length === 0 ? entries : [...new Set(args.id.map((word) => findEntry(entries, word)))];
    if (options.list || (args.id.length === 0 && !options.all)) {
      if (options.drop) throw new UsageError('--drop needs an id or --all', { hint: 'cloud resume --drop ID, or --drop --all' });
      return records(named.map(describeUnfinished), listShape);
    }
    const chosen = options.all && !options.drop ? chooseAll(invocation, named) : named;
    const act = options.drop ? dropOne : options.all ? goOnUnlessTaken : goOnWith;
    const rows = createAttempts(invocation, chosen.length).rows(chosen, (unfinished) => act(invocation, unfinished));
    return await showRows(invocation, finishChanges(invocation, rows), { columns: ['id', 'kind', 'outcome'], id: 'id' });
  },
  examples: [
    { line: 'cloud resume', help: 'List interrupted work, with what is done and left' },
    { line: 'cloud resume --all', help: 'Resume everything' },
    { line: 'cloud resume --drop --all', help: 'Discard everything' },
  ],
});
