import type { Image } from '../../api/resources.ts';
import { ApiError } from '../../base/errors.ts';
import { hasOldImageTypes } from '../http/version.ts';
import type { AccountRow, ImageRow } from '../store/schema.ts';

/** True if an account may see an image: public images, its own, and private images that list the account. */
export function isVisible(row: ImageRow, account: AccountRow): boolean {
  return row.public === 1 || row.owner === account.id || (JSON.parse(row.acl) as string[]).includes(account.id);
}

/** Image types before API version 8, and the current types that each stands for. */
const oldTypes: ReadonlyMap<string, readonly string[]> = new Map([
  ['smartmachine', ['zone-dataset', 'lx-dataset']],
  ['virtualmachine', ['zvol', 'other']],
]);

/** The image types that a filter selects. @throws {ApiError} 409 `InvalidArgument` for a type that the API version does not have */
export function readTypeFilter(type: string, version: string): readonly string[] {
  if (!hasOldImageTypes(version)) return [type];
  const types = oldTypes.get(type);
  if (types === undefined) throw new ApiError(409, 'InvalidArgument', `image type ${type} is not a valid type`);
  return types;
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
