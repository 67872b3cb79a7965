import type { Kysely } from 'kysely';
import type { compute } from '../../api/compute.ts';
import type { InputOf } from '../../api/operation.ts';
import type { Image } from '../../api/resources.ts';
import { ApiError } from '../../base/errors.ts';
import type { Call, Handler } from '../http/handler.ts';
import { releaseContents, removeGarbage } from '../storage/garbage.ts';
import { rememberQuery } from '../store/remembered-query.ts';
import type { ImageRow, Schema } from '../store/schema.ts';
import { settleCreations } from './image-creation.ts';
import { readImageFields } from './image-input.ts';
import { assertListFits } from './list-limit.ts';
import { clearTags } from './tags.ts';
import { listImageFilters, requireImage, requireOwnImage, selectVisibleIds, showImage } from './image-shape.ts';

/** An account, and what it selects of the images that it may see. */
interface Listed {
  readonly id: string;
  readonly filters: ReturnType<typeof listImageFilters>;
}

/** The rows of a list. They are remembered: reading 100 of them takes a third of the time of the request. */
const selectListed = rememberQuery(
  'identities',
  (db, { id, filters }: Listed): Promise<ImageRow[]> => {
    let images = db.selectFrom('images').selectAll().where('id', 'in', selectVisibleIds(db, { id }));
    for (const [column, values] of filters) images = images.where(column, 'in', values);
    return images.orderBy('published_at').orderBy('id').execute();
  },
  (row) => Object.values(row).join('').length,
);

/** ListImages, oldest first. */
export async function listImages(filter: InputOf<typeof compute.listImages>, call: Call): Promise<Image[]> {
  await settleCreations(call);
  const rows = await selectListed(call.store.db, { id: call.account.id, filters: listImageFilters(filter, call.version) });
  return rows.map((row) => showImage(row, call));
}

export const getImage: Handler<typeof compute.getImage> = async ({ id }, call) => {
  await settleCreations(call);
  return showImage(await requireImage(call.store.db, call.account, id), call);
};

/** UpdateImage: an empty text clears a field. Errors: 409 `InvalidArgument`, 422 `NotImageOwnerError`. */
export const updateImage: Handler<typeof compute.updateImage> = async (input, call) => {
  await settleCreations(call);
  const { account, store } = call;
  // Looked up first, so that an image that does not exist is 404 whatever the fields are.
  await requireOwnImage(store.db, account, input.id);
  const changes = readImageFields(input);
  const row = await store.write(async (transaction) => {
    const before = await requireOwnImage(transaction, account, input.id);
    if (Object.keys(changes).length === 0) return before;
    const after = await transaction.updateTable('images').set(changes).where('id', '=', before.id).returningAll().executeTakeFirstOrThrow();
    await assertListFits(transaction, call, 'images', after, before);
    return after;
  });
  return showImage(row, call);
};

async function checkUnused(db: Kysely<Schema>, id: string): Promise<void> {
  const machine = await db.selectFrom('machines').select('id').where('image', '=', id).executeTakeFirst();
  if (machine !== undefined) throw new ApiError(409, 'InUseError', `image ${id} is used by instance ${machine.id}`);
  const child = await db.selectFrom('images').select('id').where('origin', '=', id).executeTakeFirst();
  if (child !== undefined) throw new ApiError(409, 'InUseError', `image ${id} is the origin of image ${child.id}`);
}

/**
 * DeleteImage. Errors: 403 `NotAuthorized` for an image of another account, 409 `InUseError` for an image that instances or other images
 * need.
 */
export const deleteImage: Handler<typeof compute.deleteImage> = async ({ id }, call) => {
  await settleCreations(call);
  const { account, store } = call;
  const garbage = await store.write(async (transaction) => {
    const row = await requireImage(transaction, account, id);
    if (row.owner !== account.id) throw new ApiError(403, 'NotAuthorized', `image ${id} belongs to another account`);
    await checkUnused(transaction, row.id);
    await clearTags(transaction, account, `images/${row.id}`);
    await transaction.deleteFrom('images').where('id', '=', row.id).execute();
    return releaseContents(transaction, [row]);
  });
  await removeGarbage(store, garbage);
  return {};
};
