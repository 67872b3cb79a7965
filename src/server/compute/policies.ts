import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { compute } from '../../api/compute.ts';
import type { Policy } from '../../api/resources.ts';
import type { ApiError } from '../../base/errors.ts';
import { tryRule } from '../../policy/parser.ts';
import { countComparisons } from '../../policy/rule.ts';
import { PolicySyntaxError } from '../../policy/syntax-error.ts';
import { nameFields, noteAudit } from '../access/audit.ts';
import { Answer, type Call, type Handler } from '../http/handler.ts';
import { assertRoom, assertWithinLimit } from '../limit.ts';
import type { ServiceSettings } from '../settings.ts';
import type { PolicyRow } from '../store/compute-schema.ts';
import type { AccountRow, Schema } from '../store/schema.ts';
import { assertListFits } from './list-limit.ts';
import { checkFree, findOwn, pickByIdOrName, readName, createFieldError, createUnknownError } from './names.ts';
import { noteRoles } from './role-records.ts';
import { noteChange, showPast } from './staleness.ts';
import { clearTags } from './tags.ts';

function showPolicy({ id, name, rules, description }: PolicyRow): Policy {
  return { id, name, rules: JSON.parse(rules) as string[], ...(description !== null && { description }) };
}

async function listRows(call: Call): Promise<PolicyRow[]> {
  const { account, store } = call;
  const all = store.db.selectFrom('policies').selectAll().where('account', '=', account.id);
  return showPast(call, 'policy', await all.orderBy('created').orderBy('name').execute());
}

/** ListPolicies, oldest first. */
export const listPolicies: Handler<typeof compute.listPolicies> = async (_, call) => (await listRows(call)).map(showPolicy);

/** A policy in its current state, by id or name. @throws {ApiError} 404 `ResourceNotFound` */
async function requirePolicy(db: Kysely<Schema>, account: AccountRow, name: string): Promise<PolicyRow> {
  const id = (await findOwn(db, 'policies', account, name))?.id;
  const row = id === undefined ? undefined : await db.selectFrom('policies').selectAll().where('id', '=', id).executeTakeFirst();
  if (row === undefined) throw createUnknownError('policy', name);
  return row;
}

/** GetPolicy, by id or name. */
export const getPolicy: Handler<typeof compute.getPolicy> = async ({ policy: name }, call) => {
  if ((call.settings.staleness ?? 0) <= 0) return showPolicy(await requirePolicy(call.store.db, call.account, name));
  const row = pickByIdOrName(await listRows(call), name);
  if (row === undefined) throw createUnknownError('policy', name);
  return showPolicy(row);
};

function createRulesError(message: string): ApiError {
  return createFieldError('rules', message, message);
}

function checkRule(rule: string, index: number, settings: ServiceSettings): void {
  assertWithinLimit(settings, 'ruleBytes', Buffer.byteLength(rule), { has: `rules[${index}] may have`, counted: 'bytes', field: 'rules' });
  const placed = tryRule(rule);
  if (placed instanceof PolicySyntaxError) throw createRulesError(`rules[${index}]: ${placed.message}`);
  const subject = { has: `the condition of rules[${index}] may have`, counted: 'comparisons', field: 'rules' };
  assertWithinLimit(settings, 'ruleComparisons', countComparisons(placed.rule.condition), subject);
}

/**
 * Validates rules for storage, in the given order. @throws {ApiError} 409 `InvalidArgument` for an empty list, an invalid rule or a
 * duplicate
 */
function readRules(rules: readonly string[], settings: ServiceSettings): string {
  if (rules.length === 0) throw createRulesError('rules: a policy needs at least one rule');
  assertWithinLimit(settings, 'policyRules', rules.length, { has: 'a policy has', counted: 'rules', field: 'rules' });
  const places = new Map<string, number>();
  for (const [index, rule] of rules.entries()) {
    checkRule(rule, index, settings);
    const first = places.get(rule);
    if (first !== undefined) throw createRulesError(`rules[${index}] is the same as rules[${first}]`);
    places.set(rule, index);
  }
  return JSON.stringify(rules);
}

/** CreatePolicy. Errors: 409 `InvalidArgument` for a name that is taken or an invalid rule. */
export const createPolicy: Handler<typeof compute.createPolicy> = async (input, call) => {
  const { account, store, now } = call;
  const row: PolicyRow = {
    id: randomUUID(),
    account: account.id,
    name: readName(input.name, 'policies'),
    rules: readRules(input.rules, call.settings),
    description: input.description === undefined || input.description === '' ? null : input.description,
    created: now(),
  };
  await store.write(async (transaction) => {
    await checkFree(transaction, 'policies', account, row);
    const policies = transaction.selectFrom('policies').select('name').where('account', '=', account.id);
    await assertRoom(call.settings, 'policies', policies, { has: 'an account has', counted: 'policies' });
    await transaction.insertInto('policies').values(row).execute();
    await assertListFits(transaction, call, 'policies', row);
    await noteChange(transaction, call, 'policy', row.id, undefined);
    await noteAudit(transaction, call, `policies/${row.id}`, { name: row.name, rules: JSON.parse(row.rules) as unknown });
  });
  return new Answer(showPolicy(row), { headers: { location: `/${account.login}/policies/${row.id}` } });
};

/** UpdatePolicy, by id or name: an empty description removes it. Errors as for CreatePolicy. */
export const updatePolicy: Handler<typeof compute.updatePolicy> = async (input, call) => {
  const { account, store } = call;
  const { description } = input;
  // Looked up first, so that a policy that does not exist is 404 whatever the fields are.
  await requirePolicy(store.db, account, input.policy);
  const changes = {
    ...(input.name !== undefined && { name: readName(input.name, 'policies') }),
    ...(input.rules !== undefined && { rules: readRules(input.rules, call.settings) }),
    ...(description !== undefined && { description: description === '' ? null : description }),
  };
  const row = await store.write(async (transaction) => {
    const before = await requirePolicy(transaction, account, input.policy);
    if (Object.keys(changes).length === 0) return before;
    const { name } = changes;
    if (name !== undefined) await checkFree(transaction, 'policies', account, { id: before.id, name });
    await noteChange(transaction, call, 'policy', before.id, before);
    if (name !== undefined && name !== before.name) await noteRoles(transaction, call, { policy: before.id });
    const { name: now = before.name, rules } = changes;
    await noteAudit(transaction, call, `policies/${before.id}`, {
      name: now,
      changed: nameFields(changes),
      ...(rules !== undefined && { rules: JSON.parse(rules) as unknown }),
    });
    const update = transaction.updateTable('policies').set(changes).where('id', '=', before.id).returningAll();
    const after = await update.executeTakeFirstOrThrow();
    await assertListFits(transaction, call, 'policies', after, before);
    return after;
  });
  return showPolicy(row);
};

/** DeletePolicy, by id only; also removes it from roles. */
export const deletePolicy: Handler<typeof compute.deletePolicy> = async ({ policy: given }, call) => {
  const { account, store } = call;
  const id = given.toLowerCase();
  await store.write(async (transaction) => {
    const before = await requirePolicy(transaction, account, id);
    if (before.id !== id) throw createUnknownError('policy with the id', given);
    await noteChange(transaction, call, 'policy', id, before);
    await noteRoles(transaction, call, { policy: id });
    await clearTags(transaction, account, `policies/${id}`);
    await transaction.deleteFrom('policies').where('id', '=', id).execute();
    await noteAudit(transaction, call, `policies/${id}`, { name: before.name });
  });
  return {};
};
