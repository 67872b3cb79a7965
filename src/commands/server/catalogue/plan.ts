import type {
  Catalogue,
  CatalogueState,
  CatalogueStep,
  ImageDocument,
  ImageUpload,
  LimitDocument,
  PackageDocument,
} from '../../../api/catalogue.ts';
import { UsageError } from '../../../base/errors.ts';
import { nearest } from '../../../base/nearest.ts';
import { compareFields, type Difference } from '../../../rbac/change.ts';
import { matchEntries } from '../../../rbac/match.ts';
import { defaultVersion, nameLimit } from './read.ts';

/** A difference between a document and a cloud, and the step that removes it. */
export interface CatalogueChange {
  readonly action: 'create' | 'update' | 'delete';
  readonly kind: 'datacenter' | 'service' | 'package' | 'image' | 'limit';
  /** For people: `east-1`, `debian-12 20250615`. */
  readonly name: string;
  readonly differences: Difference[];
  readonly step: CatalogueStep;
}

/** Changes of one kind; `pruned` are deletions, which follow the changes of all kinds. */
interface Part {
  readonly changes: readonly CatalogueChange[];
  readonly pruned: readonly CatalogueChange[];
}

const nothing: Part = { changes: [], pruned: [] };

/** Services for which each gateway reports its own address. */
const ownServices = ['compute', 'storage'];

function planUrls(table: 'datacenters' | 'services', document: Catalogue, state: CatalogueState): Part {
  const { [table]: wanted } = document;
  const { [table]: is } = state;
  if (wanted === undefined) return nothing;
  const kind = table === 'datacenters' ? 'datacenter' : 'service';
  // A datacenter with the address of the compute service is that of the gateways.
  const isOwn = (name: string): boolean => (table === 'services' ? ownServices.includes(name) : is[name] === state.services['compute']);
  return {
    changes: Object.entries(wanted).flatMap(([name, url]) => {
      if (is[name] === url) return [];
      const differences = compareFields({ url }, { url: is[name] });
      return { action: name in is ? 'update' : 'create', kind, name, differences, step: { do: 'setUrl', table, name, url } };
    }),
    pruned: Object.keys(is)
      .filter((name) => !(name in wanted) && !isOwn(name))
      .map((name) => ({ action: 'delete', kind, name, differences: [], step: { do: 'removeUrl', table, name } })),
  };
}

/** `debian-12 20250615`: identifies an entry without an id. */
function label({ name, version = defaultVersion }: { name: string; version?: string | undefined }): string {
  return `${name} ${version}`;
}

/** Matches entries by id, else by name and version. */
function pair<W extends { id?: string | undefined; name: string; version?: string | undefined }, E extends W & { id: string }>(
  wanted: readonly W[],
  existing: readonly E[],
): { pairs: { wanted: W; existing: E | undefined }[]; rest: E[] } {
  const { pairs, rest } = matchEntries(
    wanted.map((entry) => ({ entry, id: entry.id, name: label(entry) })),
    existing.map((entry) => ({ entry, id: entry.id, name: label(entry) })),
    (name) => name,
  );
  return {
    pairs: pairs.map((each) => ({ wanted: each.wanted.entry, existing: each.existing?.entry })),
    rest: rest.map(({ entry }) => entry),
  };
}

function pick<T extends object>(fields: T, differences: readonly Difference[]): Partial<T> {
  const names = new Set(differences.map(({ field }) => field));
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.has(name))) as Partial<T>;
}

/** @throws {UsageError} when an entry has the name and version of an existing one, but another id */
function refuseOtherId(
  kind: 'package' | 'image',
  wanted: { id?: string | undefined },
  existing: { id: string; name: string; version: string },
): void {
  if (wanted.id === undefined || wanted.id === existing.id) return;
  throw new UsageError(`${kind} "${label(existing)}" has another id in the cloud: ${existing.id}`, {
    hint: 'correct the id in the file, or remove it',
  });
}

function planPackages({ packages }: Catalogue, state: CatalogueState): Part {
  if (packages === undefined) return nothing;
  const { pairs, rest } = pair<PackageDocument, CatalogueState['packages'][number]>(packages, state.packages);
  const kind = 'package';
  return {
    changes: pairs.flatMap(({ wanted, existing }): CatalogueChange[] => {
      const name = label(wanted);
      if (!existing) {
        const differences = compareFields(wanted, {});
        return [{ action: 'create', kind, name, differences, step: { do: 'createPackage', fields: wanted } }];
      }
      refuseOtherId(kind, wanted, existing);
      const differences = compareFields(wanted, existing);
      if (differences.length === 0) return [];
      const step = { do: 'updatePackage' as const, id: existing.id, fields: pick(wanted, differences) };
      return [{ action: 'update', kind, name, differences, step }];
    }),
    pruned: rest.map((each) => ({
      action: 'delete',
      kind,
      name: label(each),
      differences: [],
      step: { do: 'deletePackage', id: each.id },
    })),
  };
}

/** @throws {UsageError} when the origin of an image does not exist, or would be deleted */
function checkOrigins(images: readonly ImageDocument[], existing: CatalogueState['images'], gone: CatalogueState['images']): void {
  const left = new Set([...images, ...existing.filter((each) => !gone.includes(each))].flatMap(({ id }) => id ?? []));
  for (const image of images) {
    if (image.origin === undefined || left.has(image.origin)) continue;
    throw new UsageError(`images: ${label(image)}: its origin ${image.origin} is not a public image`, {
      hint: 'add that image to the file, with its id',
    });
  }
  const goneIds = new Set(gone.map(({ id }) => id));
  const needed = gone.find(({ children }) => children.some((child) => !goneIds.has(child)));
  if (needed) throw new UsageError(`image ${label(needed)} cannot be deleted: it is the origin of image ${needed.children.join(', ')}`);
}

/** Separates the fields of an image from the path of its file; returns the file if it has to be uploaded. */
function splitFile(
  wanted: ImageDocument,
  existing: CatalogueState['images'][number] | undefined,
): [ImageDocument, ImageUpload | undefined] {
  if (wanted.file === undefined) return [wanted, undefined];
  const { path, ...file } = wanted.file;
  const isThere = existing?.hasFile === true && compareFields({ file }, existing).length === 0;
  return [{ ...wanted, file }, path === undefined || isThere ? undefined : { path, ...file }];
}

function planImages({ images }: Catalogue, state: CatalogueState, prune: boolean): Part {
  if (images === undefined) return nothing;
  const { pairs, rest } = pair<ImageDocument, CatalogueState['images'][number]>(images, state.images);
  checkOrigins(images, state.images, prune ? rest : []);
  const kind = 'image';
  return {
    changes: pairs.flatMap(({ wanted, existing }): CatalogueChange[] => {
      const name = label(wanted);
      const [fields, upload] = splitFile(wanted, existing);
      const differences = [...compareFields(fields, existing ?? {}), ...compareFields({ 'file.path': upload?.path }, {})];
      if (!existing) return [{ action: 'create', kind, name, differences, step: { do: 'createImage', fields, upload } }];
      refuseOtherId(kind, wanted, existing);
      if (differences.length === 0) return [];
      const step = { do: 'updateImage' as const, id: existing.id, fields: pick(fields, differences), upload };
      return [{ action: 'update', kind, name, differences, step }];
    }),
    pruned: rest.map((each) => ({ action: 'delete', kind, name: label(each), differences: [], step: { do: 'deleteImage', id: each.id } })),
  };
}

function planLimits({ limits }: Catalogue, state: CatalogueState): Part {
  if (limits === undefined) return nothing;
  const is = new Map(state.limits.map((limit) => [nameLimit(limit), limit]));
  const wanted = new Set(limits.map(nameLimit));
  const unknown = limits.find(({ account }) => !state.logins.includes(account));
  if (unknown) {
    const close = nearest(unknown.account, state.logins);
    throw new UsageError(`limits: account ${unknown.account} does not exist`, {
      hint: close === undefined ? 'cloud server accounts create' : `did you mean ${close}?`,
    });
  }
  const set = (limit: LimitDocument): CatalogueChange[] => {
    const name = nameLimit(limit);
    const before = is.get(name);
    const differences = compareFields({ value: limit.value }, { value: before?.value });
    if (differences.length === 0) return [];
    return [{ action: before ? 'update' : 'create', kind: 'limit', name, differences, step: { do: 'setLimit', limit } }];
  };
  return {
    changes: limits.flatMap(set),
    pruned: [...is]
      .filter(([name]) => !wanted.has(name))
      .map(([name, limit]) => ({ action: 'delete', kind: 'limit', name, differences: [], step: { do: 'removeLimit', limit } })),
  };
}

/**
 * Plans the changes that make a cloud match a document. Parts and fields that are absent from the document are left alone. With `prune`,
 * entries that its parts do not mention are deleted, except the addresses of the gateways.
 * @throws {UsageError} for entries that contradict existing ones
 */
export function planCatalogue(document: Catalogue, state: CatalogueState, prune: boolean): CatalogueChange[] {
  const parts = [
    planUrls('datacenters', document, state),
    planUrls('services', document, state),
    planPackages(document, state),
    planImages(document, state, prune),
    planLimits(document, state),
  ];
  return [...parts.flatMap(({ changes }) => changes), ...(prune ? parts.flatMap(({ pruned }) => pruned) : [])];
}
