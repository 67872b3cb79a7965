import { randomUUID } from 'node:crypto';
import type { compute } from '../../api/compute.ts';
import { ApiError } from '../../base/errors.ts';
import { isUuid } from '../../base/uuid.ts';
import { creationCodes } from '../faults/failure.ts';
import { writeBoth } from '../http/common-headers.ts';
import { Answer, type Call, type Handler } from '../http/handler.ts';
import { discardContents, discardOnRollback } from '../storage/garbage.ts';
import type { ImageCreationRow, MachineRow } from '../store/compute-schema.ts';
import { isDiskFull } from '../store/disk-full.ts';
import { emptyImage } from '../store/empty-image.ts';
import type { ImageRow } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { makeImageFile } from './image-file.ts';
import { readImageFields } from './image-input.ts';
import { insertImage } from './image-limit.ts';
import { showImage } from './image-shape.ts';

/** Default duration of image creation, milliseconds. */
const usualTime = 1000;

const creationMessages: Readonly<Record<string, string>> = {
  PrepareImageDidNotRun:
    'the preparation script did not run: the guest tools are too old, the boot took more than five minutes, or the script crashed',
  VmHasNoOrigin: 'the instance has no origin image',
  NotSupported: 'cannot create an image from an instance that is based on a custom image',
  InternalError: 'an internal error occurred',
};

/** Type of the images created from instances of a brand. */
const typesByBrand: Readonly<Record<string, string>> = { lx: 'lx-dataset', kvm: 'zvol', bhyve: 'zvol' };

async function requireMachine(id: string, { account, store }: Call): Promise<MachineRow> {
  if (!isUuid(id)) throw new ApiError(409, 'InvalidArgument', `machine must be a UUID, not "${id}"`);
  const query = store.db.selectFrom('machines').selectAll().where('account', '=', account.id);
  const machine = await query.where('id', '=', id.toLowerCase()).executeTakeFirst();
  if (machine === undefined) throw new ApiError(409, 'InvalidArgument', `machine: the account has no instance ${id}`);
  if (machine.state !== 'stopped') throw new ApiError(409, 'InvalidArgument', `machine: instance ${id} is ${machine.state}; stop it first`);
  return machine;
}

/** The error that a sample instance produces, encoded in its name. */
function readFailure({ name }: MachineRow): string | undefined {
  return /^fails-(\w+)$/u.exec(name)?.[1];
}

/** Throws errors with which the request itself is rejected. */
function refuseAtOnce(failure: string | undefined): void {
  if (failure === 'InsufficientServerVersionError')
    throw new ApiError(422, failure, 'the server of the instance is too old to create images');
  if (failure === 'NotAvailable') throw new ApiError(501, failure, 'images cannot be created in this datacenter');
}

async function describeImage(machine: MachineRow, fields: Partial<ImageRow>, { account, store }: Call): Promise<ImageRow> {
  const origin = await store.db.selectFrom('images').selectAll().where('id', '=', machine.image).executeTakeFirst();
  return {
    ...emptyImage,
    name: '',
    version: '',
    ...fields,
    id: randomUUID(),
    os: machine.os,
    type: typesByBrand[machine.brand] ?? 'zone-dataset',
    owner: account.id,
    public: 0,
    state: 'creating',
    requirements: origin?.requirements ?? '{}',
  };
}

/**
 * CreateImageFromMachine: responds immediately with the image in state `creating`. Errors: 409 `InvalidArgument` for an instance that does
 * not exist or is not stopped, 422 `InsufficientServerVersionError`, 501 `NotAvailable`.
 */
export const createImageFromMachine: Handler<typeof compute.createImageFromMachine> = async (input, call) => {
  const { account, store, settings, now } = call;
  const fields = readImageFields(input);
  const machine = await requireMachine(input.machine, call);
  const failure = readFailure(machine);
  refuseAtOnce(failure);
  const image = await describeImage(machine, fields, call);
  const fails = settings.faults?.takeCreation() ?? creationCodes.find((code) => code === failure) ?? null;
  const creation = { image: image.id, job: randomUUID(), machine: machine.id, due: now() + (settings.imageTime ?? usualTime), fails };
  await store.write(async (transaction) => {
    await insertImage(transaction, call, image);
    await transaction.insertInto('image_creations').values(creation).execute();
  });
  const headers = { location: `/${account.login}/images/${image.id}`, ...writeBoth('job-id', creation.job) };
  return new Answer(showImage(image, call), { headers });
};

async function fail({ image, fails }: ImageCreationRow, store: Store): Promise<void> {
  const error = JSON.stringify({ code: fails, message: creationMessages[fails ?? ''] ?? '' });
  await store.write(async (transaction) => {
    await transaction.updateTable('images').set({ state: 'failed', error }).where('id', '=', image).execute();
    await transaction.deleteFrom('image_creations').where('image', '=', image).execute();
  });
}

async function finish({ image, machine, due }: ImageCreationRow, store: Store): Promise<void> {
  const file = await makeImageFile(store, `${machine} ${image}`);
  const take = (): Promise<boolean> =>
    store.write(async (transaction) => {
      const [creation] = await transaction.deleteFrom('image_creations').where('image', '=', image).returning('image').execute();
      if (creation === undefined) return false;
      await transaction
        .updateTable('images')
        .set({ state: 'active', published_at: due, ...file })
        .where('id', '=', image)
        .execute();
      return true;
    });
  const isTaken = await discardOnRollback(store, [file], take);
  // Another request was faster, or the image has been deleted.
  if (!isTaken) await discardContents(store, [file]);
}

/**
 * Completes the background step of due image creations. Every request about images calls this function, so that no state is kept between
 * requests: the step also happens after a restart, in whichever of several processes gets a request. While there is no room for the file,
 * or the store of contents is unavailable, the image stays in state `creating`, and requests that need no file are answered.
 */
export async function settleCreations({ store, now }: Pick<Call, 'store' | 'now'>): Promise<void> {
  const due = await store.db.selectFrom('image_creations').selectAll().where('due', '<=', now()).execute();
  for (const creation of due) {
    try {
      await (creation.fails === null ? finish(creation, store) : fail(creation, store));
    } catch (error) {
      if (!isDiskFull(error) && !(error instanceof StoreUnavailable)) throw error;
    }
  }
}
