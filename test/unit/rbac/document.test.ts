import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { matchEntries, orderRenamings } from '../../../src/rbac/match.ts';
import { readResource } from '../../../src/lookup/resource.ts';
import { readRole, writeRole } from '../../../src/lookup/role.ts';
import { describeDocument } from '../../../src/rbac/schema.ts';
import { readMoment } from '../../../src/commands/policies/question.ts';

test('the JSON schema in the repository is the one that the program prints: cloud rbac schema > src/commands/rbac/schema.json', () => {
  const file = new URL('../../../src/commands/rbac/schema.json', import.meta.url);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(describeDocument());
});

describe('roles', () => {
  const current = {
    id: '1',
    name: 'dev',
    members: [
      { type: 'subuser', id: 'a', login: 'alice', default: true },
      { type: 'subuser', id: 'b', login: 'bob' },
    ],
    policies: [{ id: 'p', name: 'read' }],
  };
  const old = { id: '1', name: 'dev', members: ['alice', 'bob'], default_members: ['alice'], policies: ['read'] };

  test('are read from both forms', () => {
    const logins = (value: unknown) => readRole(value).members.map(({ login, default: isDefault }) => [login, isDefault]);
    expect(logins(old)).toEqual(logins(current));
    expect(readRole({ id: '1', name: 'bare' })).toEqual({ id: '1', name: 'bare', members: [], default_members: [], policies: [] });
  });

  test('are written in the form of the service', () => {
    const { members } = readRole(old);
    expect(writeRole({ members, policies: ['read'] }, true)).toEqual({
      members: ['alice', 'bob'],
      default_members: ['alice'],
      policies: ['read'],
    });
    expect(writeRole({ members: readRole(current).members }, false)).toEqual({
      members: [
        { type: 'subuser', id: 'a', default: true },
        { type: 'subuser', id: 'b', default: false },
      ],
    });
  });
});

describe('renamings', () => {
  const keep = (name: string): string => name;
  const existing = ['a', 'b', 'c'].map((name) => ({ id: `id-${name}`, name }));
  const order = (wanted: { id?: string; name: string }[], prune = false) => {
    const { pairs, rest } = matchEntries(wanted, existing, keep);
    return orderRenamings(pairs, { noun: 'role', fold: keep, prune, rest, passage: ({ id }) => `moving-${id}` });
  };

  test('wait for the name that they take', () => {
    const { pairs, detours } = order([
      { id: 'id-a', name: 'b' },
      { id: 'id-b', name: 'c' },
      { id: 'id-c', name: 'd' },
    ]);
    expect([pairs.map(({ wanted }) => wanted.name), detours]).toEqual([['d', 'c', 'b'], []]);
  });

  test('in a ring take a detour', () => {
    const { pairs, detours } = order([
      { id: 'id-a', name: 'b' },
      { id: 'id-b', name: 'a' },
    ]);
    expect(detours).toEqual([{ existing: existing[0], name: 'moving-id-a' }]);
    expect(pairs.map(({ wanted }) => wanted.name)).toEqual(['a', 'b']);
  });

  test('to a name that something else keeps are refused, unless that is deleted', () => {
    expect(() => order([{ id: 'id-a', name: 'b' }])).toThrow('role "b" has another id in the account: id-b');
    expect(order([{ id: 'id-a', name: 'b' }], true).evicted).toEqual([existing[1]]);
  });
});

test('paths of resources have one form', () => {
  for (const word of ['keys/laptop', '/my/keys/laptop', '/demo/keys/laptop']) {
    expect(readResource(word, 'demo')).toEqual({ path: 'keys/laptop', kind: 'member' });
  }
  for (const word of ['account', '/my', '/demo/']) expect(readResource(word, 'demo')).toEqual({ path: 'account', kind: 'account' });
  expect(readResource('users/alice/keys', 'demo').kind).toBe('collection');
});

test('moments are dates, times of today and days of this week', () => {
  const now = Date.parse('2024-05-29T15:00:00Z');
  const read = (text: string): string => new Date(readMoment(text, now)).toISOString();
  expect(read('2024-01-02T03:04Z')).toBe('2024-01-02T03:04:00.000Z');
  expect(read('09:30')).toBe('2024-05-29T09:30:00.000Z');
  expect(read('monday 08:00')).toBe('2024-05-27T08:00:00.000Z');
  expect(read('sun')).toBe('2024-06-02T12:00:00.000Z');
  expect(() => read('soon')).toThrow('--at: "soon" is not a time');
});
