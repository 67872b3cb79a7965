import type { Image } from '../../api/resources.ts';
import type { AccountRow, ImageRow } from '../store/schema.ts';

/** Whether an account sees an image: public ones, its own, and private ones that name it in their list. */
export function isVisible(row: ImageRow, account: AccountRow): boolean {
  return row.public === 1 || row.owner === account.id || (JSON.parse(row.acl) as string[]).includes(account.id);
}

/** An image as the API shows it. */
export function showImage(row: ImageRow): Image {
  return {
    id: row.id,
    name: row.name,
    version: row.version,
    os: row.os,
    type: row.type,
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
    acl: JSON.parse(row.acl) as string[],
    ...(row.error !== null && { error: JSON.parse(row.error) as NonNullable<Image['error']> }),
  };
}
