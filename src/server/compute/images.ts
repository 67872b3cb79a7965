import type { compute } from '../../api/compute.ts';
import type { InputOf } from '../../api/operation.ts';
import type { Image } from '../../api/resources.ts';
import { ApiError } from '../../errors.ts';
import type { Call } from '../handler.ts';
import type { AccountRow, ImageRow } from '../store/schema.ts';

/** Columns that stay away from the shown image when they are empty. */
const optionalColumns = ['description', 'homepage', 'eula', 'origin'] as const;

function showImage(row: ImageRow): Image {
  const filled = optionalColumns.flatMap((column) => (row[column] === null ? [] : [[column, row[column]] as const]));
  return {
    id: row.id,
    name: row.name,
    version: row.version,
    os: row.os,
    type: row.type,
    ...Object.fromEntries(filled),
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

/** Public images, the account's own, and private ones that name the account in their list. */
function isVisible(row: ImageRow, account: AccountRow): boolean {
  return row.public === 1 || row.owner === account.id || (JSON.parse(row.acl) as string[]).includes(account.id);
}

/** ListImages, the oldest first; only active ones unless `state` says otherwise. */
export async function listImages(filter: InputOf<typeof compute.listImages>, { account, store }: Call): Promise<Image[]> {
  let query = store.db.selectFrom('images').selectAll().orderBy('published_at').orderBy('id');
  for (const column of ['name', 'os', 'version', 'owner', 'type'] as const) {
    const value = filter[column];
    if (value !== undefined) query = query.where(column, '=', value);
  }
  const { public: isPublic, state = 'active' } = filter;
  if (isPublic !== undefined) query = query.where('public', '=', isPublic ? 1 : 0);
  if (state !== 'all') query = query.where('state', '=', state);
  const rows = await query.execute();
  return rows.filter((row) => isVisible(row, account)).map(showImage);
}

/** GetImage; 404 also for one that the account may not see. */
export async function getImage({ id }: InputOf<typeof compute.getImage>, { account, store }: Call): Promise<Image> {
  const row = await store.db.selectFrom('images').selectAll().where('id', '=', id).executeTakeFirst();
  if (row === undefined || !isVisible(row, account)) throw new ApiError(404, 'ResourceNotFound', `image ${id} does not exist`);
  return showImage(row);
}
