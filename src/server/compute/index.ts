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

/** A handler for every operation of the compute service. */
export function createComputeHandlers(): Handlers<typeof compute> {
  return {
    ping: datacenters.ping,

    getAccount: account.getAccount,
    updateAccount: account.updateAccount,
    getAccountLimits,
    getConfig: account.getConfig,
    updateConfig: account.updateConfig,

    listKeys: keys.listKeys,
    getKey: keys.getKey,
    createKey: keys.createKey,
    deleteKey: keys.deleteKey,
    listUserKeys: keys.listUserKeys,
    getUserKey: keys.getUserKey,
    createUserKey: keys.createUserKey,
    deleteUserKey: keys.deleteUserKey,

    listUsers: users.listUsers,
    getUser: users.getUser,
    createUser: users.createUser,
    updateUser: users.updateUser,
    changeUserPassword: users.changeUserPassword,
    deleteUser: users.deleteUser,

    listRoles: roles.listRoles,
    getRole: roles.getRole,
    createRole: roles.createRole,
    updateRole: roles.updateRole,
    deleteRole: roles.deleteRole,
    setRoleTags,

    listPolicies: policies.listPolicies,
    getPolicy: policies.getPolicy,
    createPolicy: policies.createPolicy,
    updatePolicy: policies.updatePolicy,
    deletePolicy: policies.deletePolicy,

    listDatacenters: datacenters.listDatacenters,
    getDatacenter: datacenters.getDatacenter,
    listServices: datacenters.listServices,

    listImages: images.listImages,
    getImage: images.getImage,
    deleteImage: images.deleteImage,
    exportImage,
    createImageFromMachine,
    importImageFromDatacenter,
    updateImage: images.updateImage,
    cloneImage,

    listPackages: packages.listPackages,
    getPackage: packages.getPackage,
  };
}
