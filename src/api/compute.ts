/** All operations of the compute management API (its section 4). */
import { boolean, list, map, number, optional, query, text } from './fields.ts';
import { operation, operations } from './operation.ts';
import * as r from './resources.ts';

const keyInput = {
  key: text('Public key in OpenSSH format'),
  name: optional(text('Name; default: the fingerprint')),
  attestation: optional(list('Attestation certificates, PEM')),
};
const roleInput = {
  policies: optional(list('Policies, each by id or name', r.rolePolicy)),
  members: optional(list('Members, each by id or login', r.roleMember)),
  default_members: optional(list('Logins of the members that have the role active by default; API version 8 only')),
};
const imageInput = {
  description: optional(text('Description')),
  homepage: optional(text('URL of the home page')),
  eula: optional(text('URL of the licence')),
  acl: optional(list('UUIDs of the accounts that may use the image')),
  tags: optional(map('Tags')),
};

export const compute = operations('compute', {
  ping: operation('GET /--ping', { summary: 'Whether the service responds, and its API versions', resource: 'none' }).returning(r.pong),

  getAccount: operation('GET /:account', { summary: 'The account' }).returning(r.account),
  updateAccount: operation('POST /:account', {
    summary: 'Changes fields of the account',
    fields: { ...r.contactFields, cloud_cns_enabled: optional(boolean('Whether the name service is enabled')) },
    idempotent: true,
  }).returning(r.account),
  getAccountLimits: operation('GET /:account/limits', { summary: 'The provisioning limits', resource: 'account' }).returning(
    list('Limits', r.limit),
  ),
  getConfig: operation('GET /:account/config', { summary: 'The settings', resource: 'account' }).returning(r.config),
  updateConfig: operation('PUT /:account/config', {
    summary: 'Changes the settings',
    fields: { default_network: text('UUID of the network used for containers') },
    resource: 'account',
  }).returning(r.config),

  listKeys: operation('GET /:account/keys', { summary: 'The SSH keys of the account' }).returning(list('Keys', r.key)),
  getKey: operation('GET /:account/keys/:key', { summary: 'One key, by name or fingerprint' }).returning(r.key),
  createKey: operation('POST /:account/keys', { summary: 'Registers a key', fields: keyInput, status: 201 }).returning(r.key),
  deleteKey: operation('DELETE /:account/keys/:key', { summary: 'Removes a key' }).answering(),
  listUserKeys: operation('GET /:account/users/:user/keys', { summary: 'The SSH keys of a sub-user' }).returning(list('Keys', r.key)),
  getUserKey: operation('GET /:account/users/:user/keys/:key', { summary: 'One key of a sub-user' }).returning(r.key),
  createUserKey: operation('POST /:account/users/:user/keys', {
    summary: 'Registers a key of a sub-user',
    fields: keyInput,
    status: 201,
  }).returning(r.key),
  deleteUserKey: operation('DELETE /:account/users/:user/keys/:key', { summary: 'Removes a key of a sub-user' }).answering(),

  listUsers: operation('GET /:account/users', { summary: 'The sub-users' }).returning(list('Users', r.user)),
  getUser: operation('GET /:account/users/:user', {
    summary: 'One sub-user, by login or id',
    fields: { membership: optional(boolean('Include roles and default_roles')) },
  }).returning(r.user),
  createUser: operation('POST /:account/users', {
    summary: 'Creates a sub-user',
    fields: {
      ...r.contactFields,
      email: text('E-mail address'),
      login: text('Login, unique within the account'),
      password: text('Password'),
    },
    status: 201,
  }).returning(r.user),
  updateUser: operation('POST /:account/users/:user', {
    summary: 'Changes fields of a sub-user, by id',
    fields: { ...r.contactFields, login: optional(text('Login, unique within the account')) },
    idempotent: true,
  }).returning(r.user),
  changeUserPassword: operation('POST /:account/users/:user/change_password', {
    summary: 'Changes the password of a sub-user',
    fields: { password: text('New password'), password_confirmation: text('The new password again') },
    idempotent: true,
    resource: 'parent',
  }).returning(r.user),
  deleteUser: operation('DELETE /:account/users/:user', { summary: 'Deletes a sub-user' }).answering(),

  listRoles: operation('GET /:account/roles', { summary: 'The roles' }).returning(list('Roles', r.role)),
  getRole: operation('GET /:account/roles/:role', { summary: 'One role, by id or name' }).returning(r.role),
  createRole: operation('POST /:account/roles', {
    summary: 'Creates a role',
    fields: { name: text('Name'), ...roleInput },
    status: 201,
  }).returning(r.role),
  updateRole: operation('POST /:account/roles/:role', {
    summary: 'Changes a role; lists are replaced as a whole',
    fields: { name: optional(text('Name')), ...roleInput },
    idempotent: true,
  }).returning(r.role),
  deleteRole: operation('DELETE /:account/roles/:role', { summary: 'Deletes a role, by id' }).answering(),
  setRoleTags: operation('PUT /*resource', {
    summary: 'Replaces the role tags of a resource',
    fields: { 'role-tag': optional(list('Names of the roles')) },
    resource: 'input',
  }).returning(r.roleTags),

  listPolicies: operation('GET /:account/policies', { summary: 'The policies' }).returning(list('Policies', r.policy)),
  getPolicy: operation('GET /:account/policies/:policy', { summary: 'One policy, by id' }).returning(r.policy),
  createPolicy: operation('POST /:account/policies', {
    summary: 'Creates a policy',
    fields: { name: text('Name'), rules: list('Rules of the access-policy language'), description: optional(text('Description')) },
    status: 201,
  }).returning(r.policy),
  updatePolicy: operation('POST /:account/policies/:policy', {
    summary: 'Changes a policy; the list of rules is replaced as a whole',
    fields: { name: optional(text('Name')), rules: optional(list('Rules')), description: optional(text('Description')) },
    idempotent: true,
  }).returning(r.policy),
  deletePolicy: operation('DELETE /:account/policies/:policy', { summary: 'Deletes a policy, by id' }).answering(),

  listDatacenters: operation('GET /:account/datacenters', { summary: 'The datacenters of the cloud' }).returning(r.datacenters),
  getDatacenter: operation('GET /:account/datacenters/:name', {
    summary: 'The URL of a datacenter, as a redirect that clients do not follow',
    status: 302,
  }).returning(r.errorBody),
  listServices: operation('GET /:account/services', { summary: 'The services of the cloud' }).returning(r.services),

  listImages: operation('GET /:account/images', {
    summary: 'The images; only active ones unless state says otherwise',
    fields: {
      name: optional(text('Name')),
      os: optional(text('Operating system')),
      version: optional(text('Version')),
      public: optional(boolean('Visibility: public, or private with --no-public')),
      state: optional(text('State; all for every state')),
      owner: optional(text('UUID of the owner')),
      type: optional(text('Type of image')),
    },
  }).returning(list('Images', r.image)),
  getImage: operation('GET /:account/images/:id', { summary: 'One image' }).returning(r.image),
  deleteImage: operation('DELETE /:account/images/:id', { summary: 'Deletes an image of the account' }).answering(),
  exportImage: operation('POST /:account/images/:id?action=export', {
    summary: 'Writes an image into the object storage',
    fields: { storage_path: text('Path prefix in the object storage') },
  }).returning(r.storageLocation),
  createImageFromMachine: operation('POST /:account/images', {
    summary: 'Creates an image from a prepared and stopped instance',
    fields: { machine: text('UUID of the instance'), name: text('Name'), version: text('Version'), ...imageInput },
    status: 201,
  }).returning(r.image),
  importImageFromDatacenter: operation('POST /:account/images?action=import-from-datacenter', {
    summary: 'Copies an image with its origins from another datacenter',
    fields: { datacenter: query(text('Name of the datacenter')), id: query(text('UUID of the image')) },
    status: 201,
  }).returning(r.image),
  updateImage: operation('POST /:account/images/:id?action=update', {
    summary: 'Changes fields of an image',
    fields: { name: optional(text('Name')), version: optional(text('Version')), ...imageInput },
    idempotent: true,
  }).returning(r.image),
  cloneImage: operation('POST /:account/images/:id?action=clone', {
    summary: 'Copies a shared image into the account',
    creates: true,
  }).returning(r.image),

  listPackages: operation('GET /:account/packages', {
    summary: 'The packages; all given filters must match',
    fields: {
      name: optional(text('Name; * matches anything')),
      version: optional(text('Version; * matches anything')),
      group: optional(text('Group; * matches anything')),
      memory: optional(number('Memory in MiB')),
      disk: optional(number('Disk in MiB')),
      swap: optional(number('Swap in MiB')),
      lwps: optional(number('Maximum number of lightweight processes')),
      vcpus: optional(number('Number of vCPUs')),
      flexible_disk: optional(boolean('Flexible disk space; --no-flexible-disk for packages without')),
      brand: optional(text('Brand of instances; * matches anything')),
    },
  }).returning(list('Packages', r.pkg)),
  getPackage: operation('GET /:account/packages/:id', { summary: 'One package, by id or name' }).returning(r.pkg),
});
