import type { Noun } from '../cli/command.ts';

const computeNouns = 'Compute';
const storageNouns = 'Object storage';
const settingNouns = 'Set-up';

/** Everything that `cloud` can be followed by. A module is loaded when one of its nouns is used. */
export const nouns: readonly Noun[] = [
  {
    name: 'account',
    aliases: ['accounts'],
    summary: 'The account: address, limits and settings',
    section: computeNouns,
    load: async () => (await import('./account.ts')).account,
  },
  {
    name: 'keys',
    aliases: ['key'],
    summary: 'SSH keys of the account, which sign requests',
    section: computeNouns,
    load: async () => (await import('./keys.ts')).keys,
  },
  {
    name: 'users',
    aliases: ['user'],
    summary: 'Sub-users of the account',
    section: computeNouns,
    load: async () => (await import('./users.ts')).users,
  },
  {
    name: 'roles',
    aliases: ['role'],
    summary: 'Roles: who gets which policies',
    section: computeNouns,
    load: async () => (await import('./roles.ts')).roles,
  },
  {
    name: 'policies',
    aliases: ['policy'],
    summary: 'Policies: rules that say what the members of a role may do',
    section: computeNouns,
    load: async () => (await import('./policies.ts')).policies,
  },
  {
    name: 'rbac',
    aliases: [],
    summary: 'Access control of the account as one document',
    section: computeNouns,
    load: async () => (await import('./rbac.ts')).rbac,
  },
  {
    name: 'images',
    aliases: ['image'],
    summary: 'Images that instances are made from',
    section: computeNouns,
    load: async () => (await import('./images.ts')).images,
  },
  {
    name: 'packages',
    aliases: ['package'],
    summary: 'Packages: the sizes that instances come in',
    section: computeNouns,
    load: async () => (await import('./packages.ts')).packages,
  },
  {
    name: 'datacenters',
    aliases: ['datacenter'],
    summary: 'Datacenters of the cloud',
    section: computeNouns,
    load: async () => (await import('./places.ts')).datacenters,
  },
  {
    name: 'services',
    aliases: ['service'],
    summary: 'Services of the cloud and their addresses',
    section: computeNouns,
    load: async () => (await import('./places.ts')).services,
  },
  {
    name: 'stor',
    aliases: ['storage'],
    summary: 'Directories and objects of the object storage',
    section: storageNouns,
    load: async () => (await import('./stor.ts')).stor,
  },
  {
    name: 'mpu',
    aliases: ['uploads'],
    summary: 'Multipart uploads: large objects in parts',
    section: storageNouns,
    load: async () => (await import('./mpu.ts')).mpu,
  },
  {
    name: 'jobs',
    aliases: ['job'],
    summary: 'Compute jobs: shell commands that run on stored objects',
    section: storageNouns,
    load: async () => (await import('./jobs.ts')).jobs,
  },
  {
    name: 'ping',
    aliases: [],
    summary: 'Whether both services answer, their versions, clock and speed',
    section: 'Any request',
    load: async () => (await import('./ping.ts')).ping,
  },
  {
    name: 'api',
    aliases: [],
    summary: 'Send any request, signed',
    section: 'Any request',
    load: async () => (await import('./api.ts')).api,
  },
  {
    name: 'profile',
    aliases: ['profiles'],
    summary: 'Profiles: which cloud, which account, which key',
    section: settingNouns,
    load: async () => (await import('./profile.ts')).profile,
  },
  {
    name: 'env',
    aliases: [],
    summary: 'Print a profile as shell exports',
    section: settingNouns,
    load: async () => (await import('./profile.ts')).env,
  },
  {
    name: 'local',
    aliases: [],
    summary: 'Both services on this machine, for trying and testing',
    section: settingNouns,
    load: async () => (await import('./local.ts')).local,
  },
  {
    name: 'completion',
    aliases: [],
    summary: 'Completion for bash, zsh and fish',
    section: settingNouns,
    load: async () => (await import('./completion.ts')).completion,
  },
  {
    name: 'help',
    aliases: [],
    summary: 'Help of a command: cloud help images list',
    section: settingNouns,
    load: async () => (await import('./help.ts')).help,
  },
];
