import type { Operation } from '../../api/operation.ts';
import { command, type Context } from '../../cli/command.ts';
import { flag, maybe, texts } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { records } from '../../output/kinds.ts';
import { knownActions } from '../../policy/actions.ts';
import type { Change } from '../../rbac/change.ts';
import type { RbacDocument } from '../../rbac/document.ts';
import { takeChanges, takeForecast } from '../../rbac/forecast.ts';
import { listEffects, type Deed, type Effect } from '../../rbac/impact.ts';
import { plan } from '../../rbac/plan.ts';
import { readDocument } from '../../rbac/read.ts';
import { listMentioned, listTaggable, normalizePath, readState, readTags } from '../../rbac/state.ts';
import { readEntryTags } from './entry-tags.ts';
import { requireRole } from '../../lookup/find.ts';
import { readConditions, type Conditions } from '../policies/place.ts';
import { conditionOptions, findOperation, isDoneTo } from '../policies/question.ts';
import { fileHelp, pruneHelp } from './words.ts';
import { countOf } from '../../base/count.ts';

/** A proposed change: a document, or roles to delete. */
export interface Proposal {
  document?: RbacDocument | undefined;
  deletedRoles: readonly string[];
  prune: boolean;
}

/** All actions that need a permission. Those of the object storage and on instances apply to tagged resources that no document lists. */
function listDeeds(): Deed[] {
  const actions = [...knownActions()].filter((action) => findOperation(action)?.resource !== 'none');
  return actions.map((action): Deed => {
    const operation: Operation | undefined = findOperation(action);
    const isCompute = operation?.service === 'compute';
    return {
      action,
      method: operation?.method,
      fits: isCompute ? (resource) => isDoneTo(operation, resource) : undefined,
      isStorage: operation?.service === 'storage',
    };
  });
}

/** Paths in a document of resources that no list contains, and that applying the document does not create, rename or delete. */
function listUnlisted(document: RbacDocument | undefined, normalize: (path: string) => string): string[] {
  const paths = Object.keys({ ...document?.tags, ...document?.trees }).map(normalize);
  return paths.filter((path) => /^(machines|networks|fwrules|services)(\/|$)/.test(path));
}

/** Returns what a proposal would grant and revoke, compared with the account as it is now. */
export async function findEffects(context: Context, proposal: Proposal, conditions: Conditions): Promise<Effect[]> {
  const { document, deletedRoles, prune } = proposal;
  const state = await readState(context, true);
  const mentioned = listMentioned(document, state);
  const listed = [...listTaggable(state), ...listUnlisted(document, (path) => normalizePath(path, state))];
  const entries = await readEntryTags(context, document?.trees);
  const tags = { ...(await readTags(context, [...new Set([...listed, ...mentioned])], state)), ...entries };
  const deletions = deletedRoles.map((word): Pick<Change, 'step'> => ({
    step: { do: 'deleteRole', id: requireRole(state.roles, word).id },
  }));
  const changes = document ? plan(document, state, tags, prune) : deletions;
  const before = takeForecast(state, listed, tags);
  const after = structuredClone(before);
  takeChanges(after, changes);
  return [...listEffects({ before, after }, context.account, listDeeds(), conditions(state.served))];
}

function countActions(effects: readonly Effect[], change: Effect['change']): number {
  return effects.filter((effect) => effect.change === change).reduce((sum, { actions }) => sum + actions.length, 0);
}

/** `2 users: 5 granted, 1 revoked`. */
function summarise(effects: readonly Effect[]): string {
  if (effects.length === 0) return 'Nobody gains or loses anything';
  const users = new Set(effects.map(({ user }) => user)).size;
  const [granted, revoked] = [countActions(effects, 'granted'), countActions(effects, 'revoked')];
  return `${countOf(users, 'user')}: ${granted} granted, ${revoked} revoked`;
}

export const impact = command({
  summary: 'Show the permissions that users would gain and lose',
  description:
    'Compares the account with the result of applying a document or deleting a role; nothing is changed. Every action of every user on every resource is decided before and after, at the time of --at and from the address of --source. BEFORE and AFTER are yes, no, or the role that must be requested with --role. Objects in trees of the document are listed if their role tags change. tagged:ROLE means all other objects and instances with this role tag, and * means all. Deleted resources are not listed. Rules that name single objects are not evaluated for these objects.',
  arguments: { file: maybe(fileHelp, { values: 'file' }) },
  options: {
    deleteRole: texts('Role to delete, instead of a document', { placeholder: 'NAME', values: 'role' }),
    prune: flag(pruneHelp),
    ...conditionOptions,
  },
  run: async (invocation) => {
    const { args, options, note } = invocation;
    if ((args.file === undefined) === (options.deleteRole.length === 0)) {
      throw new UsageError(args.file === undefined ? 'missing argument FILE' : '--delete-role cannot be combined with FILE', {
        hint: 'cloud rbac impact FILE, or cloud rbac impact --delete-role NAME',
      });
    }
    if (options.prune && args.file === undefined) throw new UsageError('--prune needs a document');
    const document = args.file === undefined ? undefined : await readDocument(invocation, args.file);
    const conditions = readConditions(invocation, undefined, options);
    const effects = await findEffects(invocation, { document, deletedRoles: options.deleteRole, prune: options.prune }, conditions);
    note(summarise(effects));
    return records(effects, { columns: ['user', 'change', 'resource', 'actions', 'before', 'after'], id: 'user' });
  },
  examples: [
    { line: 'cloud rbac impact rbac.yaml', help: 'The effect of applying a document' },
    { line: 'cloud rbac impact --delete-role dev -j', help: 'The effect of deleting a role, as JSON' },
  ],
});
