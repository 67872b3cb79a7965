import type { Noun } from '../cli/command.ts';

type Entry = Pick<Noun, 'summary' | 'load'> & Partial<Pick<Noun, 'aliases'>>;

/** The nouns below one heading of `cloud --help`, by name. */
function section(title: string, entries: Readonly<Record<string, Entry>>): Noun[] {
  return Object.entries(entries).map(([name, entry]) => ({ name, aliases: [], section: title, ...entry }));
}

/** The nouns: what can follow `cloud`. A module is loaded when one of its nouns is used. */
export const nouns: readonly Noun[] = [
  ...section('Compute', {
    account: {
      aliases: ['accounts'],
      summary: 'The account: address, limits and settings',
      load: async () => (await import('./account.ts')).account,
    },
    keys: {
      aliases: ['key'],
      summary: 'SSH keys of the account, which sign requests',
      load: async () => (await import('./keys.ts')).keys,
    },
    users: {
      aliases: ['user'],
      summary: 'Sub-users of the account',
      load: async () => (await import('./users/index.ts')).users,
    },
    roles: {
      aliases: ['role'],
      summary: 'Roles: which members have which policies',
      load: async () => (await import('./roles/index.ts')).roles,
    },
    policies: {
      aliases: ['policy'],
      summary: 'Policies: rules for what the members of a role may do',
      load: async () => (await import('./policies/index.ts')).policies,
    },
    rbac: {
      summary: 'Access control of the account as one document',
      load: async () => (await import('./rbac/index.ts')).rbac,
    },
    images: {
      aliases: ['image'],
      summary: 'Images: templates of instances',
      load: async () => (await import('./images/index.ts')).images,
    },
    packages: {
      aliases: ['package'],
      summary: 'Packages: sizes of instances',
      load: async () => (await import('./packages.ts')).packages,
    },
    datacenters: {
      aliases: ['datacenter'],
      summary: 'Datacenters of the cloud',
      load: async () => (await import('./places.ts')).datacenters,
    },
    services: {
      aliases: ['service'],
      summary: 'Services of the cloud and their addresses',
      load: async () => (await import('./places.ts')).services,
    },
  }),
  ...section('Object storage', {
    stor: {
      aliases: ['storage'],
      summary: 'Directories and objects of the object storage',
      load: async (verb) => (await import('./stor/index.ts')).loadStor(verb),
    },
    mpu: {
      aliases: ['uploads'],
      summary: 'Multipart uploads: large objects in parts',
      load: async () => (await import('./mpu/index.ts')).mpu,
    },
    jobs: {
      aliases: ['job'],
      summary: 'Compute jobs: shell commands that run on stored objects',
      load: async () => (await import('./jobs/index.ts')).jobs,
    },
    resume: {
      summary: 'Interrupted work: list, continue or clean up',
      load: async () => (await import('./resume/index.ts')).resume,
    },
  }),
  ...section('Any request', {
    ping: {
      summary: 'Check that both services respond, with version, clock and latency',
      load: async () => (await import('./ping.ts')).ping,
    },
    api: {
      summary: 'Send any request, signed',
      load: async () => (await import('./api.ts')).api,
    },
    url: {
      summary: 'Signed URLs: what they grant, until when, and why one fails',
      load: async () => (await import('./url.ts')).url,
    },
  }),
  ...section('Set-up', {
    profile: {
      aliases: ['profiles'],
      summary: 'Profiles: which cloud, which account, which key',
      load: async () => (await import('./profile/index.ts')).profile,
    },
    env: {
      summary: 'Print a profile as shell exports',
      load: async () => (await import('./profile/index.ts')).env,
    },
    local: {
      summary: 'Run both services on this machine, for trials and tests',
      load: async () => (await import('./local/index.ts')).local,
    },
    server: {
      summary: 'Run the services on PostgreSQL, for a team',
      load: async () => (await import('./server/index.ts')).server,
    },
    conformance: {
      summary: 'Check whether a cloud conforms to the specification',
      load: async () => (await import('./conformance/index.ts')).conformance,
    },
    doctor: {
      summary: 'Check program, machine, profile, keys, agent, TLS, clock and both services',
      load: async () => (await import('./doctor/index.ts')).doctor,
    },
    version: {
      summary: 'Show version, commit, Node.js, system and install path',
      load: async () => (await import('./version.ts')).version,
    },
    alias: {
      aliases: ['aliases'],
      summary: 'Aliases: your own names for command lines',
      load: async () => (await import('./alias.ts')).alias,
    },
    completion: {
      summary: 'Completion for bash, zsh and fish',
      load: async () => (await import('./completion/index.ts')).completion,
    },
    help: {
      summary: 'Help for a command: cloud help images list',
      load: async () => (await import('./help.ts')).help,
    },
  }),
];
