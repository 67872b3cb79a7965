import { describe, expect, test } from 'vitest';
import { activateRoles, decide, type CallerRole, type DecisionInput } from '../../../src/policy/decide.ts';
import { explainDecision } from '../../../src/policy/explain.ts';

function makeRole(name: string, membership: CallerRole['membership'], ...rules: string[]): CallerRole {
  return { name, membership, policies: rules.length > 0 ? [{ name: `${name}-policy`, rules }] : [] };
}

const reader = makeRole('reader', 'default', 'CAN listkeys', 'CAN getkey WHEN time > 09:00');

/** Fred, whose default role is `reader`, asks for a key at 14:00 on a Wednesday. */
function makeInput(changes: Partial<DecisionInput> = {}): DecisionInput {
  return {
    caller: { kind: 'user', login: 'fred' },
    roles: [reader],
    resource: { path: '/demo/keys/laptop', kind: 'member', tags: ['reader'] },
    action: 'getkey',
    context: { now: Date.UTC(2026, 3, 15, 14), method: 'GET', sourceip: '10.0.0.1' },
    ...changes,
  };
}

/** The first reason and everything that people are told. */
function ask(changes: Partial<DecisionInput>) {
  const decision = decide(makeInput(changes));
  return {
    decision,
    words: explainDecision(decision),
    missing: decision.allowed ? undefined : decision.reasons.map((reason) => reason.missing),
  };
}

describe('allowed', () => {
  test('the account itself, whatever its roles', () => {
    const { decision, words } = ask({ caller: { kind: 'account', login: 'demo' }, roles: [], action: 'deletekey' });
    expect(decision).toMatchObject({ allowed: true, because: { kind: 'account' } });
    expect(words).toEqual(['Allowed: the account demo may deletekey /demo/keys/laptop.', 'An account may do everything in itself.']);
  });

  test('through a default role, with the path that led there', () => {
    const { decision, words } = ask({});
    expect(decision).toMatchObject({
      allowed: true,
      because: { kind: 'rule', role: 'reader', policy: 'reader-policy', rule: 'CAN getkey WHEN time > 09:00', tag: 'reader' },
    });
    expect(words).toEqual([
      'Allowed: fred may getkey /demo/keys/laptop.',
      'Role reader, policy reader-policy, rule: CAN getkey WHEN time > 09:00',
      'The resource has the role tag reader.',
    ]);
  });

  test('through a role named for the request', () => {
    const extra = makeRole('writer', 'member', 'CAN deletekey');
    const resource = { path: '/demo/keys/laptop', kind: 'member' as const, tags: ['writer'] };
    const roles = [reader, extra];
    expect(ask({ roles, resource, action: 'deletekey' }).missing).toEqual(['not-action']);
    expect(ask({ roles, resource, action: 'deletekey', named: ['writer'] }).decision.allowed).toBe(true);
    expect(ask({ roles, resource, action: 'deletekey', named: ['*'] }).decision.allowed).toBe(true);
  });

  test('without a tag when the rule names the resource *', () => {
    const resource = { path: '/demo/keys/laptop', kind: 'member' as const, tags: [] };
    const { decision, words } = ask({ roles: [makeRole('reader', 'default', 'CAN getkey *')], resource });
    expect(decision).toMatchObject({ allowed: true, because: { kind: 'rule', role: 'reader', rule: 'CAN getkey *' } });
    expect(decision.allowed && decision.because).not.toHaveProperty('tag');
    expect(words.at(-1)).toBe('The rule names the resource *, so no role tag is needed.');
    expect(ask({ roles: [makeRole('reader', 'default', 'CAN getkey /demo/*')], resource }).missing).toEqual(['no-tag']);
  });

  test('the role administrator, before the others and without policies or tags', () => {
    const roles = [reader, makeRole('administrator', 'default')];
    const { decision, words } = ask({ roles });
    expect(decision).toMatchObject({ allowed: true, because: { kind: 'administrator', role: 'administrator' } });
    expect(words.at(-1)).toBe('Role administrator may do everything in the account.');
    expect(ask({ roles: [makeRole('administrator', 'member')] }).missing).toEqual(['no-role']);
    expect(ask({ roles: [makeRole('administrator', 'member')], named: ['administrator'] }).decision.allowed).toBe(true);
    expect(ask({ roles: [makeRole('administrator', 'none')], named: ['administrator'] }).missing).toEqual(['not-member']);
  });

  test('the second role, policy or rule, when the first does not', () => {
    const roles = [makeRole('a', 'default', 'CAN listkeys'), makeRole('b', 'default', 'CAN NOT getkey', 'CAN getkey WHEN (', 'CAN getkey')];
    const resource = { path: '/demo/keys/laptop', kind: 'member' as const, tags: ['b'] };
    expect(ask({ roles, resource }).decision).toMatchObject({ allowed: true, because: { role: 'b', rule: 'CAN getkey' } });
  });

  test('another account through a role that has it as a member', () => {
    const caller = { kind: 'other-account' as const, login: 'partner' };
    expect(ask({ caller }).words[0]).toBe('Allowed: the account partner may getkey /demo/keys/laptop.');
    expect(ask({ caller, roles: [] }).missing).toEqual(['no-role']);
  });

  test('the collection by its own tag', () => {
    const resource = { path: '/demo/keys', kind: 'collection' as const, tags: ['reader'] };
    expect(ask({ resource, action: 'listkeys' }).decision.allowed).toBe(true);
  });

  test('conditions see the active roles', () => {
    const roles = [makeRole('reader', 'default', 'CAN getkey WHEN activeRoles CONTAINS night'), makeRole('night', 'member')];
    expect(ask({ roles }).missing).toEqual(['condition-false']);
    expect(ask({ roles, named: ['reader', 'night'] }).decision.allowed).toBe(true);
  });
});

describe('denied: the first thing missing in each role, and the words for it', () => {
  const untagged = { path: '/demo/keys/laptop', kind: 'member' as const, tags: ['other'] };
  const cases: [name: string, changes: Partial<DecisionInput>, missing: string[], words: string][] = [
    ['no role', { roles: [] }, ['no-role'], 'No role is active.'],
    ['no default role', { roles: [makeRole('x', 'member', 'CAN listkeys')] }, ['no-role'], 'No role is active.'],
    ['not a member', { roles: [makeRole('reader', 'none', 'CAN getkey')] }, ['no-role'], 'No role is active.'],
    ['an unknown role', { named: ['nobody'] }, ['unknown-role'], 'Role nobody: the account has no role of this name.'],
    [
      "another's role",
      { roles: [reader, makeRole('ops', 'none')], named: ['reader', 'ops'] },
      ['not-member'],
      'Role ops: the caller is not a member of this role.',
    ],
    ['naming none', { named: [] }, ['no-role'], 'No role is active.'],
    ['no policy', { roles: [makeRole('reader', 'default')] }, ['no-policy'], 'Role reader: it has no policy with a rule.'],
    ['no rule for the action', { action: 'deletekey' }, ['not-action'], 'Role reader: none of its rules names the action deletekey.'],
    ['no tag', { resource: untagged }, ['no-tag'], 'does not have the role tag reader (a tag of its collection does not count).'],
    [
      'no tag on a collection',
      { resource: { path: '/demo/keys', kind: 'collection', tags: [] }, action: 'listkeys' },
      ['no-tag'],
      'rule "CAN listkeys" allows it, but /demo/keys does not have the role tag reader.',
    ],
    [
      'a condition',
      { context: { now: Date.UTC(2026, 3, 15, 8) } },
      ['condition-false'],
      'Role reader: policy reader-policy, rule "CAN getkey WHEN time > 09:00" does not apply, because this is false: time > 09:00.',
    ],
    [
      'a missing name',
      { roles: [makeRole('reader', 'default', 'CAN getkey WHEN owner = x')] },
      ['missing-name'],
      'compares "owner", which this request does not have.',
    ],
    ['CAN NOT', { roles: [makeRole('reader', 'default', 'CAN NOT getkey')] }, ['negative'], 'is a CAN NOT, which grants nothing.'],
    ['principals', { roles: [makeRole('reader', 'default', 'fred CAN getkey')] }, ['principal'], 'names principals'],
    [
      'resources',
      { roles: [makeRole('reader', 'default', 'CAN getkey /demo/users')] },
      ['not-resource'],
      'does not apply to /demo/keys/laptop.',
    ],
    [
      'a broken rule',
      { roles: [makeRole('reader', 'default', 'CAN a, getkey')] },
      ['broken-rule'],
      'cannot be read: the last entry of a list follows AND',
    ],
    [
      'each of two roles',
      { roles: [makeRole('a', 'default', 'CAN listkeys'), makeRole('b', 'default', 'CAN getkey')], resource: untagged },
      ['not-action', 'no-tag'],
      'Role a: none of its rules names the action getkey.',
    ],
  ];

  test.each(cases)('%s', (_name, changes, missing, expected) => {
    const { decision, words, missing: found } = ask(changes);
    expect(decision.allowed).toBe(false);
    expect(found).toEqual(missing);
    expect(words[0]).toMatch(/^Denied: fred may not \w+ \/demo\/keys/);
    expect(words.slice(1).join('\n')).toContain(expected);
  });

  test('the rule that came nearest is the one that is shown', () => {
    const role = makeRole('reader', 'default', 'CAN getkey WHEN day = mon', 'CAN NOT getkey', 'CAN getkey', 'CAN listkeys');
    expect(ask({ roles: [role], resource: untagged }).decision).toMatchObject({ reasons: [{ missing: 'no-tag', rule: 'CAN getkey' }] });
  });

  test('roles that are not active and would allow it are named', () => {
    const roles = [reader, makeRole('writer', 'member', 'CAN deletekey *'), makeRole('other', 'none', 'CAN deletekey *')];
    const { decision, words } = ask({ roles, action: 'deletekey' });
    expect(decision).toMatchObject({ allowed: false, inactive: ['writer'] });
    expect(words.at(-1)).toBe(
      'Role writer would allow it, but is not active: request it with --role writer, or simulate it with --with-role writer.',
    );
  });
});

test('roles are activated by default, by name, or all', () => {
  const roles = [makeRole('a', 'default'), makeRole('b', 'member'), makeRole('c', 'none')];
  const name = (named?: string[]) => {
    const { active, refused } = activateRoles(roles, named);
    return [active.map((role) => role.name), refused.map((role) => `${role.role} ${role.missing}`)];
  };
  expect(name()).toEqual([['a'], []]);
  expect(name(['b'])).toEqual([['b'], []]);
  expect(name(['b', 'b'])).toEqual([['b'], []]);
  expect(name(['*'])).toEqual([['a', 'b'], []]);
  expect(name(['b', 'c', 'd'])).toEqual([['b'], ['c not-member', 'd unknown-role']]);
});

test('more rules than are remembered are still decided rightly', () => {
  const rules = Array.from({ length: 2500 }, (_, index) => `CAN action${index}`);
  const roles = [makeRole('reader', 'default', ...rules)];
  for (const action of ['action0', 'action2499', 'action0']) expect(ask({ roles, action }).decision.allowed).toBe(true);
});

describe('a budget of steps', () => {
  const slow = '"/(a?){80}z/"';
  const context = { now: 0, userAgent: 'a'.repeat(2000) };
  const decideWithin = (left: number, ...rules: string[]) => {
    const budget = { left };
    return { ...ask({ roles: [makeRole('reader', 'default', ...rules)], context, budget }), budget };
  };

  test('that is used up denies, and asks no further rule or role, though one would allow', () => {
    const { decision, missing, words, budget } = decideWithin(10_000, `CAN getkey WHEN user-agent LIKE ${slow}`, 'CAN getkey');
    expect([decision.allowed, missing, budget.left < 0]).toEqual([false, ['too-complex'], true]);
    expect(words[1]).toContain('exceeds the step limit of a decision');
  });

  test.each([
    ['CAN getkey WHEN NOT user-agent LIKE', ''],
    ['CAN getkey WHEN day = 1 OR NOT user-agent LIKE', ''],
    ['CAN getkey WHEN user-agent LIKE', ' OR day = 4'],
  ])('that is used up makes no permission of %s ...%s', (before, after) => {
    expect(decideWithin(10_000, `${before} ${slow}${after}`).decision.allowed).toBe(false);
    // 1970-01-01 was a Thursday.
    expect(decideWithin(Infinity, `${before} ${slow}${after}`).decision.allowed).toBe(true);
  });

  test('counts what it takes to read rules for the first time, and to ask very many', () => {
    const long = `CAN getkey WHEN user-agent = ${'b'.repeat(3000)}`;
    expect(decideWithin(20_000, long).missing).toEqual(['too-complex']);
    const many = Array.from({ length: 300 }, (_, index) => `CAN a${index}`);
    expect(decideWithin(100_000, ...many).missing).toEqual(['not-action']);
    expect(decideWithin(2000, ...many).missing).toEqual(['too-complex']);
  });

  test('that suffices changes nothing', () => {
    const { decision, budget } = decideWithin(1_000_000, 'CAN getkey WHEN user-agent LIKE /^a+$/');
    expect([decision.allowed, budget.left > 900_000]).toEqual([true, true]);
  });
});
