import type { KeyDocument, PolicyDocument, RoleDocument, UserDocument } from './document.ts';

/** One field of a change. */
export interface Difference {
  field: string;
  from?: unknown;
  to?: unknown;
}

/** The operation that makes a change. Existing users, policies and roles are referred to by id. */
export type Step =
  | { do: 'createUser'; user: UserDocument }
  | { do: 'updateUser'; id: string; fields: Record<string, string> }
  | { do: 'deleteUser'; id: string }
  /** `id` is absent for a user that an earlier step creates. */
  | { do: 'createKey'; login: string; id?: string; key: KeyDocument }
  /** `returns`: a later step registers the key again, which restores its role tags. */
  | { do: 'deleteKey'; login: string; id: string; fingerprint: string; returns?: true }
  | { do: 'createPolicy'; policy: PolicyDocument }
  | { do: 'updatePolicy'; id: string; fields: Partial<Pick<PolicyDocument, 'name' | 'rules' | 'description'>> }
  | { do: 'deletePolicy'; id: string }
  | { do: 'createRole'; role: RoleDocument }
  | { do: 'updateRole'; id: string; fields: Partial<Omit<RoleDocument, 'id'>> }
  | { do: 'deleteRole'; id: string }
  | { do: 'setTags'; path: string; roles: string[] };

export type ChangeKind = 'user' | 'key' | 'policy' | 'role' | 'tags';

/** A difference between a document and an account, with the step that removes it. */
export interface Change {
  action: 'create' | 'update' | 'delete';
  kind: ChangeKind;
  /** Display name: `alice`, `alice/laptop`, `keys`. */
  name: string;
  differences: Difference[];
  step: Step;
}

/** Differences between the fields that a document mentions and the existing values. */
export function compareFields(wanted: Readonly<Record<string, unknown>>, is: Readonly<Record<string, unknown>>): Difference[] {
  return Object.entries(wanted)
    .filter(([, to]) => to !== undefined)
    .map(([field, to]) => ({ field, from: is[field], to }))
    .filter(({ from, to }) => JSON.stringify(from ?? '') !== JSON.stringify(to));
}
