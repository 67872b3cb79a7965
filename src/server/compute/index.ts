import type { compute } from '../../api/compute.ts';
import { notImplemented, type Handlers } from '../handler.ts';
import * as account from './account.ts';
import * as datacenters from './datacenters.ts';
import * as images from './images.ts';
import * as keys from './keys.ts';
import * as packages from './packages.ts';

/** A handler for every operation of the compute service. */
export function createComputeHandlers(): Handlers<typeof compute> {
  return {
    ping: datacenters.ping,

    getAccount: account.getAccount,
    updateAccount: account.updateAccount,
    getAccountLimits: account.getAccountLimits,
    getConfig: account.getConfig,
    updateConfig: account.updateConfig,

    listKeys: keys.listKeys,
    getKey: keys.getKey,
    createKey: keys.createKey,
    deleteKey: keys.deleteKey,
    listUserKeys: notImplemented,
    getUserKey: notImplemented,
    createUserKey: notImplemented,
    deleteUserKey: notImplemented,

    listUsers: notImplemented,
    getUser: notImplemented,
    createUser: notImplemented,
    updateUser: notImplemented,
    changeUserPassword: notImplemented,
    deleteUser: notImplemented,

    listRoles: notImplemented,
    getRole: notImplemented,
    createRole: notImplemented,
    updateRole: notImplemented,
    deleteRole: notImplemented,
    setRoleTags: notImplemented,

    listPolicies: notImplemented,
    getPolicy: notImplemented,
    createPolicy: notImplemented,
    updatePolicy: notImplemented,
    deletePolicy: notImplemented,

    listDatacenters: datacenters.listDatacenters,
    getDatacenter: datacenters.getDatacenter,
    listServices: datacenters.listServices,

    listImages: images.listImages,
    getImage: images.getImage,
    deleteImage: notImplemented,
    exportImage: notImplemented,
    createImageFromMachine: notImplemented,
    importImageFromDatacenter: notImplemented,
    updateImage: notImplemented,
    cloneImage: notImplemented,

    listPackages: packages.listPackages,
    getPackage: packages.getPackage,
  };
}
