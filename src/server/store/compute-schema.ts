import type { Generated } from 'kysely';

/** Rows of the compute service beyond accounts: access control, instances, limits, the making of images. */

/** A role of an account. Names are unique in the account. */
export interface RoleRow {
  id: string;
  account: string;
  name: string;
  created: number;
}

/** A policy of a role; `position` keeps the order in which they were given. Primary key (role, policy). */
export interface RolePolicyRow {
  role: string;
  policy: string;
  position: number;
}

/** A member of a role: a sub-user, or another account. Primary key (role, member). */
export interface RoleMemberRow {
  role: string;
  type: 'subuser' | 'account';
  /** UUID of the sub-user or account. */
  member: string;
  /** 1: the member has the role active without asking for it. */
  is_default: number;
  position: number;
}

/** A policy of an account. Names are unique in the account. */
export interface PolicyRow {
  id: string;
  account: string;
  name: string;
  /** JSON array of rules, in order. */
  rules: string;
  description: string | null;
  created: number;
}

/** A role that a resource of the compute service is tagged with. Primary key (account, resource, role). */
export interface RoleTagRow {
  account: string;
  /** Below the account, by what never changes: empty for the account itself, `keys`, `users/<id>/keys/<fingerprint>`. */
  resource: string;
  role: string;
  position: number;
}

/** How an object of the compute service was before a change; for reads that lag behind. */
export interface ChangeRow {
  sequence: Generated<number>;
  account: string;
  kind: 'user' | 'role' | 'policy';
  id: string;
  /** Milliseconds since the epoch. */
  at: number;
  /** JSON of what the service would have shown, or null when it was not there. */
  before: string | null;
}

/** A provisioning limit of an account. */
export interface LimitRow {
  account: string;
  by: 'ram' | 'quota' | 'machines';
  value: number;
  check: 'image' | 'os' | null;
  os: string | null;
  image: string | null;
}

/** A sample instance. */
export interface MachineRow {
  id: string;
  account: string;
  name: string;
  brand: string;
  state: string;
  /** UUID. */
  image: string;
  os: string;
  /** MiB. */
  memory: number;
  disk: number;
  package: string;
  created: number;
}

/** An image that is being made of an instance. Primary key image. */
export interface ImageCreationRow {
  image: string;
  /** UUID of the job. */
  job: string;
  machine: string;
  /** When it is to be done, milliseconds since the epoch. */
  due: number;
  /** Code of the error in which it will end, or null. */
  fails: string | null;
}

/** Who changed what decides about access; a row in the transaction of the change. Names are those of that moment: rows outlive what they name. */
export interface AuditRow {
  /** In the order in which changes were made; those that were made at once, in any. */
  sequence: Generated<number>;
  /** Of the clock of the database. */
  at: Generated<Date>;
  /** Login of the account that was changed; null for what belongs to none. */
  account: string | null;
  /** `alice`, `alice/bob` for a sub-user, `operator` for a command on the database. */
  actor: string;
  /** Fingerprint of the key that signed. */
  key: string | null;
  /** Of the client, or `USER@HOST` where the command of an operator ran. */
  address: string;
  /** Id of the request. */
  request: string | null;
  /** Name of the operation: `createKey`. */
  action: string;
  /** Path of what was changed: `/alice/users/UUID`. */
  subject: string;
  /** JSON object: what it has now, without secrets. */
  details: string;
}
