import { command, group, type Context } from '../../cli/command.ts';
import { duration, flag, one, texts, type Values } from '../../cli/parameters.ts';
import { finishChanges } from '../../cli/rows.ts';
import { confirm } from '../../cli/prompt.ts';
import { changeMade, pollUntil } from '../../cli/wait.ts';
import { withHint } from '../../base/error-copies.ts';
import { ApiError, isMissing, LocalError } from '../../base/errors.ts';
import { mapEach } from '../../base/iterate.ts';
import { bytes, record, records, text } from '../../output/kinds.ts';
import type { Change } from '../../rbac/change.ts';
import type { RbacDocument } from '../../rbac/document.ts';
import { collectPasswords, createExecutor, type Executor } from './execute.ts';
import { readAccount } from './export.ts';
import { graph } from './graph.ts';
import { impact } from './impact.ts';
import { plan } from '../../rbac/plan.ts';
import { warnAboutPowers } from './powers.ts';
import { readDocument } from '../../rbac/read.ts';
import { describeDocument } from '../../rbac/schema.ts';
import { changeColumns, describeChange, paintFor, printChange, showChanges, showDiff, wantsText } from './show.ts';
import { listMentioned, listTaggable, normalizePath, readState, readTags, type State } from '../../rbac/state.ts';
import { isInTree, readTreePath } from '../../rbac/tree.ts';
import { readEntryTags } from './entry-tags.ts';
import { printText } from '../../rbac/yaml.ts';
import { fileHelp, pruneHelp } from './words.ts';
import { countOf } from '../../base/count.ts';

/** Comment at the top of an export; editors find the schema by its second line. */
const heading = `# Access control of an account. See what would change: cloud rbac diff FILE; change it: cloud rbac apply FILE
# yaml-language-server: $schema=rbac.schema.json
# Editors complete this file when the schema is beside it: cloud rbac schema > rbac.schema.json
`;

/** The part of the account that a document is about, and the changes that the document needs. */
interface Planned {
  state: State;
  changes: Change[];
}

async function planFor(context: Context, document: RbacDocument, prune: boolean): Promise<Planned> {
  const { tags: named, trees } = document;
  const isAboutTags = named !== undefined || trees !== undefined;
  const state = await readState(context, isAboutTags);
  const mentioned = listMentioned(document, state);
  const roots = new Set(Object.keys(trees ?? {}).map((path) => normalizePath(path, state)));
  // A renamed entry still has its role tags under the old name.
  const listed = !isAboutTags
    ? []
    : prune && named !== undefined
      ? listTaggable(state)
      : [...listTaggable(state).filter((path) => [...roots].some((root) => isInTree(path, root))), ...listRenamed(document, state)];
  const tags = await readTags(context, [...new Set([...listed, ...mentioned])], state);
  Object.assign(tags, await readEntryTags(context, trees));
  return { state, changes: plan(document, state, tags, prune) };
}

/** Paths of entries that have another name in the document than in the account. */
function listRenamed({ users = [], policies = [], roles = [] }: RbacDocument, state: State): string[] {
  const changed = (
    collection: string,
    wanted: readonly { id?: string | undefined; name: string }[],
    is: readonly { id: string; name: string }[],
  ): string[] =>
    is.filter(({ id, name }) => wanted.some((each) => each.id === id && each.name !== name)).map(({ name }) => `${collection}/${name}`);
  const named = <T extends { login: string }>(list: readonly T[]): (T & { name: string })[] =>
    list.map((each) => ({ ...each, name: each.login }));
  const paths = [
    ...changed('users', named(users), named(state.users)),
    ...changed('policies', policies, state.policies),
    ...changed('roles', roles, state.roles),
  ];
  const all = listTaggable(state);
  return all.filter((path) => paths.some((each) => path === each || path.startsWith(`${each}/`)));
}

function isSamePlan(a: readonly Change[], b: readonly Change[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

const applyOptions = {
  prune: flag(pruneHelp),
  dryRun: flag('Only show what would be done', { short: 'n' }),
  yes: flag('Do not ask before deleting', { short: 'y' }),
  waitTimeout: duration('Maximum time to wait until reads show the changes; default 60s'),
};

/** The changes to apply, and the document to check afterwards that reads show them. */
interface Work {
  document: RbacDocument;
  changes: readonly Change[];
  executor: Executor;
  options: Values<typeof applyOptions>;
}

/** Adds the entry of a change to the error of its step. */
function nameStep(error: unknown, { kind, name }: Change): unknown {
  return error instanceof ApiError ? withHint(error, error.hints, `${kind} ${name}: ${error.message}`) : error;
}

/** Executes the changes in order and yields each; stops at the first error and says which changes are not done. */
async function* applyChanges(context: Context, work: Work): AsyncGenerator<Change & { status: string }> {
  const { changes, executor } = work;
  for (const [at, change] of changes.entries()) {
    try {
      await executor.execute(change.step);
    } catch (error) {
      if (at === 0) throw nameStep(error, change);
      await context.fail(error, `${change.kind} ${change.name}`);
      const left = changes.slice(at).map(({ kind, name }) => `${kind} ${name}`);
      context.warn(`${at} of ${changes.length} changes are done. Not done: ${left.join(', ')}. To continue, repeat the command`);
      await waitForChanges(context, work, changes.slice(0, at));
      return;
    }
    yield { ...change, status: 'done' };
  }
  await waitForChanges(context, work, changes);
  context.note(`${countOf(changes.length, 'change')} done`);
}

/** Waits until reads show the changes: a plan from stale data would repeat them. */
async function waitForChanges(context: Context, { document, options }: Work, done: readonly Change[]): Promise<void> {
  const label = ({ action, kind, name }: Change): string => `${action} ${kind} ${name}`;
  const labels = new Set(done.map(label));
  const { tags: _tags, trees: _trees, ...rest } = document;
  await pollUntil(context, { what: 'reads show the changes', limit: options.waitTimeout, hint: changeMade }, async () => {
    try {
      const { changes } = await planFor(context, rest, options.prune);
      return !changes.some((change) => labels.has(label(change)));
    } catch (error) {
      // A user that was just created or deleted may be in one list and not in another.
      if (isMissing(error)) return false;
      throw error;
    }
  });
}

/** Prompts before deleting, collects passwords, and checks that the account has not changed during the prompts. */
async function prepare(
  context: Context,
  document: RbacDocument,
  planned: Planned,
  options: Values<typeof applyOptions>,
): Promise<Executor> {
  const { changes } = planned;
  const deletions = changes.filter(({ action }) => action === 'delete').map(({ kind, name }) => `${kind} ${name}`);
  const asks = deletions.length > 0 && !options.yes;
  if (asks) await confirm(context.world, `Delete ${deletions.join(', ')}?`);
  const passwords = await collectPasswords(context, changes);
  const waited = asks || changes.some(({ step }) => step.do === 'createUser' && step.user.password === undefined);
  if (waited && !isSamePlan((await planFor(context, document, options.prune)).changes, changes)) {
    throw new LocalError('the account was changed concurrently: nothing was done', { hint: 'run the command again' });
  }
  return createExecutor(context, planned.state, passwords);
}

const appliedColumns = ['status', ...changeColumns];

const apply = command({
  summary: 'Apply a document to the account',
  description:
    'Makes the changes that cloud rbac diff shows, in an order that works, and waits until reads show them. Sections and fields that are not in the document are not changed. Entries missing from a section are deleted only with --prune, after confirmation. Entries with an id are renamed, not recreated. Passwords of new users come from the environment variable that the document names, or from a prompt. If a change is refused, repeat the command to continue.',
  arguments: { file: one(fileHelp, { values: 'file' }) },
  options: applyOptions,
  fields: appliedColumns,
  changes: true,
  run: async (invocation) => {
    const { args, options } = invocation;
    const document = await readDocument(invocation, args.file);
    const planned = await planFor(invocation, document, options.prune);
    const { changes } = planned;
    if (changes.length === 0) invocation.note('Nothing to change');
    warnAboutPowers(invocation, changes);
    if (options.dryRun || changes.length === 0) return await showChanges(invocation, changes);
    const executor = await prepare(invocation, document, planned, options);
    const done = finishChanges(invocation, applyChanges(invocation, { document, changes, executor, options }));
    if (!wantsText(invocation)) {
      const rows = mapEach(done, (change) => ({ status: change.status, ...describeChange(change) }));
      return records(rows, { columns: appliedColumns, id: 'name' });
    }
    const paint = await paintFor(invocation);
    return bytes(mapEach(done, (change) => Buffer.from(printChange(change, paint))));
  },
  examples: [
    { line: 'cloud rbac apply rbac.yaml --dry-run', help: 'What would be done' },
    { line: 'cloud rbac apply rbac.yaml --prune --yes', help: 'Make the account equal to the document, without confirmation' },
  ],
});

export const rbac = group({
  summary: 'Access control of the account as one document',
  description:
    'The document contains the users with their keys, the policies, the roles and the role tags of resources of the compute service. trees contains role tags of whole collections and directories: each entry applies to the path and everything below it, and the entry of a deeper path takes precedence.',
  commands: {
    export: command({
      summary: 'Export users, keys, policies, roles and role tags as YAML',
      options: {
        tree: texts('Collection or directory whose role tags are exported as a tree, with the exceptions in it', { placeholder: 'PATH' }),
      },
      run: async (invocation) => {
        const { account, options } = invocation;
        const document = await readAccount(
          invocation,
          options.tree.map((path) => readTreePath(path, account)),
        );
        if (!wantsText(invocation)) return record(document, { id: 'account' });
        return text(`${heading}${await printText(document)}`);
      },
      examples: [
        { line: 'cloud rbac export > rbac.yaml', help: 'Export everything' },
        { line: 'cloud rbac export -j --columns roles', help: 'Only the roles, as JSON' },
        { line: 'cloud rbac export --tree users --tree stor/photos', help: 'With the role tags of a directory and everything in it' },
      ],
    }),
    diff: command({
      summary: 'Show what applying a document would change',
      arguments: { file: one(fileHelp, { values: 'file' }) },
      options: { prune: flag(pruneHelp), exitCode: flag('Exit with 1 if something would change') },
      run: async (invocation) => {
        const { args, options } = invocation;
        const { changes } = await planFor(invocation, await readDocument(invocation, args.file), options.prune);
        const shown = await showDiff(invocation, changes, options.exitCode, 'the account');
        warnAboutPowers(invocation, changes);
        return shown;
      },
      examples: [
        { line: 'cloud rbac diff rbac.yaml', help: 'Show the changes in order' },
        { line: 'cloud rbac diff rbac.yaml --prune -j', help: 'With deletions, as JSON' },
      ],
    }),
    apply,
    impact,
    graph,
    schema: command({
      summary: 'Print the JSON schema of the document, for editors',
      run: async ({ global }) =>
        wantsText({ global }) ? text(JSON.stringify(describeDocument(), null, 2)) : record(describeDocument(), { id: 'title' }),
      examples: [
        { line: 'cloud rbac schema > rbac.schema.json', help: 'Save it next to the document, whose second line refers to it' },
        { line: 'cloud rbac schema -j --columns required', help: 'Part of the schema' },
      ],
    }),
  },
});
