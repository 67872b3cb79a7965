/** The catalogue of a cloud, which an operator maintains as one document. The reader and the plan are derived from these fields. */
import { any, boolean, choice, list, map, number, object, optional, text, type Infer } from './fields.ts';

const id = optional(text('UUID; with a UUID, a changed name or version is a rename'));

const packageDocument = {
  id,
  name: text('Name'),
  version: optional(text('Version; default 1.0.0')),
  memory: number('Memory in MiB'),
  disk: number('Disk in MiB'),
  swap: optional(number('Swap in MiB; default for a new package: four times the memory')),
  lwps: optional(number('Maximum number of lightweight processes; default for a new package: 4000')),
  vcpus: number('Virtual processors'),
  group: optional(text('Group')),
  description: optional(text('Description')),
  brand: optional(text('Brand of the instances')),
  disks: optional(list('Disks of a flexible-disk package', any('Disk'))),
  flexible_disk: optional(boolean('Whether the disk space can be divided freely (bhyve)')),
  default: optional(boolean('Deprecated')),
};

const imageDocument = {
  id,
  name: text('Name'),
  version: text('Version'),
  os: text('Operating system'),
  type: choice('Kind', ['zone-dataset', 'lx-dataset', 'zvol', 'other']),
  state: optional(choice('State; default for a new image: active', ['active', 'disabled'])),
  description: optional(text('Description')),
  homepage: optional(text('URL of the home page')),
  eula: optional(text('URL of the licence')),
  origin: optional(text('UUID of the origin, the image that this image builds on')),
  requirements: optional(map('Requirements of instances that use the image')),
  tags: optional(map('Tags')),
  published_at: optional(text('Time of publication, ISO 8601; default for a new image: now')),
  file: optional(
    object('The image file', {
      compression: choice('Compression', ['none', 'gzip', 'bzip2']),
      sha1: text('SHA-1 in hexadecimal'),
      size: number('Size in bytes'),
      path: optional(text('Path of the file, relative to the document; an image without a file cannot be exported or copied')),
    }),
  ),
};

const limitDocument = {
  account: text('Login of the account'),
  by: choice('What is limited: ram in MiB, quota in GiB, machines by number', ['ram', 'quota', 'machines']),
  value: number('The limit; 0 is unlimited, -1 allows nothing'),
  check: optional(choice('Restriction of the limit to an image or operating system', ['image', 'os'])),
  os: optional(text('Operating system, when check is os')),
  image: optional(text('Image name, when check is image')),
};

/** The parts of the document and their fields. */
export const catalogueDocument = {
  version: choice('Version of this format', ['1']),
  datacenters: optional(map('URL of the compute service of each datacenter, by name')),
  services: optional(map('URL of each service, by name')),
  packages: optional(list('Packages', object('A package', packageDocument))),
  images: optional(list('Public images', object('An image', imageDocument))),
  limits: optional(list('Provisioning limits of accounts', object('A limit', limitDocument))),
};

export type PackageDocument = Infer<typeof packageDocument>;
export type ImageDocument = Infer<typeof imageDocument>;
export type LimitDocument = Infer<typeof limitDocument>;

/** The whole document. An absent part is ignored; an empty part means that the cloud has no entries of that kind. */
export interface Catalogue {
  readonly datacenters?: Readonly<Record<string, string>> | undefined;
  readonly services?: Readonly<Record<string, string>> | undefined;
  readonly packages?: readonly PackageDocument[] | undefined;
  readonly images?: readonly ImageDocument[] | undefined;
  readonly limits?: readonly LimitDocument[] | undefined;
}

/** The current state of the cloud, in the terms of the document. */
export interface CatalogueState {
  readonly datacenters: Readonly<Record<string, string>>;
  readonly services: Readonly<Record<string, string>>;
  readonly packages: readonly Stored<PackageDocument>[];
  readonly images: readonly (Stored<ImageDocument> & {
    /** True if the cloud has the image file, not only its metadata. */
    readonly hasFile: boolean;
    /** UUIDs of images that build on it, including those of accounts. */
    readonly children: readonly string[];
  })[];
  readonly limits: readonly LimitDocument[];
  readonly logins: readonly string[];
}

type Stored<T> = T & { readonly id: string; readonly version: string };

/** An image file that the cloud does not have yet. */
export interface ImageUpload {
  /** As written in the document. */
  readonly path: string;
  readonly compression: string;
  readonly sha1: string;
  readonly size: number;
}

/** The write operation of a change. */
export type CatalogueStep =
  | { readonly do: 'setUrl'; readonly table: 'datacenters' | 'services'; readonly name: string; readonly url: string }
  | { readonly do: 'removeUrl'; readonly table: 'datacenters' | 'services'; readonly name: string }
  | { readonly do: 'createPackage'; readonly fields: PackageDocument }
  | { readonly do: 'updatePackage'; readonly id: string; readonly fields: Partial<PackageDocument> }
  | { readonly do: 'deletePackage'; readonly id: string }
  | { readonly do: 'createImage'; readonly fields: ImageDocument; readonly upload?: ImageUpload | undefined }
  | { readonly do: 'updateImage'; readonly id: string; readonly fields: Partial<ImageDocument>; readonly upload?: ImageUpload | undefined }
  | { readonly do: 'deleteImage'; readonly id: string }
  | { readonly do: 'setLimit'; readonly limit: LimitDocument }
  | { readonly do: 'removeLimit'; readonly limit: LimitDocument };
