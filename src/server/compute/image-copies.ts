import { randomUUID } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import type { compute } from '../../api/compute.ts';
import { ApiError } from '../../errors.ts';
import { Answer, type Call, type Handler } from '../handler.ts';
import { operator } from '../operator.ts';
import type { ImageRow, Schema } from '../store/schema.ts';
import { settleCreations } from './image-creation.ts';
import { makeImageFile } from './image-file.ts';
import { showImage } from './image-shape.ts';
import { requireImage } from './images.ts';
import { listSecondImages, nameSecond } from './second-datacenter.ts';

/** The origin of a clone: copied too where it is not the operator's, and then hidden. */
async function cloneOrigin(transaction: Transaction<Schema>, source: ImageRow, call: Call): Promise<string | null> {
  if (source.origin === null) return null;
  const origin = await transaction.selectFrom('images').selectAll().where('id', '=', source.origin).executeTakeFirst();
  if (origin === undefined || origin.owner === operator) return source.origin;
  if (origin.owner !== source.owner) {
    throw new ApiError(422, 'NotImageOwnerError', `the owner of image ${source.id} does not own its origin ${origin.id}`);
  }
  const copy: ImageRow = { ...origin, id: randomUUID(), owner: call.account.id, public: 0, acl: '[]', state: 'disabled' };
  const above = await cloneOrigin(transaction, origin, call);
  await transaction
    .insertInto('images')
    .values({ ...copy, origin: above })
    .execute();
  return copy.id;
}

/** CloneImage. Errors: 422 `ImageNotShared` when the image does not name the account, 422 `NotImageOwnerError` for an origin of a third one. */
export const cloneImage: Handler<typeof compute.cloneImage> = async ({ id }, call) => {
  await settleCreations(call);
  const { account, store } = call;
  const row = await store.write(async (transaction) => {
    const source = await requireImage(transaction, account, id);
    if (!(JSON.parse(source.acl) as string[]).includes(account.id)) {
      throw new ApiError(422, 'ImageNotShared', `image ${id} is not shared with ${account.login}`);
    }
    const origin = await cloneOrigin(transaction, source, call);
    const copy: ImageRow = { ...source, id: randomUUID(), owner: account.id, public: 0, acl: '[]', origin };
    await transaction.insertInto('images').values(copy).execute();
    return copy;
  });
  return showImage(row);
};

/** Images of another datacenter that the account may fetch. */
interface Source {
  find(id: string): ImageRow | undefined;
}

async function openSource(name: string, { account, store, datacenter }: Call): Promise<Source> {
  if (name === nameSecond(datacenter)) {
    const images = listSecondImages(account.id);
    return { find: (id) => images.find((image) => image.id === id) };
  }
  const known = await store.db.selectFrom('datacenters').select('name').where('name', '=', name).executeTakeFirst();
  if (known === undefined) throw new ApiError(409, 'InvalidArgument', `datacenter: there is no datacenter ${name}`);
  return { find: () => undefined };
}

function findSource(source: Source, id: string, datacenter: string): ImageRow {
  const image = source.find(id);
  if (image === undefined) throw new ApiError(404, 'ResourceNotFound', `image ${id} does not exist in ${datacenter}`);
  return image;
}

/** The images that have to be fetched for one, the last origin first. */
async function collectChain(db: Kysely<Schema>, source: Source, image: ImageRow, datacenter: string): Promise<ImageRow[]> {
  const { origin } = image;
  if (origin === null) return [image];
  const here = await db.selectFrom('images').select(['id', 'state']).where('id', '=', origin).executeTakeFirst();
  const above = here ?? findSource(source, origin, datacenter);
  if (above.state !== 'active') throw new ApiError(422, 'OriginIsNotActiveError', `the origin ${origin} is ${above.state}, not active`);
  if (here !== undefined) return [image];
  return [...(await collectChain(db, source, findSource(source, origin, datacenter), datacenter)), image];
}

async function checkAbsent(db: Kysely<Schema>, id: string): Promise<void> {
  const here = await db.selectFrom('images').select('id').where('id', '=', id).executeTakeFirst();
  if (here !== undefined) throw new ApiError(409, 'ImageUuidAlreadyExistsError', `image ${id} is in this datacenter already`);
}

/**
 * ImportImageFromDatacenter: the image and the origins that are not here yet keep their ids and dates. Errors: 409
 * `ImageUuidAlreadyExistsError`, 403 `UnauthorizedError` for one of the operator, 422 `OriginIsNotActiveError`, 404 for one that is not there.
 */
export const importImageFromDatacenter: Handler<typeof compute.importImageFromDatacenter> = async ({ datacenter, id }, call) => {
  const { account, store } = call;
  const source = await openSource(datacenter, call);
  await checkAbsent(store.db, id);
  const image = findSource(source, id, datacenter);
  if (image.owner !== account.id)
    throw new ApiError(403, 'UnauthorizedError', `image ${id} belongs to another account, the operator for one`);
  const chain = await collectChain(store.db, source, image, datacenter);
  const rows: ImageRow[] = [];
  for (const each of chain) rows.push({ ...each, ...(await makeImageFile(store, each.id)) });
  try {
    await store.write(async (transaction) => {
      for (const row of rows) {
        await checkAbsent(transaction, row.id);
        await transaction.insertInto('images').values(row).execute();
      }
    });
  } catch (error) {
    for (const { content } of rows) if (error instanceof ApiError && content !== null) await store.bytes.remove(content);
    throw error;
  }
  return new Answer(showImage(rows.at(-1) ?? image), { headers: { location: `/${account.login}/images/${id}` } });
};
