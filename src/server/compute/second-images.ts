import type { compute } from '../../api/compute.ts';
import { ApiError } from '../../base/errors.ts';
import type { FindImage, Handler, Handlers } from '../http/handler.ts';
import { listSecondImages } from '../peers/second-datacenter.ts';
import { listDatacenters, listServices as listSharedServices } from './datacenters.ts';
import { listImageFilters, showImage } from './image-shape.ts';
import { createComputeHandlers } from './index.ts';
import { createUnknownError } from './names.ts';

/** ListImages of the second datacenter, with the same filters as in the first. */
const listImages: Handler<typeof compute.listImages> = async (filter, call) => {
  const filters = listImageFilters(filter, call.version);
  return listSecondImages(call.account.id)
    .filter((row) => filters.every(([column, values]) => values.includes(row[column])))
    .map((row) => showImage(row, call));
};

const findImage: FindImage = async (_, account, id) => listSecondImages(account.id).find((image) => image.id === id.toLowerCase());

/** GetImage of the second datacenter. */
const getImage: Handler<typeof compute.getImage> = async ({ id }, call) => {
  const row = await findImage(call.store.db, call.account, id);
  if (row === undefined) throw createUnknownError('image', id);
  return showImage(row, call);
};

/** ListServices of the second datacenter, whose compute service is its own. */
const listServices: Handler<typeof compute.listServices> = async (input, call) => {
  const [services, datacenters] = [await listSharedServices(input, call), await listDatacenters(input, call)];
  const own = datacenters[call.datacenter];
  return own === undefined ? services : { ...services, compute: own };
};

/** Operations that would change images of the second datacenter: 501 `NotAvailable`. */
const refuseChange = async (_: unknown, { datacenter }: { datacenter: string }): Promise<never> => {
  throw new ApiError(
    501,
    'NotAvailable',
    `the images of ${datacenter} are built in and cannot be changed: import them into another datacenter`,
  );
};

/**
 * What serves the compute service of the second datacenter: a handler for every operation, and its images for access and role tags.
 * Resources of the account are shared by all datacenters of a cloud; the images are those that can be imported from the second one.
 */
export function describeSecond(): { readonly handlers: Handlers<typeof compute>; readonly findImage: FindImage } {
  const handlers = {
    ...createComputeHandlers(),
    listServices,
    listImages,
    getImage,
    deleteImage: refuseChange,
    exportImage: refuseChange,
    createImageFromMachine: refuseChange,
    importImageFromDatacenter: refuseChange,
    updateImage: refuseChange,
    cloneImage: refuseChange,
  };
  return { handlers, findImage };
}
