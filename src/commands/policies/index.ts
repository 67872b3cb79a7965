import { compute as operations } from '../../api/compute.ts';
import { policy as policyShape, type Policy } from '../../api/resources.ts';
import { command, group, type Context } from '../../cli/command.ts';
import { readRecord } from '../../cli/from.ts';
import { filePath, maybe, one, text, texts } from '../../cli/parameters.ts';
import { changeCommand, deleteCommand, getCommand, listCommand } from '../../cli/shapes.ts';
import { waitForReads, waitOptions } from '../../cli/wait.ts';
import { withHint } from '../../base/error-copies.ts';
import { ApiError, UsageError } from '../../base/errors.ts';
import { record } from '../../output/kinds.ts';
import { quoteShell } from '../../base/quote.ts';
import { isUuid } from '../../base/uuid.ts';
import { check } from './check.ts';
import { readRules, removeRules, warnAbout } from './rules.ts';
import { simulate } from './simulate.ts';
import { whoCan } from './who-can.ts';
import { policyDocument } from '../../rbac/document.ts';
import { editYaml } from '../rbac/editor.ts';
import { findPolicy, readUuid, requirePolicy } from '../../lookup/find.ts';
import { isShownAs, readCurrent, requireUnchanged } from '../../rbac/settle.ts';

const policyHelp = 'Name, id, or first characters of an id';
const fromHelp = 'JSON or YAML file with name, description and rules; - for stdin; options take precedence';
const ruleHelp = 'CAN <actions> WHEN <conditions>; @FILE reads a file';
const columns = ['name', 'rules', 'description', 'id'] as const;

/** Fields of a policy to create or change. */
type PolicyFields = Partial<Pick<Policy, 'name' | 'rules' | 'description'>>;

async function readPolicyFile({ world }: Context, file: string | undefined): Promise<PolicyFields> {
  return file === undefined ? {} : await readRecord(world, file, operations.updatePolicy.fields, { ignore: ['id'] });
}

/** True if reads show a policy as the response to a write did. */
function isShown({ compute, account }: Context, written: Policy): Promise<boolean> {
  return isShownAs(
    written,
    () => compute.listPolicies({ account }),
    () => compute.getPolicy({ account, policy: written.id }),
  );
}

/** Adds to an error about rules the command that shows the error in the rule. */
async function explainRules<T>(rules: readonly string[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'InvalidArgument' || !/rule/i.test(error.message)) throw error;
    const [, place] = /rules\[(\d+)\]/.exec(error.message) ?? [];
    const rule = place === undefined ? undefined : rules[Number(place)];
    const line = rule === undefined ? 'cloud policies check FILE' : `printf '%s\\n' ${quoteShell(rule)} | cloud policies check -`;
    throw withHint(error, `to see where: ${line}`);
  }
}

const create = changeCommand({
  summary: 'Create a policy',
  aliases: ['add'],
  arguments: { name: maybe('Name, unique within the account') },
  options: {
    rule: texts(`Rule: ${ruleHelp}`, { placeholder: 'RULE', values: 'rule' }),
    description: text('Description', { mayBeEmpty: true }),
    from: filePath(fromHelp),
    ...waitOptions,
  },
  id: 'name',
  columns,
  shape: policyShape,
  change: async (invocation) => {
    const { args, options, compute, account } = invocation;
    const held = await readPolicyFile(invocation, options.from);
    const given = await readRules(invocation, options.rule);
    const name = args.name ?? held.name;
    const rules = given.length > 0 ? given : held.rules;
    const description = options.description ?? held.description;
    if (name === undefined) throw new UsageError('missing argument NAME', { hint: "cloud policies create NAME --rule 'CAN listkeys'" });
    if (rules === undefined || rules.length === 0) {
      throw new UsageError('a policy needs a rule', { hint: `cloud policies create ${quoteShell(name)} --rule 'CAN listkeys AND getkey'` });
    }
    const created = await explainRules(rules, () => compute.createPolicy({ account, name, rules, description }));
    warnAbout(invocation, rules);
    await waitForReads(invocation, options, `policy ${name}`, () => isShown(invocation, created));
    return created;
  },
  done: (policy) => `Created policy ${policy.name}`,
  examples: [
    { line: "cloud policies create read-keys --rule 'CAN listkeys AND getkey'", help: 'With one rule' },
    { line: 'cloud policies get read-keys -j | cloud policies create read-keys2 --from -', help: 'A copy' },
  ],
});

const update = changeCommand({
  summary: 'Change a policy',
  arguments: { policy: one(policyHelp, { values: 'policy' }) },
  options: {
    name: text('New name', { placeholder: 'NAME' }),
    description: text('New description; empty to clear it', { mayBeEmpty: true }),
    rule: texts('Rule that replaces all rules', { placeholder: 'RULE', values: 'rule' }),
    addRule: texts(`Rule to add: ${ruleHelp}`, { placeholder: 'RULE', values: 'rule' }),
    removeRule: texts('Rule to remove', { placeholder: 'RULE', values: 'rule' }),
    from: filePath('JSON or YAML file with fields to replace; - for stdin'),
    ...waitOptions,
  },
  id: 'name',
  columns,
  shape: policyShape,
  change: async (invocation) => {
    const { args, options, compute, account } = invocation;
    const held = await readPolicyFile(invocation, options.from);
    const replacing = await readRules(invocation, options.rule);
    const added = await readRules(invocation, options.addRule);
    const before = await openPolicy(invocation, args.policy);
    const replaced = replacing.length > 0 ? replacing : held.rules;
    const kept = removeRules(replaced ?? before.rules, options.removeRule, before.name);
    const changesRules = replaced !== undefined || added.length > 0 || options.removeRule.length > 0;
    const rules = changesRules ? [...kept, ...added] : undefined;
    const name = options.name ?? held.name;
    const description = options.description ?? held.description;
    if ([rules, name, description].every((value) => value === undefined)) {
      throw new UsageError('nothing to change', { hint: 'cloud policies update --help' });
    }
    if (rules?.length === 0)
      throw new UsageError('a policy needs a rule', { hint: `to delete it: cloud policies delete ${quoteShell(before.name)}` });
    const updated = await explainRules(rules ?? [], () => compute.updatePolicy({ account, policy: before.id, name, rules, description }));
    warnAbout(invocation, rules ?? []);
    await waitForReads(invocation, options, `policy ${updated.name}`, () => isShown(invocation, updated));
    return updated;
  },
  done: (policy) => `Updated policy ${policy.name}`,
  examples: [
    { line: "cloud policies update read-keys --add-rule 'CAN listusers'", help: 'Add a rule' },
    { line: "cloud policies update read-keys --remove-rule 'CAN listusers' --name keys", help: 'Remove a rule and rename' },
    { line: "cloud policies update read-keys --rule 'CAN listkeys'", help: 'Replace all rules' },
  ],
});

function readPolicy({ compute, account }: Context, id: string): Promise<Policy | undefined> {
  return readCurrent(
    id,
    () => compute.updatePolicy({ account, policy: id }),
    () => compute.listPolicies({ account }),
  );
}

/** Returns the current version of a policy, by its id or name. */
async function openPolicy(context: Context, word: string): Promise<Policy> {
  // A user who may change policies may not be allowed to read them, so that an id is not looked up first.
  const current = isUuid(word) ? await readPolicy(context, word) : undefined;
  if (current) return current;
  const found = await findPolicy(context, word);
  return (await readPolicy(context, found.id)) ?? found;
}

const edit = command({
  summary: 'Edit a policy in your editor',
  description: 'Opens the policy as YAML in $VISUAL or $EDITOR. If the text is refused, it is opened again with the reason above it.',
  arguments: { policy: one(policyHelp, { values: 'policy' }) },
  options: waitOptions,
  fields: columns,
  changes: true,
  run: async (invocation) => {
    const { args, options, compute, account, world } = invocation;
    const before = await openPolicy(invocation, args.policy);
    const { id: _id, ...fields } = policyDocument;
    const edited = await editYaml(invocation, {
      name: `policy-${before.name}`,
      help: 'Rules are CAN <actions> WHEN <conditions>. Save and exit; an unchanged text changes nothing.',
      value: { name: before.name, description: before.description ?? '', rules: before.rules },
      save: async (file) => {
        const { name = before.name, description = '', rules = [] }: PolicyFields = await readRecord(world, file, fields);
        if (rules.length === 0) throw new UsageError('a policy needs a rule');
        requireUnchanged(`policy ${before.name}`, before, await readPolicy(invocation, before.id));
        return await compute.updatePolicy({ account, policy: before.id, name, description, rules });
      },
    });
    if (edited === undefined) {
      invocation.note('Nothing was changed');
      return undefined;
    }
    invocation.note(`Updated policy ${edited.name}`);
    warnAbout(invocation, edited.rules);
    await waitForReads(invocation, options, `policy ${edited.name}`, () => isShown(invocation, edited));
    return record(edited, { id: 'name', columns });
  },
  examples: [
    { line: 'cloud policies edit read-keys', help: 'In your editor' },
    { line: 'EDITOR="sed -i s/listkeys/listusers/" cloud policies edit read-keys', help: 'In a script' },
  ],
});

export const policies = group({
  summary: 'Policies: rules for what the members of a role may do',
  commands: {
    list: listCommand({
      summary: 'List the policies',
      perDatacenter: true,
      aliases: ['ls'],
      columns: ['name', 'rules', { key: 'description', long: true }, { key: 'id', long: true }],
      id: 'name',
      shape: policyShape,
      fetch: ({ compute, account }) => compute.listPolicies({ account }),
      examples: [
        { line: 'cloud policies list', help: 'Names and rules' },
        { line: 'cloud policies list -j', help: 'As JSON' },
      ],
    }),
    get: getCommand({
      summary: 'Show a policy',
      perDatacenter: true,
      argument: 'policy',
      values: 'policy',
      help: policyHelp,
      id: 'name',
      listed: columns,
      shape: policyShape,
      fetch: findPolicy,
      examples: [
        { line: 'cloud policies get read-keys', help: 'A policy by its name' },
        { line: 'cloud policies get read-keys -o yaml > read-keys.yaml', help: 'For cloud policies create --from' },
      ],
    }),
    create,
    update,
    edit,
    delete: deleteCommand({
      summary: 'Delete policies',
      argument: 'policy',
      values: 'policy',
      help: policyHelp,
      noun: 'policy',
      read: ({ compute, account }) => compute.listPolicies({ account }),
      wholeId: readUuid,
      resolve: (listed, word) => {
        const { id, name } = requirePolicy(listed, word);
        return { id, label: name };
      },
      remove: ({ compute, account }, policy) => compute.deletePolicy({ account, policy }),
      isShown: async ({ compute, account }, ids) => (await compute.listPolicies({ account })).some(({ id }) => ids.includes(id)),
      examples: [
        { line: 'cloud policies delete read-keys', help: 'Asks first' },
        { line: 'cloud policies delete read-keys old --yes', help: 'Several, without confirmation' },
      ],
    }),
    check,
    simulate,
    'who-can': whoCan,
  },
});
