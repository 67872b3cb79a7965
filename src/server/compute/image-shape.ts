import { sql, type Kysely, type SelectQueryBuilder } from 'kysely';
import type { compute } from '../../api/compute.ts';
import type { InputOf } from '../../api/operation.ts';
import type { Image } from '../../api/resources.ts';
import { ApiError } from '../../base/errors.ts';
import { isUuid } from '../../base/uuid.ts';
import { hasOldImageTypes } from '../http/version.ts';
import type { AccountRow, ImageRow, Schema } from '../store/schema.ts';
import { createUnknownError } from './names.ts';

type Filter = InputOf<typeof compute.listImages>;

/** True if an account may see an image: public images, its own, and private images that list the account. */
function isVisible(row: ImageRow, account: AccountRow): boolean {
  return row.public === 1 || row.owner === account.id || (JSON.parse(row.acl) as string[]).includes(account.id);
}

/** The image with an id, in any case; undefined if there is none that the account may see. */
export async function findImage(db: Kysely<Schema>, account: AccountRow, id: string): Promise<ImageRow | undefined> {
  const row = await db.selectFrom('images').selectAll().where('id', '=', id.toLowerCase()).executeTakeFirst();
  return row !== undefined && isVisible(row, account) ? row : undefined;
}

/** The image in the request path. @throws {ApiError} 404 `ResourceNotFound`, also for an image that the account may not see */
export async function requireImage(db: Kysely<Schema>, account: AccountRow, id: string): Promise<ImageRow> {
  const row = await findImage(db, account, id);
  if (row === undefined) throw createUnknownError('image', id);
  return row;
}

/** Like `requireImage`, for operations that only the owner may use. @throws {ApiError} 422 `NotImageOwnerError` */
export async function requireOwnImage(db: Kysely<Schema>, account: AccountRow, id: string): Promise<ImageRow> {
  const row = await requireImage(db, account, id);
  if (row.owner === account.id) return row;
  throw new ApiError(422, 'NotImageOwnerError', `image ${id} belongs to another account`);
}

/** Image types before API version 8, and the current types that each stands for. */
const oldTypes: ReadonlyMap<string, readonly string[]> = new Map([
  ['smartmachine', ['zone-dataset', 'lx-dataset']],
  ['virtualmachine', ['zvol', 'other']],
]);

/** The image types that a filter selects. @throws {ApiError} 409 `InvalidArgument` for a type that the API version does not have */
function readTypeFilter(type: string, version: string): readonly string[] {
  if (!hasOldImageTypes(version)) return [type];
  const types = oldTypes.get(type);
  if (types === undefined) throw new ApiError(409, 'InvalidArgument', `image type ${type} is not a valid type`);
  return types;
}

/** The owner that a filter selects. @throws {ApiError} 409 `InvalidArgument` if it is not a UUID */
function readOwnerFilter(owner: string): string {
  if (!isUuid(owner)) throw new ApiError(409, 'InvalidArgument', `owner must be a UUID, not "${owner}"`);
  return owner.toLowerCase();
}

/** The values that ListImages selects, by column; undefined: any value. The compiler reports a filter that has no column here. */
type ImageSelection = { readonly [F in Exclude<keyof Filter, 'account'>]-?: readonly ImageRow[F][] | undefined };

/** The images that ListImages selects; only active ones unless `state` is given. @throws {ApiError} 409 `InvalidArgument` */
function readImageFilter(input: Filter, version: string): ImageSelection {
  const only = <T>(value: T | undefined): readonly T[] | undefined => (value === undefined ? undefined : [value]);
  const { state = 'active' } = input;
  return {
    name: only(input.name),
    os: only(input.os),
    version: only(input.version),
    public: input.public === undefined ? undefined : [input.public ? 1 : 0],
    state: state === 'all' ? undefined : [state],
    owner: input.owner === undefined ? undefined : [readOwnerFilter(input.owner)],
    type: input.type === undefined ? undefined : readTypeFilter(input.type, version),
  };
}

/** The filters of ListImages that are given, each as a column and the values that it may have. @throws {ApiError} 409 `InvalidArgument` */
export function listImageFilters(input: Filter, version: string): [column: keyof ImageSelection, values: readonly (string | number)[]][] {
  const selection = Object.entries(readImageFilter(input, version)) as [keyof ImageSelection, ImageSelection[keyof ImageSelection]][];
  return selection.flatMap(([column, values]) => (values === undefined ? [] : [[column, values]]));
}

/** Ids of the images that an account may see, as `isVisible` says: each part is a range of an index. */
export function selectVisibleIds(
  db: Kysely<Schema>,
  { id }: Pick<AccountRow, 'id'>,
): SelectQueryBuilder<Schema, 'images', Pick<ImageRow, 'id'>> {
  const images = db.selectFrom('images').select('id');
  const shared = images.where('acl', '<>', sql.lit('[]')).where('acl', 'like', `%"${id}"%`);
  return images
    .where('owner', '=', id)
    .union(images.where('public', '=', sql.lit(1)))
    .union(shared);
}

function showType(type: string, version: string): string {
  if (!hasOldImageTypes(version)) return type;
  return [...oldTypes].find(([, types]) => types.includes(type))?.[0] ?? type;
}

/** An image in the format of an API version. */
export function showImage(row: ImageRow, { version }: { version: string }): Image {
  const acl = JSON.parse(row.acl) as string[];
  return {
    id: row.id,
    name: row.name,
    version: row.version,
    os: row.os,
    type: showType(row.type, version),
    ...(row.description !== null && { description: row.description }),
    ...(row.homepage !== null && { homepage: row.homepage }),
    ...(row.eula !== null && { eula: row.eula }),
    ...(row.origin !== null && { origin: row.origin }),
    requirements: JSON.parse(row.requirements) as Record<string, unknown>,
    files: JSON.parse(row.files) as NonNullable<Image['files']>,
    ...(row.published_at !== null && { published_at: new Date(row.published_at).toISOString() }),
    owner: row.owner,
    public: row.public === 1,
    state: row.state as Image['state'],
    tags: JSON.parse(row.tags) as Record<string, unknown>,
    ...(acl.length > 0 && { acl }),
    ...(row.error !== null && { error: JSON.parse(row.error) as NonNullable<Image['error']> }),
  };
}
