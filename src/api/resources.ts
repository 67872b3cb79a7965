/** The resources of the compute management API (its section 2). Dates are ISO 8601 strings. */
import { any, boolean, choice, exactly, list, map, number, object, optional, orText, text, type TypeOf } from './fields.ts';

/** Address and contact fields that accounts and sub-users share. */
export const contactFields = {
  email: optional(text('E-mail address')),
  companyName: optional(text('Company')),
  firstName: optional(text('First name')),
  lastName: optional(text('Last name')),
  address: optional(text('Street address')),
  postalCode: optional(text('Postal code')),
  city: optional(text('City')),
  state: optional(text('State or province')),
  country: optional(text('Country')),
  phone: optional(text('Phone number')),
};

const identityFields = {
  id: text('UUID'),
  login: text('Login; cannot be changed for an account'),
  ...contactFields,
  email: text('E-mail address'),
  created: text('Time of creation'),
  updated: text('Time of the last change'),
};

export const account = object('An account', {
  ...identityFields,
  cloud_cns_enabled: optional(boolean('Whether the name service is enabled')),
});
export type Account = TypeOf<typeof account>;

export const user = object('A sub-user of an account', {
  ...identityFields,
  roles: optional(list('Names of the roles that have the user as a member; only with membership')),
  default_roles: optional(list('Names of the roles that are active by default; only with membership')),
});
export type User = TypeOf<typeof user>;

export const key = object('An SSH public key that signs requests', {
  name: text('Name; not unique'),
  fingerprint: text('MD5 fingerprint, colon-separated hexadecimal'),
  key: text('Public key in OpenSSH format'),
  attested: optional(boolean('Whether a hardware attestation exists')),
  multifactor: optional(list('Factors needed to use the key: pin, touch')),
});
export type Key = TypeOf<typeof key>;

export const rolePolicy = exactly(object('A policy of a role', { id: optional(text('UUID')), name: optional(text('Name')) }));
export const roleMember = exactly(
  object('A member of a role', {
    type: optional(choice('Kind of member', ['subuser', 'account'])),
    id: optional(text('UUID')),
    login: optional(text('Login')),
    default: optional(exactly(boolean('Whether the role is active by default for the member'))),
  }),
);
export type RoleMember = TypeOf<typeof roleMember>;

export const role = object('A role: members and the policies they get', {
  id: text('UUID'),
  name: text('Name'),
  policies: optional(list('Policies', orText(rolePolicy))),
  members: optional(list('Members', orText(roleMember))),
});
export type Role = TypeOf<typeof role>;

export const policy = object('A policy: rules of the access-policy language', {
  id: text('UUID'),
  name: text('Name'),
  rules: list('Rules: CAN <actions> WHEN <conditions>'),
  description: optional(text('Description')),
});
export type Policy = TypeOf<typeof policy>;

export const roleTags = object('The role tags of a resource', {
  name: text('Path of the resource'),
  'role-tag': list('Names of the roles'),
});

export const limit = object('A provisioning limit', {
  by: choice('What is limited: ram in MiB, quota in GiB, machines by number', ['ram', 'quota', 'machines']),
  value: number('The limit; 0 is unlimited, -1 allows nothing'),
  used: number('Usage of existing instances, in the same unit'),
  check: optional(choice('Restriction of the limit to an image or operating system', ['image', 'os'])),
  os: optional(text('Operating system, when check is os')),
  image: optional(text('Image name, when check is image')),
});
export type Limit = TypeOf<typeof limit>;

export const config = object('Settings of an account', {
  default_network: optional(text('UUID of the network used for containers')),
});
export type Config = TypeOf<typeof config>;

/** The states of an image. */
export const imageStates = ['active', 'unactivated', 'disabled', 'creating', 'failed'] as const;

export const image = object('An image', {
  id: text('UUID'),
  name: text('Name'),
  version: text('Version'),
  os: text('Operating system'),
  type: text('Kind: zone-dataset, lx-dataset, zvol, other'),
  description: optional(text('Description')),
  requirements: optional(map('Requirements of instances that use the image')),
  homepage: optional(text('URL of the home page')),
  files: optional(
    list(
      'The image file',
      object('An image file', {
        compression: text('bzip2, gzip, none'),
        sha1: text('SHA-1 in hexadecimal'),
        size: number('Size in bytes'),
      }),
    ),
  ),
  published_at: optional(text('Time of publication')),
  owner: text('UUID of the owner'),
  public: boolean('Whether every account may use the image'),
  state: choice('State', imageStates),
  tags: optional(map('Tags')),
  eula: optional(text('URL of the licence')),
  acl: optional(list('UUIDs of the accounts that may use a private image')),
  origin: optional(text('UUID of the image that an incremental image builds on')),
  error: optional(object('Why the creation failed', { code: text('Code'), message: text('Message') })),
});
export type Image = TypeOf<typeof image>;

export const pkg = object('A package: the size of an instance', {
  id: text('UUID'),
  name: text('Name'),
  memory: number('Memory in MiB'),
  disk: number('Disk in MiB'),
  swap: number('Swap in MiB'),
  lwps: number('Maximum number of lightweight processes'),
  vcpus: number('Virtual processors'),
  version: optional(text('Version')),
  group: optional(text('Group')),
  description: optional(text('Description')),
  disks: optional(list('Disks of a flexible-disk package', any('Disk'))),
  flexible_disk: optional(boolean('Whether the disk space can be divided freely (bhyve)')),
  brand: optional(text('Brand of the instances')),
  default: optional(boolean('Deprecated')),
});
export type Package = TypeOf<typeof pkg>;

export const datacenters = map('URL of each datacenter by name');
export const services = map('URL of each service by name');
export const errorBody = object('An error', { code: text('Code'), message: text('Message') });

export const storageLocation = object('Location of an exported image', {
  storage_url: text('URL of the storage service'),
  image_path: text('Path of the image file'),
  manifest_path: text('Path of the manifest'),
});

export const pong = object('The response to ping', {
  ping: text('pong'),
  cloudapi: optional(object('The compute service', { versions: list('API versions served') })),
});
