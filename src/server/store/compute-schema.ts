import type { Generated } from 'kysely';

/** Rows of the compute service other than accounts: access control, instances, limits, creation of images. */

/** A role of an account. Names are unique in the account. */
export interface RoleRow {
  id: string;
  account: string;
  name: string;
  created: number;
}

/** A policy of a role; `position` is the order in which the policies were listed. Primary key (role, policy). */
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
  /** 1: the role is active for the member even if a request does not name it. */
  is_default: number;
  position: number;
}

/** A policy of an account. Names are unique in the account. */
export interface PolicyRow extends RoleRow {
  /** JSON array of rules, in order. */
  rules: string;
  description: string | null;
}

/** A role that a resource of the compute service is tagged with. Primary key (account, resource, role). */
export interface RoleTagRow {
  account: string;
  /** Path below the account, by what never changes: empty for the account itself, `keys`, `users/<id>/keys/<fingerprint>`. */
  resource: string;
  role: string;
  position: number;
}

/** The state of a compute object before a change, for reads that lag behind. */
export interface ChangeRow {
  sequence: Generated<number>;
  account: string;
  kind: 'user' | 'role' | 'policy';
  id: string;
  /** Milliseconds since the epoch. */
  at: number;
  /** JSON of what the service would have returned, or null if the object did not exist. */
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

/** An image that is being created from an instance. Primary key image. */
export interface ImageCreationRow {
  image: string;
  /** UUID of the job. */
  job: string;
  machine: string;
  /** When the creation is to be completed, milliseconds since the epoch. */
  due: number;
  /** Code of the error with which the creation will fail, or null. */
  fails: string | null;
}

/** A change that affects access, recorded in its transaction. Names are those at that moment: rows outlive what they name. */
export interface AuditRow {
  /** Order of the changes; concurrent changes are in any order. */
  sequence: Generated<number>;
  /** By the clock of the database. */
  at: Generated<Date>;
  /** Login of the changed account; null if the change affects no single account. */
  account: string | null;
  /** `alice`, `alice/bob` for a sub-user, `operator` for a command that ran on the database. */
  actor: string;
  /** Fingerprint of the key that signed. */
  key: string | null;
  /** Address of the client, or `USER@HOST` where the command of an operator ran. */
  address: string;
  /** Id of the request. */
  request: string | null;
  /** Name of the operation: `createKey`. */
  action: string;
  /** Path of the changed resource: `/alice/users/UUID`. */
  subject: string;
  /** JSON object: the state after the change, without secrets. */
  details: string;
}
