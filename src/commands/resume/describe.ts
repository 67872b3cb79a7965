import type { Unfinished } from '../../config/journal.ts';
import type { Row } from '../../output/kinds.ts';

/** How entries of the journal are listed. */
export const listShape = {
  columns: [
    'id',
    'kind',
    'state',
    { key: 'done', as: 'number' as const },
    { key: 'doneBytes', title: 'BYTES', as: 'size' as const },
    { key: 'left', as: 'number' as const },
    { key: 'leftBytes', as: 'size' as const, long: true },
    { key: 'updated', as: 'time' as const },
    'source',
    'target',
    { key: 'profile', long: true },
    { key: 'directory', long: true },
  ],
  id: 'id',
  fields: ['command', 'began', 'obstacle', 'account', 'service'],
};

function describeState({ runs, obstacle }: Unfinished): string {
  if (runs) return 'running';
  return obstacle === undefined ? 'interrupted' : 'not resumable';
}

/** Undefined if the total is not known. */
function countLeft(all: number, done: number): number | undefined {
  return all > 0 ? Math.max(0, all - done) : undefined;
}

/** The first source, and the number of others. */
function nameSource({ shown, sources }: Unfinished): string {
  const [first = ''] = shown[0] ?? [];
  const source = first === '-' ? 'stdin' : first;
  return sources > 1 ? `${source} and ${sources - 1} more` : source;
}

function nameTarget({ shown }: Unfinished): string {
  return shown[0]?.[1] ?? '';
}

/** A journal entry as a row. */
export function describeUnfinished(entry: Unfinished): Row {
  const { id, kind, command, doneItems, doneBytes, items, bytes, began, updated, connection, cwd, obstacle } = entry;
  return {
    id,
    kind,
    command,
    state: describeState(entry),
    done: doneItems,
    doneBytes,
    left: countLeft(items, doneItems),
    leftBytes: countLeft(bytes, doneBytes),
    began: new Date(began).toISOString(),
    updated: new Date(updated).toISOString(),
    source: nameSource(entry),
    target: nameTarget(entry),
    profile: connection.profile,
    account: connection.account,
    service: connection.service,
    directory: cwd,
    obstacle,
  };
}

/** A journal entry in one line: `upload 3f2a90c1: /home/ann/photos -> /ann/stor/photos`. */
export function summarize(entry: Unfinished): string {
  const target = nameTarget(entry);
  return `${entry.kind} ${entry.id}: ${nameSource(entry)}${target === '' ? '' : ` -> ${target}`}`;
}
