import type { At } from '../at.ts';
import { makeTemporaryKey, type TemporaryKey } from '../../rsa-key.ts';
import { listOf, objectOf, type Json, type Response } from '../response.ts';
import { findWrongField, type Shape } from '../shape.ts';

/** Resources of the compute service that several checks need. */

export const missing = { status: 404, code: 'ResourceNotFound' };
export const lacking = { status: 409, code: 'MissingParameter' };
export const invalid = { status: 409, code: ['InvalidArgument', 'InvalidParameter'] };

/** An id that no resource has. */
export const nobody = '4ef0ff4c-0a6f-4a9c-b0b5-2d5b9d5f0c53';

/** A random password that the rules for passwords allow. */
export function makePassword(at: At): string {
  return `p4ss-${at.run}-${Math.random().toString(36).slice(2)}`;
}

export const makeKeyPair = async (): Promise<TemporaryKey> => makeTemporaryKey();

/** A key pair that the account has only during a check. */
export const makeOtherPair = async (): Promise<TemporaryKey> => makeTemporaryKey();

/** A key of the account, used by checks that sign their requests themselves. */
export async function makeKey(at: At): Promise<Json> {
  const { openssh } = await at.need(makeKeyPair);
  return objectOf(at.expect(await at.compute('POST', '/my/keys', { json: { name: `${at.run}-k`, key: openssh } }), { status: 201 }));
}

export async function createUser(at: At, suffix: string): Promise<Json> {
  const json = { login: `${at.run}-${suffix}`, email: `${suffix}@example.com`, password: makePassword(at) };
  return objectOf(at.expect(await at.compute('POST', '/my/users', { json }), { status: 201 }));
}

export async function makeUser(at: At): Promise<Json> {
  return createUser(at, 'u');
}

/** A policy that only allows listing keys and reading objects. */
export async function makePolicy(at: At): Promise<Json> {
  const json = { name: `${at.run}-p`, rules: ['CAN listkeys', 'CAN getobject'], description: 'of a check' };
  return objectOf(at.expect(await at.compute('POST', '/my/policies', { json }), { status: 201 }));
}

/** A role with the policy of `makePolicy` and the sub-user, for whom it is active by default. */
export async function makeRole(at: At): Promise<Json> {
  const [user, policy] = [await at.need(makeUser), await at.need(makePolicy)];
  const json = {
    name: `${at.run}-r`,
    policies: [{ id: policy['id'] }],
    members: [{ type: 'subuser', id: user['id'], default: true }],
  };
  const headers = { 'accept-version': '~9' };
  return objectOf(at.expect(await at.compute('POST', '/my/roles', { json, headers }), { status: 201 }));
}

/** The key of the sub-user: the pair of `makeKey`, which the account has too. */
export async function makeUserKey(at: At): Promise<Json> {
  const [{ openssh }, { id }] = [await at.need(makeKeyPair), await at.need(makeUser)];
  const json = { name: `${at.run}-uk`, key: openssh };
  return objectOf(at.expect(await at.compute('POST', `/my/users/${String(id)}/keys`, { json }), { status: 201 }));
}

export function idOf(record: Json): string {
  return String(record['id']);
}

/** Repeats a GET until it returns what was written: replicated data may lag (section 1, rule 6). */
export async function readWritten(at: At, path: string, isThere: (record: Json) => boolean = () => true): Promise<Response> {
  return at.until(`${path} shows the change`, async () => {
    const response = await at.compute('GET', path);
    if (response.status === 404) return undefined;
    at.expect(response, { status: 200 });
    return isThere(objectOf(response)) ? response : undefined;
  });
}

/** Repeats a request while its response has one of these statuses: replicated data may lag. */
export async function askUntilOther(at: At, what: string, statuses: readonly number[], ask: () => Promise<Response>): Promise<Response> {
  return at.until(what, async () => {
    const response = await ask();
    return statuses.includes(response.status) ? undefined : response;
  });
}

/** Waits until a deleted resource is no longer found. */
export async function assertGone(at: At, path: string): Promise<void> {
  await at.until(`${path} is gone`, async () =>
    at.expect(await at.compute('GET', path), { status: [200, 404] }).status === 404 ? true : undefined,
  );
}

/** Deletes a resource once reads show it, and waits until it is no longer found. */
export async function remove(at: At, path: string): Promise<void> {
  await readWritten(at, path);
  at.expect(await at.compute('DELETE', path), { status: 204, empty: true });
  await assertGone(at, path);
}

/** Reads a list of resources. */
export async function list(at: At, path: string, query: Readonly<Record<string, string>> = {}): Promise<readonly Json[]> {
  return listOf(at.expect(await at.compute('GET', path, { query }), { status: 200 }));
}

export function assertShape(at: At, records: readonly Json[], required: Shape, others: Shape = {}): void {
  for (const record of records) {
    const wrong = findWrongField(record, required, others);
    at.assert(wrong === undefined, `${wrong ?? ''} in ${JSON.stringify(record).slice(0, 200)}`);
  }
}
