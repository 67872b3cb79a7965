import type { Generated } from 'kysely';
import type { JobSchema } from './job-schema.ts';
import type {
  AuditRow,
  ChangeRow,
  ImageCreationRow,
  LimitRow,
  MachineRow,
  PolicyRow,
  RoleMemberRow,
  RolePolicyRow,
  RoleRow,
  RoleTagRow,
} from './compute-schema.ts';

/**
 * The tables of the local service. Times are milliseconds since the epoch, lists and objects are JSON text, booleans are 0 or 1. Ids are
 * UUIDs. Queries go through the query builder only.
 */
export interface Schema extends JobSchema {
  accounts: AccountRow;
  audit: AuditRow;
  users: UserRow;
  keys: KeyRow;
  networks: NetworkRow;
  datacenters: DatacenterRow;
  services: ServiceRow;
  images: ImageRow;
  packages: PackageRow;
  entries: EntryRow;
  count_changes: CountChangeRow;
  storage_usage: UsageRow;
  usage_changes: UsageRow;
  uploads: UploadRow;
  upload_digests: UploadDigestRow;
  pieces: PieceRow;
  contents: ContentRow;
  contents_folder: ContentsFolderRow;
  roles: RoleRow;
  role_policies: RolePolicyRow;
  role_members: RoleMemberRow;
  policies: PolicyRow;
  role_tags: RoleTagRow;
  changes: ChangeRow;
  limits: LimitRow;
  machines: MachineRow;
  image_creations: ImageCreationRow;
}

interface ContactColumns {
  email: string;
  company_name: string | null;
  first_name: string | null;
  last_name: string | null;
  address: string | null;
  postal_code: string | null;
  city: string | null;
  state: string | null;
  country: string | null;
  phone: string | null;
  created: number;
  updated: number;
}

export interface AccountRow extends ContactColumns {
  id: string;
  login: string;
  cns_enabled: number;
  /** UUID of a network, or null. */
  default_network: string | null;
  /** Unless `enabled`, no key gives access; `deleting`: it is being removed permanently; `importing`: it is not complete yet. */
  status: 'enabled' | 'disabled' | 'deleting' | 'importing';
  /** Maximum bytes and objects in the object storage, and requests per second; the limits of the service if absent or null. */
  most_bytes?: number | null | undefined;
  most_objects?: number | null | undefined;
  most_requests?: number | null | undefined;
}

/** A sub-user. `login_key` is the login in lower case: logins are unique in the account, ignoring case. */
export interface UserRow extends ContactColumns {
  id: string;
  account: string;
  login: string;
  login_key: string;
  /** Salted, slow hash. */
  password: string;
}

/** A key of an account (`user` null) or of a sub-user. */
export interface KeyRow {
  sequence: Generated<number>;
  account: string;
  user: string | null;
  name: string;
  /** MD5 fingerprint, colon-separated hexadecimal. */
  fingerprint: string;
  /** OpenSSH format. */
  key: string;
  /** JSON array of PEM certificates, or null. */
  attestation: string | null;
  multifactor: string | null;
  created: number;
}

export interface NetworkRow {
  id: string;
  name: string;
}

export interface DatacenterRow {
  name: string;
  url: string;
}

export interface ServiceRow {
  name: string;
  url: string;
}

export interface ImageRow {
  id: string;
  name: string;
  version: string;
  os: string;
  type: string;
  owner: string;
  public: number;
  state: string;
  published_at: number | null;
  description: string | null;
  homepage: string | null;
  eula: string | null;
  origin: string | null;
  /** JSON. */
  requirements: string;
  files: string;
  tags: string;
  acl: string;
  error: string | null;
  /** Id of the file in the byte store; null for the samples, whose files cannot be downloaded. */
  content: string | null;
}

export interface PackageRow {
  id: string;
  name: string;
  version: string;
  memory: number;
  disk: number;
  swap: number;
  lwps: number;
  vcpus: number;
  group: string | null;
  description: string | null;
  brand: string | null;
  disks: string | null;
  flexible_disk: number;
  is_default: number;
}

/**
 * A directory or an object of the object storage. Primary key (parent, name), clustered and compared by bytes: a lookup is one step and a
 * listing is a range. `parent` is the path without a trailing slash (`/demo/stor/logs`); an account's own directory has the parent `` and
 * the name `/demo`.
 */
export interface EntryRow {
  parent: string;
  name: string;
  type: 'directory' | 'object';
  /** Objects: a UUID, new on every write. */
  etag: string | null;
  mtime: number;
  /** Objects: size in bytes. */
  size: number | null;
  /** Objects: MD5 of the content in Base64. */
  md5: string | null;
  /**
   * Objects: id of the content in the byte store (`inline/<bytes>` if it needs no file, `row/...` if it is a row of `contents`);
   * `pieces/<upload id>` if the content consists of the rows of `pieces` with that name. Indexed, to find the last entry with a content.
   */
  content: string | null;
  /** Objects: requested number of copies. */
  copies: number | null;
  /** JSON object of the stored headers, including `content-type`. */
  headers: string;
  /** JSON array of role ids. */
  role_tags: string;
  /** Directories: number of entries; on PostgreSQL without the changes in `count_changes`. */
  children: number;
}

/** PostgreSQL: a change to add to the entry count of a directory, identified by the key of its row. */
export interface CountChangeRow extends Pick<EntryRow, 'parent' | 'name'> {
  number: Generated<number>;
  change: number;
}

/** What an account uses of the object storage, maintained by triggers; on PostgreSQL the rows of `usage_changes` have to be added. */
export interface UsageRow {
  login: string;
  bytes: number;
  objects: number;
}

/** PostgreSQL: saved MD5 state of an open upload. Primary key upload. */
export interface UploadDigestRow {
  upload: string;
  /** Number of parts that it covers, from the first one. */
  parts: number;
  /** Identifies their contents: SHA-256 of the previous value and the next id, repeatedly. */
  chain: string;
  state: Uint8Array;
}

/** A multipart upload. Primary key id. Its parts are objects in the upload's parts directory, named by their number. */
export interface UploadRow {
  id: string;
  /** UUID of the account. */
  account: string;
  /** Path of the object that the commit creates: `/demo/stor/film`. */
  target: string;
  state: 'created' | 'done';
  result: 'committed' | 'aborted' | null;
  /** JSON object of the headers as submitted. */
  headers: string;
  /** JSON object of the headers stored with the target object. */
  stored_headers: string;
  copies: number;
  /** Bytes and MD5 (Base64) that the target must have, if the creator declared them. */
  content_length: number | null;
  content_md5: string | null;
  created: number;
  /** When it was committed or aborted; no meaning for an open upload. */
  ended: number;
  /** After the commit: JSON array of the parts' etags, the object's etag, and the object's MD5 in Base64. */
  parts: string | null;
  etag: string | null;
  md5: string | null;
}

/** A content of a few KiB. */
export interface ContentRow {
  id: string;
  bytes: Uint8Array;
}

/** PostgreSQL: the only row, about the contents folder, if there is one. */
export interface ContentsFolderRow {
  /** Id in its file `.cloud-bytes`. */
  id: string;
  /** True once the file has been written. */
  marked: boolean;
  /** Milliseconds for which gateways keep unreferenced contents, as long as no gateway runs; null before any has reported it. */
  keep: number | null;
  /** Number of collections so far. */
  collections: number;
}

/** One piece of a content that was committed from several parts. Primary key (content, start). */
export interface PieceRow {
  /** `pieces/<upload id>`, as in an entry's `content`. */
  content: string;
  /** Offset of the piece in the content, in bytes. */
  start: number;
  size: number;
  /** Id of the piece in the byte store. */
  bytes: string;
}
