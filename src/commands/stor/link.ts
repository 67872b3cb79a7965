import { command } from '../../cli/command.ts';
import { one } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { inspect } from '../../transfer/inspect.ts';
import { printRemotePath, readRemotePath } from '../../transfer/path.ts';
import { everything } from '../../transfer/sync/tree.ts';
import { assertWithin } from './copy-any.ts';
import { chooseTargets } from './copy-plan.ts';
import { missing } from './paths.ts';
import { runTransfers } from './show.ts';
import { copyObject } from './copy-objects.ts';
import { rowShape, commonOptions, makeParents } from './copy-words.ts';

export const link = command({
  summary: 'Give an object another name by a snap-link',
  description: 'Both names are equal: overwriting or deleting one leaves the other as it is.',
  arguments: { source: one('Object', { values: 'path' }), target: one('New name, or a directory', { values: 'path' }) },
  options: { parents: commonOptions.parents, noClobber: commonOptions.noClobber },
  run: async (invocation) => {
    const { args, options, storage, account, note } = invocation;
    assertWithin('ln', [args.source, args.target]);
    const source = readRemotePath(args.source, account);
    await makeParents(invocation, args.target, options.parents);
    const targets = await chooseTargets(invocation, [source], args.target, false);
    const to = targets.get(source) ?? source;
    return await runTransfers(invocation, {}, { only: true, bulk: false }, rowShape, async function* ({ engine, tally }) {
      const copied = await tally.attempt(args.source, async () => {
        const found = await inspect(storage, source);
        if (!found) throw missing(source);
        if (found.type === 'directory') throw new UsageError(`${printRemotePath(source)} is a directory: only objects can be linked`);
        return await copyObject(
          { engine },
          { kind: 'object', from: source, to, etag: found.headers['etag'], folder: undefined },
          { recursive: false, noClobber: options.noClobber, copy: false, note, filter: everything, verb: 'ln' },
        );
      });
      if (!copied) return;
      note(`${copied.from} -> ${copied.to}`);
      yield copied;
    });
  },
  examples: [
    { line: 'cloud stor ln builds/42.tgz builds/latest.tgz', help: 'A second name' },
    { line: 'cloud stor ln report.pdf ~~/public/report.pdf', help: 'A name that anybody can read' },
  ],
});
