import type { Transaction } from 'kysely';
import { emptyImage } from '../store/empty-image.ts';
import { skip } from '../store/skip.ts';
import { operator } from './operator.ts';
import { ensureDirectory } from '../storage/entries.ts';
import { placeOf } from '../storage/paths.ts';
import type { ImageRow, PackageRow, Schema } from '../store/schema.ts';

const month = 30 * 24 * 60 * 60 * 1000;
const firstPublished = Date.UTC(2025, 0, 15, 9, 30);

interface ImageSample extends Pick<ImageRow, 'id' | 'name' | 'version' | 'os' | 'type'> {
  description: string;
  /** Size of its file in bytes. */
  size: number;
  state?: string;
  requirements?: object;
  tags?: object;
}

const container = { os: 'smartos', type: 'zone-dataset' };
const base = {
  name: 'base-64',
  ...container,
  description: 'A 64-bit container with the most common packages.',
  tags: { role: 'os', group: 'base-64' },
};
const linuxContainer = { os: 'linux', type: 'lx-dataset', requirements: { brand: 'lx' } };

const virtualMachine = { type: 'zvol', requirements: { brand: 'bhyve', min_memory: 512 }, tags: { role: 'os' } };

const imageSamples: readonly ImageSample[] = [
  { id: '61fd44f6-b986-44cb-ab14-31249df98718', version: '24.4.0', ...base, size: 158_912_341 },
  { id: '04f66d5e-0a32-4af3-a1f9-3bd80f95f0e1', version: '25.2.0', ...base, size: 163_301_229 },
  {
    id: '9e558b5d-047d-4d93-bdbb-844204233b3a',
    name: 'minimal-64',
    version: '25.2.0',
    ...container,
    description: 'A 64-bit container with next to nothing in it.',
    size: 41_233_870,
    tags: { role: 'os', group: 'minimal' },
  },
  {
    id: '6dde5688-3102-4ad6-90a9-72d91fe7d1e5',
    name: 'debian-12',
    version: '20250401',
    ...linuxContainer,
    description: 'Debian 12 in a container.',
    size: 112_480_003,
    tags: { role: 'os', kernel_version: '5.10.0' },
  },
  {
    id: '74afeca4-5dc6-4b6a-b6d3-b647a37ebf14',
    name: 'ubuntu-24.04',
    version: '20250611',
    ...linuxContainer,
    description: 'Ubuntu 24.04 in a container.',
    size: 127_991_820,
    tags: { role: 'os', kernel_version: '5.10.0' },
  },
  {
    id: 'e3a8212b-9556-4809-93a7-46ef9f127842',
    name: 'alpine-3',
    version: '3.21.0',
    ...linuxContainer,
    description: 'Alpine 3 in a container.',
    size: 9_113_022,
    tags: { role: 'os' },
  },
  {
    id: 'bb329c06-cf1e-49e6-89ea-dd0680e46275',
    name: 'debian-12',
    version: '20250615',
    os: 'linux',
    ...virtualMachine,
    description: 'Debian 12 in a virtual machine.',
    size: 302_188_456,
  },
  {
    id: '22f3d594-3f2d-4b49-842b-ee08a25ebd9d',
    name: 'freebsd-14',
    version: '20250720',
    os: 'bsd',
    ...virtualMachine,
    description: 'FreeBSD 14 in a virtual machine.',
    size: 412_055_310,
  },
  {
    id: '2155c26b-4a99-45f1-8ab9-00555a9a9f11',
    name: 'windows-2022',
    version: '20250801',
    os: 'windows',
    type: 'zvol',
    requirements: { brand: 'kvm', min_memory: 4096, password: true },
    description: 'Windows Server 2022 in a virtual machine.',
    size: 4_912_660_480,
  },
  {
    id: 'dda1ff40-a30b-4d35-bc23-77c18aa56e55',
    name: 'postgres',
    version: '16.3.0',
    ...container,
    requirements: { min_memory: 1024 },
    description: 'A database server, ready to run.',
    size: 231_745_120,
    tags: { role: 'database' },
  },
  {
    id: '2e98d44b-36c9-4115-bcd9-b66565a49aaf',
    name: 'base-32',
    version: '14.4.2',
    ...container,
    description: 'A 32-bit container, kept for instances that still use it.',
    size: 133_002_917,
    state: 'disabled',
  },
];

function makeImage(sample: ImageSample, index: number): ImageRow {
  const { size, state = 'active', requirements = {}, tags = {}, ...same } = sample;
  // The file of a sample cannot be downloaded; its digest only has to be well-formed and stable.
  const sha1 = sample.id.replaceAll('-', '').padEnd(40, '0');
  return {
    ...emptyImage,
    ...same,
    state,
    owner: operator,
    public: 1,
    published_at: firstPublished + index * month,
    requirements: JSON.stringify(requirements),
    files: JSON.stringify([{ compression: 'gzip', sha1, size }]),
    tags: JSON.stringify(tags),
  };
}

/** Name, memory in MiB, disk in MiB, number of vCPUs, group, brand. */
type PackageSample = readonly [id: string, name: string, memory: number, disk: number, vcpus: number, group: string, brand: string | null];

const packageSamples: readonly PackageSample[] = [
  ['e31a4720-ad17-4c55-a830-a335e96fe211', 'g1-nano', 128, 5120, 1, 'general', null],
  ['3fb39bb2-b7e8-44e4-8ef9-9d220dfea514', 'g1-micro', 256, 10_240, 1, 'general', null],
  ['a5f88b17-2a60-4dd3-99b0-7a477902f38f', 'g1-small', 1024, 25_600, 1, 'general', null],
  ['6732556b-61b0-4314-9d1e-a254d92d3a0d', 'g1-medium', 4096, 102_400, 2, 'general', null],
  ['79e8546b-9683-4bff-9bbc-cc6ed2fbb6e5', 'm1-large', 16_384, 204_800, 2, 'memory', null],
  ['d98c6fdd-279f-4882-a34a-046e88b33896', 'c1-large', 4096, 102_400, 8, 'compute', 'joyent'],
  ['8371f820-8848-4df3-9e38-97977c2c7105', 'l1-small', 1024, 25_600, 1, 'linux', 'lx'],
  ['46c5c23a-a5c1-4e5e-b201-b318cece82c8', 'k1-medium', 4096, 51_200, 2, 'machines', 'kvm'],
  ['5c069eac-3671-4ea2-9539-480a405d240d', 'b1-medium', 4096, 51_200, 2, 'machines', 'bhyve'],
  ['876d6f28-433f-4882-8e56-8c70ea1a9109', 'b1-flex', 8192, 204_800, 4, 'machines', 'bhyve'],
];

function makePackage([id, name, memory, disk, vcpus, group, brand]: PackageSample): PackageRow {
  const isFlexible = name.endsWith('-flex');
  return {
    id,
    name,
    version: '1.0.0',
    memory,
    disk,
    swap: memory * 4,
    lwps: 4000,
    vcpus,
    group,
    description: `${memory} MiB of memory, ${disk / 1024} GiB of disk`,
    brand,
    disks: isFlexible ? JSON.stringify([{}, { size: 102_400 }, { size: 'remaining' }]) : null,
    flexible_disk: isFlexible ? 1 : 0,
    is_default: name === 'g1-small' ? 1 : 0,
  };
}

const networks = [
  { id: '8a3ee67a-1a45-43ea-b686-4d3dc9b78a06', name: 'external' },
  { id: '62253da7-2df6-4d34-9308-7428572f2323', name: 'internal' },
];

/** Adds missing sample images, packages and networks to a store. Their ids are the same in every store. */
export async function seedCloud(transaction: Transaction<Schema>): Promise<void> {
  await transaction.insertInto('images').values(imageSamples.map(makeImage)).onConflict(skip).execute();
  await transaction.insertInto('packages').values(packageSamples.map(makePackage)).onConflict(skip).execute();
  await transaction.insertInto('networks').values(networks).onConflict(skip).execute();
}

/** Creates a few sample directories for an account. */
export async function seedDirectories(transaction: Transaction<Schema>, login: string, now: number): Promise<void> {
  for (const path of ['stor/documents', 'stor/logs', 'public/www']) await ensureDirectory(transaction, placeOf(login, path), now);
}
