import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compute } from '../../src/api/compute.ts';
import type { Operation, ServiceName } from '../../src/api/operation.ts';
import { storage } from '../../src/api/storage.ts';
import { seedAccount } from '../../src/server/seed/account.ts';
import { useQuickPasswords } from '../support/quick-crypto.ts';
import { addUser, createEcdsaKey, createTestService, signHeaders, signUrl, type Sending, type TestService } from '../support/service.ts';
import { addImages, listComputeCases, listStorageCases, type Case, type Owner } from './access-cases.ts';

/** Monday noon, UTC: conditions of rules look at it. */
const noon = Date.UTC(2026, 0, 5, 12);

/** A role as far as the decision goes (compute-decisions, "Roles, policies, tags, access"). */
interface Role {
  name: string;
  /** Rule of its policy for an action; none for the administrator. */
  rule?: (actions: string) => string;
  grants: boolean;
  tagged: boolean;
  /** The rule names every resource itself. */
  everywhere?: boolean;
}

const can = (actions: string): string => `CAN ${actions}`;
const roles: readonly Role[] = [
  { name: 'plain', rule: can, grants: true, tagged: true },
  { name: 'spare-time', rule: (actions) => `CAN ${actions} WHEN requesttime::time > 13:00:00`, grants: false, tagged: true },
  { name: 'weekend', rule: (actions) => `CAN ${actions} WHEN requesttime::day IN (sat, sun)`, grants: false, tagged: true },
  { name: 'elsewhere', rule: (actions) => `CAN ${actions} WHEN sourceip::ip = 10.0.0.0/8`, grants: false, tagged: true },
  {
    name: 'office',
    rule: (actions) => `CAN ${actions} WHEN sourceip::ip = 127.0.0.0/8 AND requesttime::day = monday AND requesttime::time < 12:30`,
    grants: true,
    tagged: true,
  },
  { name: 'otherwise', rule: () => 'CAN stopmachine, startmachine AND rebootmachine', grants: false, tagged: true },
  { name: 'not', rule: (actions) => `CAN NOT ${actions}`, grants: false, tagged: true },
  { name: 'untagged', rule: can, grants: true, tagged: false },
  { name: 'everywhere', rule: (actions) => `CAN ${actions} *`, grants: true, tagged: false, everywhere: true },
  { name: 'administrator', grants: true, tagged: false, everywhere: true },
];

interface Identity {
  name: string;
  /** `partner`: another account that is a member; `stranger` and `strange user`: another account that is none, and a sub-user of it. */
  kind: 'owner' | 'user' | 'partner' | 'stranger' | 'strange user' | 'anonymous';
  member: readonly string[];
  /** Members that have the role active without asking. */
  byDefault: boolean;
  named?: string;
  /** By a signed URL instead of a header; `unsigned` puts the role into a header that the URL does not sign. */
  url?: 'signed' | 'unsigned';
}

const withRole = ({ name }: Role): Identity => ({ name: `a sub-user with ${name}`, kind: 'user', member: [name], byDefault: true });
const refusing = roles.filter(({ grants }) => !grants);
/** Is refused as soon as each of its roles refuses. */
const refused: Identity = {
  name: 'a sub-user with all roles that refuse',
  kind: 'user',
  member: refusing.map(({ name }) => name),
  byDefault: true,
};
const identities: readonly Identity[] = [
  { name: 'the account', kind: 'owner', member: [], byDefault: false },
  { name: 'another account', kind: 'stranger', member: [], byDefault: false },
  { name: 'a sub-user of another account', kind: 'strange user', member: [], byDefault: false },
  { name: 'nobody', kind: 'anonymous', member: [], byDefault: false },
  { name: 'a sub-user without roles', kind: 'user', member: [], byDefault: true },
  ...roles.filter(({ grants }) => grants).map(withRole),
  refused,
  { name: 'a sub-user who has to ask and does', kind: 'user', member: ['plain'], byDefault: false, named: 'plain' },
  { name: 'a sub-user who has to ask and does not', kind: 'user', member: ['plain'], byDefault: false },
  { name: 'a sub-user who asks for something else', kind: 'user', member: ['plain'], byDefault: true, named: 'everywhere' },
  { name: 'a sub-user who asks for less', kind: 'user', member: ['plain', 'otherwise'], byDefault: true, named: 'otherwise' },
  { name: 'a sub-user with a bad and a good role', kind: 'user', member: ['elsewhere', 'plain'], byDefault: true },
  { name: 'the account by a signed URL', kind: 'owner', member: [], byDefault: false, url: 'signed' },
  { name: 'a sub-user without roles by a signed URL', kind: 'user', member: [], byDefault: true, url: 'signed' },
  { name: 'a sub-user with plain by a signed URL', kind: 'user', member: ['plain'], byDefault: true, url: 'signed' },
  { name: 'a sub-user who asks in a signed URL', kind: 'user', member: ['plain'], byDefault: false, named: 'plain', url: 'signed' },
  { name: 'a sub-user who asks beside a signed URL', kind: 'user', member: ['plain'], byDefault: false, named: 'plain', url: 'unsigned' },
  { name: 'a sub-user who asks a signed URL for something else', kind: 'user', member: [], byDefault: true, named: 'plain', url: 'signed' },
  { name: 'another account by a signed URL', kind: 'stranger', member: [], byDefault: false, url: 'signed' },
  { name: 'another account that is a member', kind: 'partner', member: ['plain'], byDefault: true },
];

/** They tell which of the roles it is that does not refuse. */
const suspects = refusing.map(withRole);

/** `uncovered`: what the request does stands in what a signed URL does not sign. */
type Expectation = 'allowed' | 'unsigned' | 'denied' | 'no-tag' | 'not-member' | 'uncovered';

/** The rules: the account may; else an active role must be a tag of the resource, unless it allows the action everywhere, and allow the action. */
function expectOutcome({ kind, member, byDefault, named, url }: Identity, service: ServiceName): Expectation {
  if (kind === 'owner') return 'allowed';
  if (kind === 'anonymous') return 'unsigned';
  // The header is none of the compute service's.
  const asked = url === 'unsigned' ? undefined : named;
  if (asked !== undefined && !member.includes(asked)) return 'not-member';
  const active = roles.filter(({ name }) => (asked !== undefined ? name === asked : byDefault && member.includes(name)));
  if (active.some((role) => role.grants && (role.tagged || role.everywhere === true))) return 'allowed';
  if (kind === 'stranger' || kind === 'strange user' || service === 'compute') return 'denied';
  return active.some(({ tagged: isTagged }) => isTagged) ? 'denied' : 'no-tag';
}

/** Whether a signed URL says all that a request does: the object storage takes only bytes by PUT, and no service parameters or lines in a body. */
function isCovered({ method, service, name, body }: Operation, { json }: Sending): boolean {
  if (body === 'lines') return false;
  if (service === 'storage' && method === 'PUT') return ['putObject', 'uploadPart'].includes(name);
  return json === undefined;
}

useQuickPasswords();

let service: TestService;
let owner: Owner;
const signatures = new Map<string, Record<ServiceName, Record<string, string>>>();
const keyIds = new Map<string, Record<ServiceName, string>>();
const tagged = roles.filter((role) => role.tagged).map((role) => role.name);

async function addPerson(identity: Identity, index: number): Promise<void> {
  const { kind, member, byDefault } = identity;
  const login = `person-${index}`;
  // One key for all: what a key is registered for is what its id in the request says.
  const { key } = service;
  const sign = (account: string, user = ''): void => {
    const keyId = `/${account}${user}/keys/${key.fingerprint}`;
    const date = new Date(noon).toUTCString();
    const computeId = user === '' ? keyId : `/${account}/users${user}/keys/${key.fingerprint}`;
    keyIds.set(identity.name, { compute: computeId, storage: keyId });
    const forCompute = signHeaders('compute', { key, keyId: computeId, date });
    signatures.set(identity.name, { compute: forCompute, storage: signHeaders('storage', { key, keyId, date }) });
  };
  if (kind === 'owner') sign('demo');
  else if (kind === 'user') {
    await addUser(service.store, service.account, login, key);
    sign('demo', `/${login}`);
  } else if (kind === 'strange user') {
    await addUser(service.store, service.other, login, key);
    sign('other', `/${login}`);
  } else if (kind !== 'anonymous') {
    await seedAccount(service.store, { login, publicKey: key.line, keyFile: '', now: noon });
    sign(login);
  }
  for (const role of member) members.get(role)?.push({ type: kind === 'partner' ? 'account' : 'subuser', login, default: byDefault });
}

const members = new Map<string, object[]>(roles.map(({ name }) => [name, []]));

beforeAll(async () => {
  // A database has a clock of its own, by which uploads grow old.
  service = await createTestService({ now: () => noon, settings: { serviceLimits: { uploadDays: 100_000 } } });
  await addPerson(identities[0] ?? { name: '', kind: 'owner', member: [], byDefault: false }, 0);
  owner = async (name, method, target, sending = {}) => {
    const headers = { ...signatures.get('the account')?.[name], ...sending.headers };
    const response = await service[name](method, target, { ...sending, headers, signing: false });
    if (response.status >= 400) throw new Error(`${method} ${target}: ${response.status} ${response.text}`);
    return response;
  };
  for (const [index, identity] of [...identities, ...suspects].entries()) if (index > 0) await addPerson(identity, index);
  for (const { name, rule } of roles) {
    if (rule) await owner('compute', 'POST', '/my/policies', { json: { name, rules: [rule('nothing')] } });
    const policies = rule ? [{ name }] : [];
    await owner('compute', 'POST', '/my/roles', { json: { name, policies, members: members.get(name) } });
  }
  const target = createEcdsaKey();
  await addUser(service.store, service.account, 'target', createEcdsaKey());
  await owner('compute', 'POST', '/my/keys', { json: { name: 'sample', key: createEcdsaKey().line } });
  await owner('compute', 'POST', '/my/users/target/keys', { json: { name: 'sample', key: target.line } });
  await owner('compute', 'POST', '/my/roles', { json: { name: 'spare' } });
  await owner('compute', 'POST', '/my/policies', { json: { name: 'spare', rules: ['CAN ping'] } });
  await addImages(service);
  const headers = { 'content-type': 'application/json; type=directory', 'role-tag': tagged.join(',') };
  for (const path of ['/demo/stor/shelf', '/demo/jobs', '/demo/uploads']) await owner('storage', 'PUT', path, { headers });
  await owner('storage', 'PUT', '/demo/stor/shelf/source', { body: Buffer.from('source') });
});
afterAll(() => service.close());

/** Every rule allows what this case needs, and the tagged roles tag its resource. */
async function arrange({ operation, resource, also = [] }: Case): Promise<void> {
  const actions = [operation.action, ...also].join(' AND ');
  await service.store.write(async (transaction) => {
    for (const { name, rule } of roles) {
      if (rule)
        await transaction
          .updateTable('policies')
          .set({ rules: JSON.stringify([rule(actions)]) })
          .where('name', '=', name)
          .execute();
    }
  });
  if (operation.service === 'compute' && resource !== '') await owner('compute', 'PUT', resource, { json: { 'role-tag': tagged } });
}

type Prepared = Awaited<ReturnType<Case['request']>>;

interface Probe {
  status: number;
  code: string | undefined;
  text: string;
  path: string;
}

/** The same request by a signed URL, for the roles that it names. */
async function probeUrl(identity: Identity, { method, service: name }: Operation, target: string, sending: Sending): Promise<Probe> {
  const { named, url } = identity;
  const [path = '', search = ''] = target.split('?');
  const role: Record<string, string> =
    named === undefined || url === 'unsigned' ? {} : { [name === 'compute' ? 'as-role' : 'role']: named };
  const signer = { key: service.key, keyId: keyIds.get(identity.name)?.[name] ?? '', method, expires: noon / 1000 + 60 };
  const signed = signUrl(name, signer, path, { ...Object.fromEntries(new URLSearchParams(search)), ...role });
  const headers = { ...sending.headers, ...(named !== undefined && url === 'unsigned' && { role: named }) };
  const { status, code, text } = await service[name](method, signed, { ...sending, headers, signing: false });
  return { status, code, text, path };
}

async function probe(identity: Identity, { operation }: Case, { target, sending = {} }: Prepared): Promise<Probe> {
  const { named, url } = identity;
  const name = operation.service;
  const role: Record<string, string> = named !== undefined && name === 'storage' ? { role: named } : {};
  const query = named !== undefined && name === 'compute' ? `${target.includes('?') ? '&' : '?'}as-role=${named}` : '';
  const own = identity.kind === 'owner' || identity.kind === 'user' ? target : target.replace(/^\/my(?=\/|$)/u, '/demo');
  if (url !== undefined) return probeUrl(identity, operation, own, sending);
  const headers = { ...signatures.get(identity.name)?.[name], ...role, ...sending.headers };
  const { status, code, text } = await service[name](operation.method, own + query, { ...sending, headers, signing: false });
  return { status, code, text, path: own.replace(/\?.*$/u, '') };
}

const denials: Readonly<Record<ServiceName, Readonly<Record<Exclude<Expectation, 'allowed'>, [number, string]>>>> = {
  compute: {
    unsigned: [401, 'InvalidCredentials'],
    denied: [403, 'NotAuthorized'],
    'no-tag': [403, 'NotAuthorized'],
    'not-member': [403, 'NotAuthorized'],
    uncovered: [401, 'InvalidCredentials'],
  },
  storage: {
    unsigned: [403, 'AuthorizationFailed'],
    denied: [403, 'AuthorizationFailed'],
    'no-tag': [403, 'NoMatchingRoleTag'],
    'not-member': [409, 'InvalidRole'],
    uncovered: [403, 'InvalidQueryStringAuthentication'],
  },
};

/** Operations whose work is somebody else's to test: here it is enough that they were let in. */
const letIn = /job/iu;

function expectOutcomeOf({ operation }: Case, identity: Identity, { sending = {} }: Prepared): Expectation {
  if (operation.resource === 'none') {
    // Everybody may, and has to sign: a role that is named must still be the caller's.
    if (identity.kind === 'anonymous') return 'unsigned';
    return identity.named === undefined || identity.kind === 'owner' || identity.member.includes(identity.named) ? 'allowed' : 'not-member';
  }
  const outcome = expectOutcome(identity, operation.service);
  if (identity.url === undefined || isCovered(operation, sending)) return outcome;
  // What a PUT of the object storage is, and whether a body has lines, is looked at before the roles of the caller are.
  const isEarly = operation.body === 'lines' || (operation.service === 'storage' && operation.method === 'PUT');
  return outcome === 'allowed' || isEarly ? 'uncovered' : outcome;
}

async function check(identity: Identity, each: Case, expected: Expectation, prepared: Prepared): Promise<void> {
  const { operation } = each;
  const { status, code, text, path } = await probe(identity, each, prepared);
  const told = `${identity.name}: ${operation.name} ${path}: ${status} ${text}`;
  if (expected !== 'allowed') {
    expect([status, code], told).toEqual(denials[operation.service][expected]);
    if (expected === 'denied' || expected === 'no-tag') expect(text).toContain(`(${operation.action})`);
  } else if (letIn.test(operation.name)) expect([401, 403], told).not.toContain(status);
  else expect(status, told).toBe(operation.status);
}

describe('who may do what', () => {
  test('the cases are all operations of both services', () => {
    const cases = [...listComputeCases(owner, service, tagged), ...listStorageCases(owner)].map(({ operation }) => operation.name);
    expect(cases.sort()).toEqual([...Object.keys(compute), ...Object.keys(storage)].sort());
  });

  test.each([...Object.values(compute), ...Object.values(storage)].map((operation) => [operation.service, operation.name] as const))(
    '%s %s',
    async (name, operation) => {
      const cases = name === 'compute' ? listComputeCases(owner, service, tagged) : listStorageCases(owner);
      const found = cases.find((each) => each.operation.name === operation);
      if (found === undefined) throw new Error(`no case for ${operation}`);
      await arrange(found);
      let prepared: Prepared | undefined;
      for (const identity of identities) {
        prepared ??= await found.request();
        const expected = expectOutcomeOf(found, identity, prepared);
        try {
          await check(identity, found, expected, prepared);
        } catch (error) {
          if (identity === refused) for (const each of suspects) await check(each, found, expected, await found.request());
          throw error;
        }
        // What a refused request was to use up must still be there for the next one, and what is only read is.
        if (expected === 'allowed' && !['GET', 'HEAD'].includes(found.operation.method)) prepared = undefined;
      }
    },
  );
});
