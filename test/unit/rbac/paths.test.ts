import { describe, expect, test } from 'vitest';
import { listPaths, orderPackages, type Members } from '../../../src/rbac/paths.ts';

const print = '6e:de:22';
const members: Members = {
  users: [{ id: 'u1', name: 'jill' }],
  // The name of the second role is the id of the first.
  roles: [
    { id: 'r1', name: 'one' },
    { id: 'r2', name: 'r1' },
  ],
  policies: [{ id: 'p1', name: 'read keys' }],
  packages: orderPackages([
    { id: 'g9', name: 'small', version: '1.9.0' },
    { id: 'g10', name: 'small', version: '1.10.0' },
  ]),
  listKeys: (user) =>
    user === undefined
      ? [
          { id: print, name: 'bk' },
          { id: '7f:00:00', name: 'bk' },
        ]
      : [{ id: '8a:00:00', name: 'phone' }],
};

describe('the paths of a resource', () => {
  test.each([
    ['account', ['account']],
    ['keys', ['keys']],
    ['keys/bk', ['keys/bk', `keys/${print}`]],
    [`keys/${print.toUpperCase()}`, ['keys/bk', `keys/${print}`]],
    ['keys/7f:00:00', ['keys/7f:00:00']],
    ['keys/none', ['keys/none']],
    ['users/JILL', ['users/jill', 'users/u1']],
    ['users/u1/keys', ['users/jill/keys', 'users/u1/keys']],
    ['users/u1/keys/phone', ['jill', 'u1'].flatMap((user) => [`users/${user}/keys/phone`, `users/${user}/keys/8a:00:00`])],
    ['users/none/keys/phone', ['users/none/keys/phone']],
    ['roles/one', ['roles/one', 'roles/r1']],
    ['roles/r2', ['roles/r2']],
    ['roles/ONE', ['roles/ONE']],
    ['policies/p1', ['policies/read keys', 'policies/p1']],
    ['packages/small', ['packages/small', 'packages/g10']],
    ['packages/g9', ['packages/g9']],
    ['images/i1', ['images/i1']],
  ])('%s', (path, paths) => {
    expect(listPaths(path, members)).toEqual(paths);
  });
});
