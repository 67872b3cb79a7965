import { afterAll, beforeAll, expect, test } from 'vitest';
import { compute } from '../../src/api/compute.ts';
import type { Operation } from '../../src/api/operation.ts';
import { storage } from '../../src/api/storage.ts';
import type { Context } from '../../src/cli/command.ts';
import { ApiError, UsageError } from '../../src/base/errors.ts';
import { listHolders } from '../../src/commands/policies/who-can.ts';
import { findResource } from '../../src/commands/policies/place.ts';
import { isDoneTo } from '../../src/commands/policies/question.ts';
import { collectPasswords, createExecutor } from '../../src/commands/rbac/execute.ts';
import { toDocument } from '../../src/commands/rbac/export.ts';
import { readEntryTags } from '../../src/commands/rbac/entry-tags.ts';
import { findEffects, type Proposal } from '../../src/commands/rbac/impact.ts';
import { readResource } from '../../src/lookup/resource.ts';
import { readAccess } from '../../src/rbac/access.ts';
import type { RbacDocument } from '../../src/rbac/document.ts';
import type { Effect } from '../../src/rbac/impact.ts';
import { plan } from '../../src/rbac/plan.ts';
import { listTaggable, readState, readTags, toRequestPath, type State } from '../../src/rbac/state.ts';
import { findTree } from '../../src/rbac/tree.ts';
import { authorise } from '../../src/server/access/authorise.ts';
import type { Caller } from '../../src/server/http/handler.ts';
import { createTestContext } from '../support/compute-context.ts';
import { report } from '../support/figures.ts';
import { createDocumentEditor } from '../support/random-document.ts';
import { createRandom } from '../support/random.ts';
import { isLong, scale, seed } from '../support/scale.ts';
import { createTestService, signAs, type Sending, type TestReply, type TestService } from '../support/service.ts';

/**
 * `policies who-can` and `rbac impact` say what the service does, for each user and operation in random documents: reading operations of
 * the compute service are requests that the user signs, the others are asked of the function by which the service decides.
 */

const documents = scale(4, 300);
/** Monday noon, UTC. */
const noon = Date.UTC(2026, 0, 5, 12);
/** Changes of role tags are told apart by the second in which they are made; no rule asks for these. */
let steps = 0;
const now = (): number => noon + steps * 1000;
const image = 'images/61fd44f6-b986-44cb-ab14-31249df98718';
const rules = [
  'CAN listkeys AND getkey',
  'CAN getobject, listdirectory AND putobject',
  'CAN getuser AND listusers WHEN day = mon',
  'CAN getuser, getrole AND deletepolicy WHEN day = tue',
  'CAN getimage AND getpolicy WHEN sourceip = 127.0.0.0/8',
  'CAN * WHEN sourceip = 10.0.0.0/8',
  'CAN /^(list|update)/::regex WHEN requesttime::time > 08:00:00',
  'CAN get* *',
  'CAN deleteobject AND stopmachine *',
  'CAN listusers, listroles AND setroletags /demo/*',
  'CAN * WHEN NOT (sourceip = 10.0.0.0/8)',
  'CAN NOT getkey',
  'CAN getrole AND getuser WHEN activeroles CONTAINS r-ant',
  'CAN listpolicies WHEN NOT (activeroles CONTAINS r-bee)',
  'CAN createuser, deleteuser AND changeuserpassword WHEN method = post',
  'CAN listimages WHEN owner = bob',
  'CAN getuser, listuserkeys, createuserkey AND deleteuser /demo/users/u-ant AND /demo/users/u-ant/keys',
  'CAN getrole, updaterole, getpolicy AND updatepolicy /demo/roles/r-bee AND /demo/policies/p-ant',
];

let service: TestService;
beforeAll(async () => {
  service = await createTestService({ now });
});
afterAll(() => service.close());

const conditions = { now: noon, sourceip: '127.0.0.1' };

/** 0: may not; 1: may when a role is asked for; 2: may. */
type Rank = 0 | 1 | 2;

/** What the service answers, with the roles of which one has to be named. */
interface Answer {
  rank: Rank;
  ask: string[];
}

/** Who can be asked about: a user by id, or the other account. */
interface Person {
  id: string;
  /** As the commands print it. */
  name: string;
  caller: Caller;
  /** Names of the roles that have the person as a member. */
  roles: string[];
}

/** One thing to do: an operation and what it is done to. */
interface Pair {
  operation: Operation;
  /** The same whatever is renamed. */
  id: string;
  /** For the commands; undefined for an object, whose path is `target`. */
  word: string;
  target: string;
  inputs: Record<string, string>;
}

interface Picture {
  state: State;
  tags: Record<string, string[]>;
  /** Role tags of a tree of the object storage, by path. */
  entries: Record<string, string[]>;
  people: Person[];
  pairs: Pair[];
  answers: Map<string, Answer>;
}

const storageOperations = Object.values(storage).filter(({ segments }) => segments.length === 2 && segments[1]?.kind === 'rest');

function fillInputs({ segments }: Operation, path: string): Record<string, string> {
  const parts = path.split('/');
  const inputs = segments.flatMap(({ kind, text }, at): [string, string][] => (kind === 'input' ? [[text, parts[at] ?? '']] : []));
  return { ...Object.fromEntries(inputs), resource: path, path: parts.slice(1).join('/') };
}

/** The object that stands for all with the tag of a role, or without any. */
function nameObject(id: string): string {
  return `demo/stor/${id.replace('*', 'plain').replace('tagged:', 'of-')}`;
}

function listPairs(state: State, paths: readonly string[], roleIds: readonly string[], entries: readonly string[]): Pair[] {
  const names = new Map(state.policies.map(({ id, name }) => [id, name]));
  const ofCompute = paths.flatMap((word) =>
    Object.values<Operation>(compute)
      .filter((operation) => operation.name !== 'ping' && isDoneTo(operation, readResource(word, 'demo')))
      .map((operation) => {
        const target = word === 'account' ? 'demo' : `demo/${toRequestPath(word, names)}`;
        return { operation, id: identify(state, word), word, target, inputs: fillInputs(operation, target) };
      }),
  );
  const ofStorage = ['*', ...roleIds.map((id) => `tagged:${id}`)].flatMap((id) =>
    storageOperations.map((operation: Operation) => {
      const target = nameObject(id);
      return { operation, id, word: `/${target}`, target, inputs: fillInputs(operation, target) };
    }),
  );
  const ofTree = entries.flatMap((id) =>
    storageOperations.map((operation: Operation) => {
      const target = `demo/${id}`;
      return { operation, id, word: `/${target}`, target, inputs: fillInputs(operation, target) };
    }),
  );
  return [...ofCompute, ...ofStorage, ...ofTree];
}

/** A tree of the object storage that documents have or not; deeper trees may be any of its entries. */
const tree = ['stor/tree', 'stor/tree/a', 'stor/tree/a/one', 'stor/tree/two'];

/** Ids of the roles that an entry is tagged with. */
function printTagIds({ state, entries }: Picture, path: string): string {
  return (entries[path] ?? [])
    .map((name) => state.roles.find((role) => role.name === name)?.id ?? name)
    .toSorted()
    .join();
}

/** A path with ids instead of names. */
function identify({ users, roles, policies }: State, path: string): string {
  const [collection, name, ...rest] = path.split('/');
  if (name === undefined) return path;
  const lists: Record<string, { id: string; name: string }[]> = {
    users: users.map(({ id, login }) => ({ id, name: login })),
    roles,
    policies,
  };
  const found = lists[collection ?? '']?.find((each) => each.name === name);
  return [collection, found?.id ?? name, ...rest].join('/');
}

/** Whether the service answers a request that the person signs. */
async function isAnswered({ caller, name }: Person, operation: Operation, target: string, named: string | undefined): Promise<boolean> {
  const own = operation.segments.at(-1)?.text ?? '';
  const path = `/${target}${['limits', 'config'].includes(own) ? `/${own}` : ''}`;
  const query = named === undefined ? '' : `?as-role=${encodeURIComponent(named)}`;
  const signer = caller.kind === 'user' ? signAs('compute', service.key, 'demo', name) : signAs('compute', service.otherKey, 'other');
  const response = await service.compute('GET', `${path}${query}`, { signing: { ...signer, date: new Date(now()).toUTCString() } });
  if (response.status >= 400 && response.code !== 'NotAuthorized') throw new Error(`${path}${query}: ${response.status} ${response.text}`);
  return response.status < 400;
}

/** Whether the service lets somebody do it. */
async function isAllowed(person: Person, { operation, target, inputs }: Pair, named: string | undefined): Promise<boolean> {
  if (operation.service === 'compute' && operation.method === 'GET') return await isAnswered(person, operation, target, named);
  const context = { ...conditions, method: operation.method };
  const roles = named === undefined ? undefined : [named];
  const attempt = {
    store: service.store,
    caller: person.caller,
    operation,
    account: service.account,
    path: `/${target}`,
    inputs,
    named: roles,
    context,
  };
  try {
    await authorise(attempt);
    return true;
  } catch (error) {
    if (error instanceof ApiError && [403, 409].includes(error.status)) return false;
    throw error;
  }
}

/** What the service answers, with which roles; the ways are those of `policies who-can`. */
async function askService(person: Person, pair: Pair): Promise<Answer> {
  if (await isAllowed(person, pair, undefined)) return { rank: 2, ask: [] };
  const ask = [];
  for (const role of person.roles) if (await isAllowed(person, pair, role)) ask.push(role);
  if (ask.length === 0 && person.roles.length > 1 && (await isAllowed(person, pair, '*'))) ask.push('*');
  return { rank: ask.length > 0 ? 1 : 0, ask };
}

async function listPeople(state: State): Promise<Person[]> {
  const rows = await service.store.db.selectFrom('users').selectAll().where('account', '=', service.account.id).execute();
  const rolesOf = (type: string, login: string): string[] =>
    state.roles.filter(({ members }) => members.some((member) => member.type === type && member.login === login)).map(({ name }) => name);
  const users = rows.map((user): Person => ({
    id: user.id,
    name: user.login,
    caller: { kind: 'user', account: service.account, user },
    roles: rolesOf('subuser', user.login),
  }));
  const other: Person = {
    id: 'other',
    name: 'account:other',
    caller: { kind: 'account', account: service.other },
    roles: rolesOf('account', 'other'),
  };
  return [...users, other];
}

/** Gives every user the key that signs here, and every role an object with its tag. */
async function equip(state: State, roleIds: readonly string[]): Promise<void> {
  for (const { login, keys } of state.users) {
    if (keys.some(({ fingerprint }) => fingerprint === service.key.fingerprint)) continue;
    const path = `/my/users/${login}/keys`;
    const { status, text } = await send('compute', 'POST', path, { json: { name: 'signs', key: service.key.line } });
    if (status !== 201) throw new Error(`${path}: ${status} ${text}`);
  }
  for (const id of ['*', ...roleIds.map((each) => `tagged:${each}`)]) {
    const path = `/${nameObject(id)}`;
    if ((await send('storage', 'HEAD', path)).status === 200) continue;
    const name = state.roles.find((role) => id === `tagged:${role.id}`)?.name;
    const { status, text } = await send('storage', 'PUT', path, {
      body: Buffer.from('x'),
      headers: name === undefined ? {} : { 'role-tag': name },
    });
    if (status !== 204) throw new Error(`${path}: ${status} ${text}`);
  }
}

function send(name: 'compute' | 'storage', method: string, path: string, sending: Sending = {}): Promise<TestReply> {
  return service[name](method, path, { ...sending, signing: { date: new Date(now()).toUTCString() } });
}

/** What is not compared: the keys that this proof makes, and samples of which there are many alike. */
function isLeftOut(path: string): boolean {
  return path.endsWith(`/keys/${service.key.fingerprint}`) || /^(machines|packages\/|images\/[^6]|fwrules|networks|services)/.test(path);
}

/** The account, and what the service answers to everybody about everything. @param roleIds roles of an earlier picture */
async function takePicture(context: Context, earlier: readonly string[] = []): Promise<Picture> {
  const roleIds = (state: State): string[] => [...new Set([...earlier, ...state.roles.map(({ id }) => id)])];
  const first = await readState(context, true);
  await equip(first, roleIds(first));
  const state = await readState(context, true);
  const paths = listTaggable(state).filter((path) => !isLeftOut(path));
  const people = await listPeople(state);
  const entries = await readEntryTags(context, { 'stor/tree': [] });
  const pairs = listPairs(state, paths, roleIds(state), tree);
  const answers = new Map<string, Answer>();
  for (const person of people)
    for (const pair of pairs) answers.set(`${person.id} ${pair.operation.action} ${pair.id}`, await askService(person, pair));
  return { state, tags: await readTags(context, paths, state), entries, people, pairs, answers };
}

/** Where `policies who-can` and the service disagree. */
async function compareHolders(context: Context, { people, pairs, answers, state, entries }: Picture): Promise<string[]> {
  const place = { account: 'demo', access: await readAccess(context) };
  const wrong: string[] = [];
  for (const { operation, id, word } of pairs) {
    const { action, method } = operation;
    const role = state.roles.find((each) => id === `tagged:${each.id}`)?.name;
    const object = { path: word, kind: 'member' as const, tags: entries[id] ?? (role === undefined ? [] : [role]) };
    const resource = operation.service === 'storage' ? object : await findResource(context, place, action, word, false);
    const { holders } = listHolders(place, { action, resource, context: { ...conditions, method } });
    for (const person of people) {
      const expected = answers.get(`${person.id} ${action} ${id}`);
      const holder = holders.find(({ user }) => user === person.name);
      const found = { rank: holder === undefined ? 0 : holder.ask.length > 0 ? 1 : 2, ask: holder?.ask ?? [] };
      if (JSON.stringify(found) !== JSON.stringify(expected))
        wrong.push(`${person.name} ${action} ${word}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
    }
  }
  return wrong;
}

/** Where the effects that `rbac impact` foretold and those that the service shows disagree. */
function compareEffects(effects: readonly Effect[], before: Picture, after: Picture, trees: Record<string, string[]>): string[] {
  const name = <T extends { id: string; name: string }>(was: readonly T[], is: readonly T[]): Map<string, string> =>
    new Map([
      ...was.map((each) => [each.id, each.id === 'other' ? each.name : `${each.name} (deleted)`] as const),
      ...is.map((each) => [each.id, each.name] as const),
    ]);
  const people = name(before.people, after.people);
  const compared = new Map(after.pairs.map((pair) => [`${pair.operation.action} ${pair.id}`, pair]));
  const roleNames = name<{ id: string; name: string }>(before.state.roles, after.state.roles);
  const label = (id: string, pair: Pair): string =>
    id.startsWith('tagged:') ? `tagged:${roleNames.get(id.slice(7)) ?? ''}` : id === '*' ? '*' : tree.includes(id) ? id : pair.word;
  const foretold = new Set(
    effects.flatMap(({ user, change, resource, actions }) => actions.map((action) => `${user} ${change} ${action} ${resource}`)),
  );
  const known = new Set<string>();
  const wrong: string[] = [];
  for (const [id, user] of people) {
    for (const [key, pair] of compared) {
      const { action } = pair.operation;
      // Where a document has no tree around an entry, or its tags stay, what is said about everything with a tag is said about it.
      const isEntry = tree.includes(pair.id);
      if (isEntry && (!findTree(trees, pair.id) || printTagIds(before, pair.id) === printTagIds(after, pair.id))) continue;
      // Nothing has the tag of a role that is not there yet.
      const was =
        (before.answers.get(`${id} ${key}`) ?? (pair.id.startsWith('tagged:') ? before.answers.get(`${id} ${action} *`) : undefined))
          ?.rank ?? 0;
      const is = after.answers.get(`${id} ${key}`)?.rank ?? 0;
      const [gain, loss] = ['granted', 'revoked'].map((change) => `${user} ${change} ${action} `) as [string, string];
      const expected = is > was ? gain : is < was ? loss : undefined;
      const place = label(pair.id, pair);
      for (const each of [gain, loss]) {
        known.add(`${each}${place}`);
        // What is said about every object is not said again about those with a tag.
        const isSaid =
          foretold.has(`${each}${place}`) || (each === expected && (pair.id.startsWith('tagged:') || isEntry) && foretold.has(`${each}*`));
        if (isSaid !== (each === expected)) wrong.push(`${each}${place}: foretold ${isSaid}, but the service went from ${was} to ${is}`);
      }
    }
  }
  const actions = new Set(after.pairs.map(({ operation }) => operation.action));
  const unknown = effects.filter(({ resource, actions: each }) => !isLeftOut(resource) && each.some((action) => actions.has(action)));
  for (const { user, change, resource, actions: each } of unknown)
    for (const action of each)
      if (actions.has(action) && !known.has(`${user} ${change} ${action} ${resource}`))
        wrong.push(`${user} ${change} ${action} ${resource}: nobody asked`);
  return wrong;
}

async function makeEntry(path: string): Promise<void> {
  const isDirectory = path === 'stor/tree' || path === 'stor/tree/a';
  const sending = isDirectory ? { headers: { 'content-type': 'application/json; type=directory' } } : { body: Buffer.from('x') };
  const { status, text } = await send('storage', 'PUT', `/demo/${path}`, sending);
  if (status !== 204) throw new Error(`${path}: ${status} ${text}`);
}

/** Whether a document can be applied without deleting what it does not mention: its names may still be taken. */
function isWhole(document: RbacDocument, { state, tags, entries }: Picture): boolean {
  try {
    plan(document, state, { ...tags, ...entries }, false);
    return true;
  } catch (error) {
    if (error instanceof UsageError) return false;
    throw error;
  }
}

test(`who-can and impact agree with the service in ${documents} random documents (seed ${seed})`, { timeout: 7_200_000 }, async () => {
  const context = createTestContext(service, { SECRET: 'open sesame 1' }, now);
  const edit = createDocumentEditor(seed, [image, 'datacenters'], {
    rules,
    others: ['account:other'],
    density: 2,
    trees: ['users', 'policies', ...tree],
  });
  for (const path of tree) await makeEntry(path);
  const random = createRandom(seed);
  let before = await takePicture(context);
  let [asked, effects, allowed] = [0, 0, 0];
  for (let at = 0; at < documents; at += 1) {
    // Every third change deletes a role.
    const role = at % 3 === 2 ? before.state.roles[Math.floor(random() * before.state.roles.length)] : undefined;
    const document = edit(toDocument(before.state, 'demo', before.tags));
    const proposal: Proposal = role
      ? { deletedRoles: [role.name], prune: false }
      : { document, deletedRoles: [], prune: at % 2 === 0 || !isWhole(document, before) };
    const foretold = await findEffects(context, proposal, () => conditions);
    if (role) await context.compute.deleteRole({ account: 'demo', role: role.id });
    else {
      const changes = plan(document, before.state, { ...before.tags, ...before.entries }, proposal.prune);
      const executor = createExecutor(context, before.state, await collectPasswords(context, changes));
      for (const { step } of changes) {
        steps += 1;
        await executor.execute(step);
      }
    }
    const after = await takePicture(
      context,
      before.state.roles.map(({ id }) => id),
    );
    expect(compareEffects(foretold, before, after, proposal.document?.trees ?? {}).slice(0, 5), `seed ${seed}, document ${at}`).toEqual([]);
    expect((await compareHolders(context, after)).slice(0, 5), `seed ${seed}, document ${at}`).toEqual([]);
    asked += after.answers.size;
    allowed += [...after.answers.values()].filter(({ rank }) => rank > 0).length;
    effects += foretold.length;
    before = after;
  }
  // Neither answer is rare, and the changes do something.
  expect(allowed).toBeGreaterThan(isLong ? asked / 50 : 0);
  expect(allowed).toBeLessThan(asked * 0.9);
  expect(effects).toBeGreaterThan(isLong ? documents : 0);
  report('proof', {
    name: 'policies who-can and rbac impact against the service, every user and operation',
    ours: `${documents} random documents, ${asked} pairs, ${allowed} allowed, ${effects} effects, seed ${seed}`,
    promise: 'all agree',
  });
});
