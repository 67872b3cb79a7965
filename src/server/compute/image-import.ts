import type { Kysely } from 'kysely';
import type { compute } from '../../api/compute.ts';
import { ApiError } from '../../base/errors.ts';
import { undoOnFailure } from '../../base/undo-on-failure.ts';
import { Answer, type Call, type Handler } from '../http/handler.ts';
import { openPeer } from '../peers/client.ts';
import { discardContents, discardOnRollback } from '../storage/garbage.ts';
import type { ImageRow, Schema } from '../store/schema.ts';
import { makeImageFile, storeRecorded, type ImageFile } from './image-file.ts';
import { insertImage } from './image-limit.ts';
import { showImage } from './image-shape.ts';
import { listSecondImages, nameSecond } from '../peers/second-datacenter.ts';

/** Images of another datacenter. */
interface Source {
  /** Finds an image; its owner is an account id of this datacenter. */
  find(id: string): Promise<ImageRow | undefined>;
  /** Copies the file of an image into the byte store. */
  fetchFile(image: ImageRow): Promise<ImageFile>;
}

function openSecond({ account, store }: Call): Source {
  const images = listSecondImages(account.id);
  return { find: async (id) => images.find((image) => image.id === id), fetchFile: ({ id }) => makeImageFile(store, id) };
}

/** Another local service: its accounts correspond to accounts here with the same login. */
function openOther(name: string, dir: string, { account, store }: Call): Source {
  const peer = openPeer(name, dir);
  return {
    find: async (id) => {
      const found = await peer.findImage(id);
      return found && { ...found.image, owner: found.login === account.login ? account.id : found.image.owner };
    },
    fetchFile: async ({ id, content, files }) => {
      if (content === null) return makeImageFile(store, id);
      const differs = `the file of image ${id} from ${name} differs from its record: try again; if that fails too, it is damaged there`;
      return storeRecorded(store, peer.readFile(id), files, () => new ApiError(503, 'ServiceUnavailable', differs));
    },
  };
}

async function openSource(name: string, call: Call): Promise<Source> {
  const { store, datacenter, settings } = call;
  const dir = settings.peers?.get(name);
  if (dir !== undefined) return openOther(name, dir, call);
  if (name === nameSecond(datacenter)) return openSecond(call);
  const known = await store.db.selectFrom('datacenters').select('name').where('name', '=', name).executeTakeFirst();
  if (known === undefined) throw new ApiError(409, 'InvalidArgument', `datacenter: there is no datacenter ${name}`);
  // This datacenter itself: all of its images are here already.
  return { find: async () => undefined, fetchFile: ({ id }) => makeImageFile(store, id) };
}

async function requireSource(source: Source, id: string, datacenter: string): Promise<ImageRow> {
  const image = await source.find(id);
  if (image === undefined) throw new ApiError(404, 'ResourceNotFound', `image ${id} does not exist in ${datacenter}`);
  return image;
}

/** @throws 422 `OriginIsNotActiveError` @param state of an origin; undefined if it does not exist */
function assertActive(origin: string, state: string | undefined): void {
  if (state === 'active') return;
  throw new ApiError(422, 'OriginIsNotActiveError', `the origin ${origin} is ${state ?? 'missing'}, not active`);
}

async function findState(db: Kysely<Schema>, id: string): Promise<string | undefined> {
  const here = await db.selectFrom('images').select('state').where('id', '=', id).executeTakeFirst();
  return here?.state;
}

/**
 * The image and those of its origins that must be fetched too, in the order of insertion: origins come before the images that need them.
 */
async function collectChain(
  db: Kysely<Schema>,
  source: Source,
  image: ImageRow,
  datacenter: string,
  above: readonly string[] = [],
): Promise<ImageRow[]> {
  const { origin } = image;
  if (origin === null) return [image];
  const ids = [...above, image.id];
  if (ids.includes(origin)) throw new ApiError(503, 'ServiceUnavailable', `image ${origin} of ${datacenter} is its own origin`);
  const here = await findState(db, origin);
  const there = here === undefined ? await requireSource(source, origin, datacenter) : undefined;
  assertActive(origin, here ?? there?.state);
  return there === undefined ? [image] : [...(await collectChain(db, source, there, datacenter, ids)), image];
}

async function checkAbsent(db: Kysely<Schema>, id: string): Promise<void> {
  if ((await findState(db, id)) !== undefined)
    throw new ApiError(409, 'ImageUuidAlreadyExistsError', `image ${id} is already in this datacenter`);
}

async function insertImages(call: Call, rows: readonly ImageRow[]): Promise<void> {
  await call.store.write(async (transaction) => {
    for (const row of rows) {
      await checkAbsent(transaction, row.id);
      // It may have been deleted while the files were fetched.
      if (row.origin !== null) assertActive(row.origin, await findState(transaction, row.origin));
      await insertImage(transaction, call, row);
    }
  });
}

/**
 * ImportImageFromDatacenter: the image, and its origins that are not here yet, keep their ids and dates. Errors: 409
 * `ImageUuidAlreadyExistsError`, 409 `InvalidArgument` for an image that is not active, 403 `UnauthorizedError` for an image of another
 * account, such as the operator, 422 `OriginIsNotActiveError`, 404 for an image that does not exist, 501 `NotAvailable` if the other
 * datacenter does not have its file.
 */
export const importImageFromDatacenter: Handler<typeof compute.importImageFromDatacenter> = async ({ datacenter, id: given }, call) => {
  const { account, store } = call;
  const id = given.toLowerCase();
  const source = await openSource(datacenter, call);
  await checkAbsent(store.db, id);
  const image = await requireSource(source, id, datacenter);
  if (image.owner !== account.id) throw new ApiError(403, 'UnauthorizedError', `image ${id} belongs to another account or to the operator`);
  if (image.state !== 'active')
    throw new ApiError(409, 'InvalidArgument', `id: image ${id} is ${image.state} in ${datacenter}, not active`);
  const rows: ImageRow[] = [];
  await undoOnFailure(
    () => discardContents(store, rows),
    async () => {
      for (const each of await collectChain(store.db, source, image, datacenter))
        rows.push({ ...each, acl: '[]', ...(await source.fetchFile(each)) });
    },
  );
  await discardOnRollback(store, rows, () => insertImages(call, rows));
  return new Answer(showImage(rows.at(-1) ?? image, call), { headers: { location: `/${account.login}/images/${id}` } });
};
