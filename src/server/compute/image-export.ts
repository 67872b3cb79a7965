import { createHash } from 'node:crypto';
import type { Transaction } from 'kysely';
import { writeAliases } from '../../api/aliases.ts';
import type { compute } from '../../api/compute.ts';
import { streamOf } from '../../api/message.ts';
import { storage } from '../../api/storage.ts';
import { ApiError } from '../../base/errors.ts';
import type { Call, Handler } from '../http/handler.ts';
import { newestVersion } from '../http/version.ts';
import { discardOnRollback, releaseContents, removeGarbage, type Garbage } from '../storage/garbage.ts';
import { describeStored, findEntry, findForWriting, putEntry, refuseDirectory } from '../storage/entries.ts';
import { chooseObjectHeaders, defaultCopies } from '../storage/headers.ts';
import { childOf, placeOf, placeOfAbsolute, parentOf, refuseRoot, refuseUploads, type Place } from '../storage/paths.ts';
import { assertQuota, growthOf } from '../storage/quota.ts';
import type { StoredBytes } from '../store/bytes.ts';
import { DamagedContent, explainDamage } from '../store/damaged.ts';
import type { ImageRow, Schema } from '../store/schema.ts';
import { settleCreations } from './image-creation.ts';
import { fileOf } from './image-file.ts';
import { requireOwnImage, showImage } from './image-shape.ts';

/** File extensions by compression. */
const extensions: Readonly<Record<string, string>> = { gzip: '.gz', bzip2: '.bz2' };

interface Target {
  manifest: Place;
  image: Place;
}

/**
 * Paths of the two files (compute specification, section 4): in the given directory under the image's name, or else with the given path as
 * a prefix.
 */
async function chooseTarget(path: string, row: ImageRow, { account, store }: Call): Promise<Target> {
  const place = placeOfAbsolute(path);
  if (place === undefined) throw new ApiError(409, 'InvalidArgument', `storage_path must be a path like /${account.login}/stor/name`);
  if (place.login !== account.login) throw new ApiError(403, 'NotAuthorized', `storage_path: ${path} belongs to another account`);
  const isDirectory = (await findEntry(store.db, place))?.type === 'directory';
  const name = `${row.name}-${row.version}`.replaceAll('/', '-');
  const extension = extensions[fileOf(row).compression ?? 'none'] ?? '';
  const above = parentOf(place);
  if (isDirectory) return { manifest: childOf(place, `${name}.imgmanifest`), image: childOf(place, `${name}.zfs${extension}`) };
  if (above === undefined) throw new ApiError(409, 'InvalidArgument', `storage_path: ${path} cannot hold files`);
  return { manifest: childOf(above, `${place.name}.imgmanifest`), image: childOf(above, `${place.name}.zfs${extension}`) };
}

function checkTarget({ manifest, image }: Target): void {
  for (const place of [manifest, image]) {
    refuseRoot(placeOf(place.login, place.parts.join('/')));
    refuseUploads(place);
  }
}

/** Sub-users need permission to put both files. */
async function demandAccess(target: Target, { account, requireAccess }: Call): Promise<void> {
  for (const { parts, path } of [target.manifest, target.image]) {
    try {
      await requireAccess(storage.putObject, { account: account.login, path: parts.join('/') });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 403) throw error;
      throw new ApiError(403, 'NotAuthorized', `You do not have permission to access ${path} (putobject)`, { cause: error });
    }
  }
}

function writeManifest(row: ImageRow): Buffer {
  const { id, ...shown } = showImage(row, { version: newestVersion });
  return Buffer.from(`${JSON.stringify({ v: 2, uuid: id, ...shown, disabled: row.state === 'disabled' }, null, 2)}\n`);
}

/**
 * The image's file as the content of an object. Both share the same content, so no bytes are copied.
 * @throws {DamagedContent} for a file that is missing, or is not that of the image
 */
async function describeFile({ store }: Call, row: ImageRow): Promise<StoredBytes> {
  const { id, content, state } = row;
  if (content === null && state !== 'active')
    throw new ApiError(409, 'InvalidArgument', `id: image ${id} is ${state} and has no file to export`);
  if (content === null) throw new ApiError(501, 'NotAvailable', `the file of image ${id} is not in this datacenter`);
  const { size = 0, sha1 } = fileOf(row);
  const [hash, check] = [createHash('md5'), createHash('sha1')];
  try {
    for await (const piece of await store.bytes.read(content, 0, size)) {
      hash.update(piece);
      check.update(piece);
    }
    if (sha1 !== undefined && check.digest('hex') !== sha1) throw new DamagedContent(`does not have its SHA-1 ${sha1}`);
  } catch (error) {
    throw explainDamage(error, content, `image ${id}`);
  }
  return { id: content, size, md5: hash.digest('base64') };
}

async function putFile(transaction: Transaction<Schema>, place: Place, bytes: StoredBytes, type: string, call: Call): Promise<Garbage[]> {
  const { parent, entry } = await findForWriting(transaction, place);
  refuseDirectory(place, entry);
  await putEntry(transaction, place, entry, {
    ...describeStored(bytes, call.now()),
    copies: defaultCopies,
    headers: JSON.stringify(chooseObjectHeaders({ 'content-type': type }, place)),
    role_tags: entry?.role_tags ?? parent.role_tags,
  });
  await assertQuota(transaction, call, growthOf(entry, bytes.size));
  return releaseContents(transaction, [entry]);
}

/** An error of the object storage about the path, in the codes of the compute service; any other error as it is. */
function translatePathError(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const { status, code, message } = error;
  const told = `storage_path: ${message}`;
  if (status === 404 && code === 'DirectoryDoesNotExist') return new ApiError(404, 'ResourceNotFound', told, { cause: error });
  return status === 400 || status === 405 ? new ApiError(409, 'InvalidArgument', told, { cause: error }) : error;
}

/** Writes both files. @throws {ApiError} with codes of the object storage for a path that cannot be written */
async function writeFiles(row: ImageRow, path: string, call: Call): Promise<Target> {
  const { account, store } = call;
  const target = await chooseTarget(path, row, call);
  checkTarget(target);
  await demandAccess(target, call);
  const file = await describeFile(call, row);
  const manifest = await store.bytes.write(streamOf(writeManifest(row)));
  const put = (): Promise<Garbage[]> =>
    store.write(async (transaction) => {
      await requireOwnImage(transaction, account, row.id);
      const first = await putFile(transaction, target.image, file, 'application/octet-stream', call);
      return [...first, ...(await putFile(transaction, target.manifest, manifest, 'application/json', call))];
    });
  await removeGarbage(store, await discardOnRollback(store, [{ content: manifest.id }], put));
  return target;
}

/**
 * ExportImage: writes manifest and file into the caller's storage. Errors: 422 `NotImageOwnerError`, 403 `NotAuthorized` for a path of
 * another account, 409 `InvalidArgument` for an invalid path and for an image that is not active and has no file, 404 `ResourceNotFound` if
 * the directory does not exist, 507 `NotEnoughSpace` if the account has no room for the files.
 */
export const exportImage: Handler<typeof compute.exportImage> = async ({ id, storage_path: path }, call) => {
  await settleCreations(call);
  const { account, store } = call;
  const row = await requireOwnImage(store.db, account, id);
  const target = await writeFiles(row, path, call).catch((error: unknown) => {
    throw translatePathError(error);
  });
  const service = await store.db.selectFrom('services').select('url').where('name', '=', 'storage').executeTakeFirst();
  const url = call.settings.addresses?.().services['storage'] ?? service?.url ?? '';
  const location = { storage_url: url, image_path: target.image.path, manifest_path: target.manifest.path };
  return { ...location, ...writeAliases(location) };
};
