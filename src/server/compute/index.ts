import type { compute } from '../../api/compute.ts';
import type { Handlers } from '../http/handler.ts';
import * as account from './account.ts';
import * as datacenters from './datacenters.ts';
import { cloneImage } from './image-clone.ts';
import { createImageFromMachine } from './image-creation.ts';
import { exportImage } from './image-export.ts';
import { importImageFromDatacenter } from './image-import.ts';
import * as images from './images.ts';
import * as keys from './keys.ts';
import { getAccountLimits } from './limits.ts';
import * as packages from './packages.ts';
import * as policies from './policies.ts';
import * as roles from './roles.ts';
import { setRoleTags } from './tags.ts';
import * as users from './users.ts';

/** A handler for every operation of the compute service. Modules that export nothing but handlers name them after their operations. */
export function createComputeHandlers(): Handlers<typeof compute> {
  return {
    // With spread alone, the exports of these modules would be reported as unused.
    ...Object.assign({}, account, datacenters, keys),
    ...Object.assign({}, policies, roles, users),
    ...Object.assign({}, images, packages),
    getAccountLimits,
    setRoleTags,
    exportImage,
    createImageFromMachine,
    importImageFromDatacenter,
    cloneImage,
  };
}
