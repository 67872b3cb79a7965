import { command } from '../../cli/command.ts';
import { flag, one } from '../../cli/parameters.ts';
import { LocalError } from '../../errors.ts';
import { records, type Row } from '../../output/kinds.ts';
import type { Step } from '../../transfer/sync/steps.ts';
import { createEngine, createTally } from './engine.ts';
import { compareOptions, planSync } from './sync.ts';

const changes: Readonly<Record<Step['action'], string>> = { copy: 'changed', mkdir: 'new', delete: 'extra', rmdir: 'extra' };

async function* describeChanges(steps: AsyncIterable<Step>): AsyncGenerator<Row> {
  for await (const { action, reason, rel, size } of steps) {
    const change = reason === 'new' ? 'new' : (changes[action] ?? action);
    yield { change, type: action.endsWith('dir') ? 'directory' : 'object', reason, size, rel };
  }
}

/** @throws {LocalError} when there are differences */
async function refuseDifferences(steps: AsyncIterable<Step>): Promise<undefined> {
  let count = 0;
  for await (const step of steps) {
    void step;
    count += 1;
  }
  if (count > 0) throw new LocalError(`the directories differ in ${count} ${count === 1 ? 'place' : 'places'}`);
}

export const diff = command({
  summary: 'Show in what two directories differ',
  description: 'What sync --delete would have to do, without doing it: new is only in the first, extra only in the second.',
  arguments: {
    source: one('Directory; stor:PATH for the object storage', { values: 'file-or-path' }),
    target: one('Directory it is compared with; stor:PATH for the object storage', { values: 'file-or-path' }),
  },
  options: { ...compareOptions, exitCode: flag('Only count the differences; exit with 1 when there are any') },
  run: async (invocation) => {
    const { args, options } = invocation;
    const tally = createTally(invocation);
    const engine = createEngine(invocation, {}, { bulk: true });
    const steps = planSync(invocation, { from: args.source, to: args.target }, { deletes: true, tally, engine });
    if (options.exitCode) return await refuseDifferences(steps);
    return records(describeChanges(steps), {
      columns: ['change', 'type', 'reason', { key: 'size', as: 'size' }, { key: 'rel', title: 'PATH' }],
      id: 'rel',
    });
  },
  examples: [
    { line: 'cloud stor diff photos stor:photos', help: 'What is different?' },
    { line: 'cloud stor diff stor:a stor:b -o name', help: 'Only the paths' },
    { line: 'cloud stor diff photos stor:photos --checksum --exit-code', help: 'For a script: is the backup the same?' },
  ],
});
