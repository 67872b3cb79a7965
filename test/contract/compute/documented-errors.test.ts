import { beforeAll, describe, expect, test } from 'vitest';
import { compute } from '../../../src/api/compute.ts';
import type { Operation } from '../../../src/api/operation.ts';
import { useQuickPasswords } from '../../support/quick-crypto.ts';
import { createEcdsaKey } from '../../support/service.ts';
import { machineOf, operatorImage, second, useImages } from './image-service.ts';

/**
 * Every error that section 4 of the compute document names at an operation, provoked by a plain signed request over HTTP. What it says of all of them
 * (a named object that does not exist, a parameter that is missing, a request that is not signed) is derived from the operations.
 */

type Name = keyof typeof compute;

/** Errors of operations beyond those of all, as the document's tables have them. */
const documented: Partial<Record<Name, readonly string[]>> = {
  createKey: ['InvalidArgument'],
  createUserKey: ['InvalidArgument'],
  createUser: ['InvalidArgument'],
  updateUser: ['InvalidArgument'],
  changeUserPassword: ['InvalidArgument'],
  createRole: ['InvalidArgument'],
  updateRole: ['InvalidArgument'],
  setRoleTags: ['InvalidArgument', 'ResourceNotFound'],
  getDatacenter: ['ResourceMoved'],
  createImageFromMachine: ['InsufficientServerVersionError', 'NotAvailable'],
  importImageFromDatacenter: ['ImageUuidAlreadyExistsError', 'UnauthorizedError', 'OriginIsNotActiveError'],
  cloneImage: ['NotImageOwnerError', 'ImageNotShared'],
  // "caller must own the image": the codes are those of compute-decisions.
  deleteImage: ['NotAuthorized'],
  exportImage: ['NotImageOwnerError'],
};

/** How one is provoked. `:role` and the like stand for what there is. */
interface Case {
  readonly name: Name;
  readonly code: string;
  readonly status: number;
  readonly target: string;
  readonly json?: object;
  readonly asOther?: boolean;
}

const nobody = '0f8fad5b-d9cb-469f-a165-70867728950e';
const image = { name: 'a', version: '1' };

const cases: readonly Case[] = [
  { name: 'createKey', code: 'InvalidArgument', status: 409, target: '/my/keys', json: { key: 'nonsense' } },
  { name: 'createKey', code: 'InvalidArgument', status: 409, target: '/my/keys', json: { key: createEcdsaKey().line, name: 'a/b' } },
  { name: 'createUserKey', code: 'InvalidArgument', status: 409, target: '/my/users/alice/keys', json: { key: 'nonsense' } },
  {
    name: 'createUser',
    code: 'InvalidArgument',
    status: 409,
    target: '/my/users',
    json: { login: 'ALICE', email: 'a@b.cd', password: 'open sesame 1' },
  },
  { name: 'updateUser', code: 'InvalidArgument', status: 409, target: '/my/users/:user', json: { email: 'nobody' } },
  {
    name: 'changeUserPassword',
    code: 'InvalidArgument',
    status: 409,
    target: '/my/users/alice/change_password',
    json: { password: 'open sesame 1', password_confirmation: 'open sesame 2' },
  },
  {
    name: 'createRole',
    code: 'InvalidArgument',
    status: 409,
    target: '/my/roles',
    json: { name: 'x', members: [{ type: 'subuser', login: 'nobody' }] },
  },
  { name: 'createRole', code: 'InvalidArgument', status: 409, target: '/my/roles', json: { name: 'x', policies: [{ name: 'none' }] } },
  {
    name: 'updateRole',
    code: 'InvalidArgument',
    status: 409,
    target: '/my/roles/dev',
    json: { members: [{ type: 'subuser', id: nobody }] },
  },
  { name: 'setRoleTags', code: 'InvalidArgument', status: 409, target: '/my/kees', json: { 'role-tag': ['dev'] } },
  { name: 'setRoleTags', code: 'ResourceNotFound', status: 404, target: '/my/keys/none', json: { 'role-tag': ['dev'] } },
  { name: 'getDatacenter', code: 'ResourceMoved', status: 302, target: '/my/datacenters/east-1' },
  {
    name: 'createImageFromMachine',
    code: 'InsufficientServerVersionError',
    status: 422,
    target: '/my/images',
    json: { ...image, machine: machineOf(7) },
  },
  { name: 'createImageFromMachine', code: 'NotAvailable', status: 501, target: '/my/images', json: { ...image, machine: machineOf(8) } },
  ...(
    [
      ['ImageUuidAlreadyExistsError', 409, 1],
      ['OriginIsNotActiveError', 422, 5],
      ['UnauthorizedError', 403, 6],
    ] as const
  ).map(([code, status, number]): Case => {
    const target = `/my/images?action=import-from-datacenter&datacenter=east-1-2&id=${second(number)}`;
    return { name: 'importImageFromDatacenter', code, status, target };
  }),
  { name: 'cloneImage', code: 'ImageNotShared', status: 422, target: `/my/images/${operatorImage}?action=clone` },
  { name: 'cloneImage', code: 'NotImageOwnerError', status: 422, target: `/my/images/${second(2)}?action=clone`, asOther: true },
  { name: 'deleteImage', code: 'NotAuthorized', status: 403, target: `/my/images/${operatorImage}` },
  {
    name: 'exportImage',
    code: 'NotImageOwnerError',
    status: 422,
    target: `/my/images/${operatorImage}?action=export`,
    json: { storage_path: '/demo/stor' },
  },
];

useQuickPasswords();
const images = useImages();
let userId = '';

beforeAll(async () => {
  const { service } = images;
  const user = { login: 'alice', email: 'a@example.com', password: 'open sesame 1' };
  userId = ((await service.compute('POST', '/my/users', { json: user })).json as { id: string }).id;
  await service.compute('POST', '/my/roles', { json: { name: 'dev' } });
  await service.compute('POST', `/my/images?action=import-from-datacenter&datacenter=east-1-2&id=${second(3)}`);
});

/** What stands in a path for an input of it that exists. */
const existing: Readonly<Record<string, string>> = { account: 'my', user: 'alice', role: 'dev', id: operatorImage, resource: 'my/keys' };

/** The target of a request, with some inputs of its path replaced. */
function targetOf({ path, when }: Operation, given: Readonly<Record<string, string>> = {}): string {
  const filled = path.replaceAll(/[:*](\w+)/g, (_, name: string) => given[name] ?? existing[name] ?? nobody);
  const search = new URLSearchParams({ ...when.query }).toString();
  return search === '' ? filled : `${filled}?${search}`;
}

const all = Object.entries(compute) as [Name, Operation][];
const inputsOf = ({ path }: Operation): string[] => [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
/** A body that has all that must be there, whatever it says. */
const bodyOf = ({ fields }: Operation): object =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, { optional }]) => !optional)
      .map(([name, { kind }]) => [name, kind === 'list' ? [] : 'x']),
  );
const requiredOf = ({ fields }: Operation): string[] => Object.keys(fields).filter((name) => fields[name]?.optional === false);

test('no documented error is missing here', () => {
  const provoked = new Set(cases.map(({ name, code }) => `${name} ${code}`));
  const wanted = Object.entries(documented).flatMap(([name, codes]) => codes.map((code) => `${name} ${code}`));
  expect([...provoked].toSorted()).toEqual(wanted.toSorted());
});

describe('errors of single operations', () => {
  beforeAll(async () => {
    // A shared image that is incremental, and whose origin somebody else owns: a clone of it is refused.
    const { service } = images;
    await service.store.write(async (transaction) => {
      await transaction
        .updateTable('images')
        .set({ acl: JSON.stringify([service.other.id]) })
        .where('id', '=', second(2))
        .execute();
      await transaction.updateTable('images').set({ owner: nobody }).where('id', '=', second(1)).execute();
    });
  });

  test.each(cases)('$name: $status $code', async ({ name, code, status, target, json, asOther = false }) => {
    const { method } = compute[name];
    const filled = target.replace(':user', userId);
    const response = asOther
      ? await images.askAsOther(method, filled, json)
      : await images.service.compute(method, filled, { ...(json && { json }) });
    expect(response).toMatchObject({ status, code });
    expect((response.json as { message: string }).message).not.toBe('');
  });
});

test.each(all)('%s: not signed', async (_, operation) => {
  const response = await images.service.compute(operation.method, targetOf(operation), { signing: false });
  expect(response).toMatchObject({ status: 401, code: 'InvalidCredentials' });
});

test.each(all.filter(([, { path }]) => path !== '/--ping' && path !== '/*resource'))(
  '%s: an account that does not exist',
  async (_, operation) => {
    const response = await images.service.compute(operation.method, targetOf(operation, { account: 'nobody' }), {
      json: bodyOf(operation),
    });
    expect(response).toMatchObject({ status: 404, code: 'ResourceNotFound' });
  },
);

const withMember = all.flatMap(([name, operation]) =>
  inputsOf(operation)
    .filter((input) => input !== 'account')
    .map((input) => [name, input, operation] as const),
);

test.each(withMember)('%s: a %s that does not exist', async (_, input, operation) => {
  const response = await images.service.compute(operation.method, targetOf(operation, { [input]: nobody }), {
    ...(operation.method !== 'GET' && { json: bodyOf(operation) }),
  });
  expect(response).toMatchObject({ status: 404, code: 'ResourceNotFound' });
});

test.each(all.filter(([, operation]) => requiredOf(operation).length > 0))('%s: parameters that are missing', async (_, operation) => {
  const response = await images.service.compute(operation.method, targetOf(operation), { json: {} });
  expect(response).toMatchObject({ status: 409, code: 'MissingParameter' });
  for (const name of requiredOf(operation)) expect(response.text).toContain(name);
});
