import { randomUUID } from 'node:crypto';
import type { Transaction } from 'kysely';
import type { compute } from '../../api/compute.ts';
import { ApiError } from '../../base/errors.ts';
import type { Call, Handler } from '../http/handler.ts';
import { operator } from '../seed/operator.ts';
import type { ImageRow, Schema } from '../store/schema.ts';
import { settleCreations } from './image-creation.ts';
import { insertImage } from './image-limit.ts';
import { requireImage, showImage } from './image-shape.ts';

/** The origin of a cloned image. Unless it belongs to the operator, it is copied too, in state `disabled`. */
async function cloneOrigin(transaction: Transaction<Schema>, source: ImageRow, call: Call): Promise<string | null> {
  if (source.origin === null) return null;
  const origin = await transaction.selectFrom('images').selectAll().where('id', '=', source.origin).executeTakeFirst();
  if (origin === undefined || origin.owner === operator) return source.origin;
  if (origin.owner !== source.owner) {
    throw new ApiError(422, 'NotImageOwnerError', `the owner of image ${source.id} does not own its origin ${origin.id}`);
  }
  const copy: ImageRow = { ...origin, id: randomUUID(), owner: call.account.id, public: 0, acl: '[]', state: 'disabled' };
  const above = await cloneOrigin(transaction, origin, call);
  await insertImage(transaction, call, { ...copy, origin: above });
  return copy.id;
}

/**
 * CloneImage. Errors: 422 `ImageNotShared` if the image does not list the account, 422 `NotImageOwnerError` for an origin of a third
 * account, 409 `InvalidArgument` for an image without a file.
 */
export const cloneImage: Handler<typeof compute.cloneImage> = async ({ id }, call) => {
  await settleCreations(call);
  const { account, store } = call;
  const row = await store.write(async (transaction) => {
    const source = await requireImage(transaction, account, id);
    if (!(JSON.parse(source.acl) as string[]).includes(account.id)) {
      throw new ApiError(422, 'ImageNotShared', `image ${id} is not shared with ${account.login}`);
    }
    // If the image is still being created, nothing would ever complete its copy.
    if (source.content === null && source.state !== 'active') {
      throw new ApiError(409, 'InvalidArgument', `id: image ${id} is ${source.state} and has no file to copy`);
    }
    const origin = await cloneOrigin(transaction, source, call);
    const copy: ImageRow = { ...source, id: randomUUID(), owner: account.id, public: 0, acl: '[]', origin };
    await insertImage(transaction, call, copy);
    return copy;
  });
  return showImage(row, call);
};
