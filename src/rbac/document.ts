/** The access control of an account as one document. The reader, the JSON schema and the export are derived from these fields. */
import { contactFields } from '../api/resources.ts';
import { choice, list, map, object, optional, text, type Infer } from '../api/fields.ts';

const id = optional(text('UUID; with it a changed name is a renaming'));

export const keyDocument = {
  name: optional(text('Name; default: the fingerprint')),
  key: text('Public key in OpenSSH format'),
};

export const userDocument = {
  id,
  login: text('Login, unique within the account'),
  ...contactFields,
  email: text('E-mail address'),
  password: optional(text('For a new user: $NAME, the environment variable that holds the password; asked for when absent')),
  keys: optional(list('SSH keys; left alone when absent', object('A key', keyDocument))),
};

export const policyDocument = {
  id,
  name: text('Name'),
  description: optional(text('Description')),
  rules: list('Rules of the access-policy language: CAN <actions> WHEN <conditions>'),
};

export const roleDocument = {
  id,
  name: text('Name'),
  default_members: optional(list('Logins of those who have the role active by default; account:LOGIN for another account')),
  members: optional(list('Logins of those who have the role when they ask for it; account:LOGIN for another account')),
  policies: optional(list('Names of the policies that its members get')),
};

export const document = {
  version: choice('Version of this format', ['1']),
  account: optional(text('Login of the account that it was exported from; says nothing about where it is applied')),
  users: optional(list('Sub-users', object('A sub-user', userDocument))),
  policies: optional(list('Policies', object('A policy', policyDocument))),
  roles: optional(list('Roles', object('A role', roleDocument))),
  tags: optional(map('Role tags: path below the account, such as keys or images/UUID, to a list of role names')),
  trees: optional(
    map(
      'Role tags of whole trees: path of a collection, or of a directory such as stor/photos, to a list of role names for it and everything in it; entries of tags and of deeper trees come first',
    ),
  ),
};

export type KeyDocument = Infer<typeof keyDocument>;
export type UserDocument = Infer<typeof userDocument>;
export type PolicyDocument = Infer<typeof policyDocument>;
export type RoleDocument = Infer<typeof roleDocument>;

/** The whole document. An absent part is ignored; an empty part means that the account has no entries of that kind. */
export interface RbacDocument extends Omit<Infer<typeof document>, 'tags' | 'trees'> {
  /** Role names by path below the account: `keys`, `users/alice`; `account` is the account itself. */
  tags?: Record<string, string[]> | undefined;
  /** Role names by path of a tree: `users`, `stor/photos`. The deepest tree that contains a resource applies. */
  trees?: Record<string, string[]> | undefined;
}
