import { command } from '../../cli/command.ts';
import { one } from '../../cli/parameters.ts';
import { ApiError, UsageError } from '../../base/errors.ts';
import { printRemotePath, readRemotePath, readTargetPath, type RemotePath } from '../../transfer/path.ts';
import { everything } from '../../transfer/sync/tree.ts';
import { assertWithin } from './copy-any.ts';
import { areApart, chooseTargets } from './copy-plan.ts';
import { runTransfer } from './show.ts';
import { copyObject } from './copy-objects.ts';
import { rowShape, commonOptions, makeParents } from './copy-words.ts';
import { requireThere } from './paths.ts';

/** Statuses for a link that the service cannot create: then source and target are inspected. */
const refusals = new Set([400, 403, 404, 409]);

/**
 * Creates the link without inspecting its ends: services refuse directories as source or target.
 * @returns undefined if the ends have to be inspected
 */
async function tryLink<T>(source: RemotePath, target: RemotePath, link: (to: RemotePath) => Promise<T>): Promise<T | undefined> {
  if (!areApart(source, target)) return undefined;
  try {
    return await link(target);
  } catch (error) {
    if (error instanceof ApiError && refusals.has(error.status)) return undefined;
    throw error;
  }
}

export const link = command({
  summary: 'Create a snap-link: another name for an object',
  description: 'Both names are equal. Replacing or deleting one does not change the other.',
  arguments: { source: one('Object', { values: 'path' }), target: one('New name, or a directory', { values: 'path' }) },
  options: { parents: commonOptions.parents, noClobber: commonOptions.noClobber },
  run: async (invocation) => {
    const { args, options, storage, account, note } = invocation;
    assertWithin('ln', [args.source, args.target]);
    const source = readRemotePath(args.source, account);
    await makeParents(invocation, args.target, options.parents);
    return await runTransfer(invocation, {}, undefined, rowShape, async (engine) => {
      const values = { recursive: false, noClobber: options.noClobber, copy: false, note, filter: everything, verb: 'ln' } as const;
      const linkAs = (to: RemotePath, etag?: string): ReturnType<typeof copyObject> =>
        copyObject({ engine }, { kind: 'object', from: source, to, etag, folder: undefined }, values);
      const mayBeNew = !options.noClobber && !args.target.endsWith('/');
      const copied = (mayBeNew ? await tryLink(source, readTargetPath(args.target, account), linkAs) : undefined) ?? (await look());
      if (copied) note(`${copied.from} -> ${copied.to}`);
      return copied;

      async function look(): ReturnType<typeof copyObject> {
        const to = (await chooseTargets(invocation, [source], args.target, false)).get(source) ?? source;
        const found = await requireThere(storage, source);
        if (found.type === 'directory') throw new UsageError(`${printRemotePath(source)} is a directory: only objects can be linked`);
        return await linkAs(to, found.headers['etag']);
      }
    });
  },
  examples: [
    { line: 'cloud stor ln builds/42.tgz builds/latest.tgz', help: 'Add a second name' },
    { line: 'cloud stor ln report.pdf ~~/public/report.pdf', help: 'Add a public name' },
  ],
});
