import { createHash } from 'node:crypto';
import { compute } from '../../src/api/compute.ts';
import type { Operation } from '../../src/api/operation.ts';
import { storage } from '../../src/api/storage.ts';
import type { Sending, TestReply } from '../support/service.ts';
import { createEcdsaKey, type TestService } from '../support/service.ts';

/** How one operation is asked for, and what decides about it. */
export interface Case {
  readonly operation: Operation;
  /** The resource whose tags decide. */
  readonly resource: string;
  /** Makes what the request needs and uses up; gives the request. */
  readonly request: () => Promise<{ target: string; sending?: Sending }>;
  /** Further actions that the operation includes. */
  readonly also?: readonly string[];
}

const ids = {
  web: '6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001',
  imported: 'b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e0001',
  package: 'e31a4720-ad17-4c55-a830-a335e96fe211',
  network: '8a3ee67a-1a45-43ea-b686-4d3dc9b78a06',
  own: '0f8fad5b-d9cb-469f-a165-70867728a001',
  shared: '0f8fad5b-d9cb-469f-a165-70867728a002',
  job: '0f8fad5b-d9cb-469f-a165-70867728a003',
};
const directory = { 'content-type': 'application/json; type=directory' };
const link = { 'content-type': 'application/json; type=link', location: '/demo/stor/shelf/source' };

/** As the account itself; what is refused here is an error of the test. */
export type Owner = (service: 'compute' | 'storage', method: string, target: string, sending?: Sending) => Promise<TestReply>;

let counter = 0;
function nextName(): string {
  counter += 1;
  return `n${counter}`;
}

/** Makes an image and one that another account shares, once. */
export async function addImages({ store, account, other }: TestService): Promise<void> {
  await store.write(async (transaction) => {
    const row = await transaction.selectFrom('images').selectAll().executeTakeFirstOrThrow();
    const bytes = Buffer.from('image');
    const stored = await store.bytes.write(
      (async function* () {
        yield bytes;
      })(),
    );
    const sha1 = createHash('sha1').update(bytes).digest('hex');
    const files = JSON.stringify([{ compression: 'none', sha1, size: bytes.length }]);
    const own = { ...row, id: ids.own, name: 'own', owner: account.id, public: 0, files, content: stored.id };
    const shared = { ...row, id: ids.shared, name: 'shared', owner: other.id, public: 0, acl: JSON.stringify([account.id]) };
    await transaction.insertInto('images').values([own, shared]).execute();
  });
}

/** Every operation of the compute service. */
export function listComputeCases(owner: Owner, { store }: TestService, roles: readonly string[]): Case[] {
  const tag = { 'role-tag': roles.join(',') };
  const at = (operation: Operation, resource: string, target = resource, sending?: () => Sending): Case => ({
    operation,
    resource,
    request: async () => ({ target, ...(sending && { sending: sending() }) }),
  });
  /** One that uses up a member of a collection, which is made and tagged each time. */
  const using = (operation: Operation, collection: string, make: () => object, by: 'id' | 'fingerprint' = 'id'): Case => ({
    operation,
    resource: '',
    request: async () => {
      const { json } = await owner('compute', 'POST', collection, { json: make(), headers: tag });
      return { target: `${collection}/${(json as Record<string, string>)[by] ?? ''}` };
    },
  });
  const newKey = (): { key: string } => ({ key: createEcdsaKey().line });
  const newUser = (): object => ({ login: `user-${nextName()}`, email: 'a@b', password: 'secret1234' });
  const newPolicy = (): object => ({ name: nextName(), rules: ['CAN listkeys'] });
  const users = '/demo/users/target';
  const cases: Record<keyof typeof compute, Case> = {
    ping: at(compute.ping, '/demo', '/--ping'),
    getAccount: at(compute.getAccount, '/demo', '/my'),
    updateAccount: at(compute.updateAccount, '/demo', '/demo', () => ({ json: { city: 'Köln' } })),
    getAccountLimits: at(compute.getAccountLimits, '/demo', '/my/limits'),
    getConfig: at(compute.getConfig, '/demo', '/my/config'),
    updateConfig: at(compute.updateConfig, '/demo', '/my/config', () => ({ json: { default_network: ids.network } })),
    listKeys: at(compute.listKeys, '/demo/keys', '/my/keys'),
    getKey: at(compute.getKey, '/demo/keys/sample'),
    createKey: at(compute.createKey, '/demo/keys', '/my/keys', () => ({ json: newKey() })),
    deleteKey: using(compute.deleteKey, '/demo/keys', newKey, 'fingerprint'),
    listUserKeys: at(compute.listUserKeys, `${users}/keys`),
    getUserKey: at(compute.getUserKey, `${users}/keys/sample`),
    createUserKey: at(compute.createUserKey, `${users}/keys`, `${users}/keys`, () => ({ json: newKey() })),
    deleteUserKey: using(compute.deleteUserKey, `${users}/keys`, newKey, 'fingerprint'),
    listUsers: at(compute.listUsers, '/demo/users'),
    getUser: at(compute.getUser, users),
    createUser: at(compute.createUser, '/demo/users', '/demo/users', () => ({ json: newUser() })),
    updateUser: at(compute.updateUser, users, users, () => ({ json: { phone: '1' } })),
    changeUserPassword: at(compute.changeUserPassword, users, `${users}/change_password`, () => ({
      json: { password: 'geheim123', password_confirmation: 'geheim123' },
    })),
    deleteUser: using(compute.deleteUser, '/demo/users', newUser),
    listRoles: at(compute.listRoles, '/demo/roles'),
    getRole: at(compute.getRole, '/demo/roles/spare'),
    createRole: at(compute.createRole, '/demo/roles', '/demo/roles', () => ({ json: { name: nextName() } })),
    updateRole: at(compute.updateRole, '/demo/roles/spare', '/demo/roles/spare', () => ({ json: { members: [] } })),
    deleteRole: using(compute.deleteRole, '/demo/roles', () => ({ name: nextName() })),
    setRoleTags: at(compute.setRoleTags, '/demo/keys/sample', '/my/keys/sample', () => ({ json: { 'role-tag': roles } })),
    listPolicies: at(compute.listPolicies, '/demo/policies'),
    getPolicy: at(compute.getPolicy, '/demo/policies/spare'),
    createPolicy: at(compute.createPolicy, '/demo/policies', '/demo/policies', () => ({ json: newPolicy() })),
    updatePolicy: at(compute.updatePolicy, '/demo/policies/spare', '/demo/policies/spare', () => ({ json: { description: 'd' } })),
    deletePolicy: using(compute.deletePolicy, '/demo/policies', newPolicy),
    listDatacenters: at(compute.listDatacenters, '/demo/datacenters'),
    getDatacenter: at(compute.getDatacenter, '/demo/datacenters/east-1'),
    listServices: at(compute.listServices, '/demo/services'),
    listImages: at(compute.listImages, '/demo/images'),
    getImage: at(compute.getImage, `/demo/images/${ids.own}`),
    deleteImage: using(compute.deleteImage, '/demo/images', () => ({ machine: ids.web, name: nextName(), version: '1' })),
    exportImage: {
      ...at(compute.exportImage, `/demo/images/${ids.own}`, `/demo/images/${ids.own}?action=export`, () => ({
        json: { storage_path: '/demo/stor/shelf' },
      })),
      also: ['putobject'],
    },
    createImageFromMachine: at(compute.createImageFromMachine, '/demo/images', '/demo/images', () => ({
      json: { machine: ids.web, name: nextName(), version: '1' },
    })),
    importImageFromDatacenter: {
      operation: compute.importImageFromDatacenter,
      resource: '/demo/images',
      request: async () => {
        await store.write((transaction) => transaction.deleteFrom('images').where('id', '=', ids.imported).execute());
        return { target: `/demo/images?action=import-from-datacenter&datacenter=east-1-2&id=${ids.imported}` };
      },
    },
    updateImage: at(compute.updateImage, `/demo/images/${ids.own}`, `/demo/images/${ids.own}?action=update`, () => ({
      json: { eula: 'x' },
    })),
    cloneImage: at(compute.cloneImage, `/demo/images/${ids.shared}`, `/demo/images/${ids.shared}?action=clone`),
    listPackages: at(compute.listPackages, '/demo/packages'),
    getPackage: at(compute.getPackage, `/demo/packages/${ids.package}`, '/demo/packages/g1-nano'),
  };
  return Object.values(cases);
}

/** Every operation of the object storage. What is made below a tagged directory inherits its tags. */
export function listStorageCases(owner: Owner): Case[] {
  const shelf = '/demo/stor/shelf';
  const at = (operation: Operation, target: string, sending: Sending = {}): Case => ({
    operation,
    resource: shelf,
    request: async () => ({ target, sending }),
  });
  const using = (operation: Operation, headers: Record<string, string>): Case => ({
    operation,
    resource: shelf,
    request: async () => {
      const target = `${shelf}/${nextName()}`;
      await owner('storage', 'PUT', target, { headers });
      return { target };
    },
  });
  const upload = (operation: Operation, path: (id: string) => string, sending: Sending = {}, also: readonly string[] = []): Case => ({
    operation,
    resource: '/demo/uploads',
    also,
    request: async () => {
      const { json } = await owner('storage', 'POST', '/demo/uploads', { json: { objectPath: `${shelf}/${nextName()}` } });
      return { target: path((json as { id: string }).id), sending };
    },
  });
  const parts = (id: string): string => `/demo/uploads/${id.slice(0, 3)}/${id}`;
  const job = (operation: Operation, path: string, sending: Sending = {}): Case => ({
    operation,
    resource: '/demo/jobs',
    request: async () => ({ target: `/demo/jobs${path}`, sending }),
  });
  const live = `/${ids.job}/live`;
  const cases: Record<keyof typeof storage, Case> = {
    putDirectory: {
      operation: storage.putDirectory,
      resource: shelf,
      request: async () => ({ target: `${shelf}/${nextName()}`, sending: { headers: directory } }),
    },
    listDirectory: at(storage.listDirectory, shelf),
    deleteDirectory: using(storage.deleteDirectory, directory),
    putObject: at(storage.putObject, `${shelf}/object`, { body: Buffer.from('x') }),
    putMetadata: at(storage.putMetadata, `${shelf}/source?metadata=true`, { headers: { 'm-a': 'b' } }),
    getObject: at(storage.getObject, `${shelf}/source`),
    deleteObject: using(storage.deleteObject, {}),
    putSnapLink: { ...at(storage.putSnapLink, `${shelf}/link`, { headers: link }), also: ['getobject'] },
    // Enough to see that it was let in: a job without phases is refused then.
    createJob: job(storage.createJob, '', { json: { name: 'none' } }),
    addJobInputs: job(storage.addJobInputs, `${live}/in`, { headers: { 'content-type': 'text/plain' } }),
    endJobInput: job(storage.endJobInput, `${live}/in/end`),
    cancelJob: job(storage.cancelJob, `${live}/cancel`),
    listJobs: job(storage.listJobs, ''),
    getJob: job(storage.getJob, `${live}/status`),
    getJobOutput: job(storage.getJobOutput, `${live}/out`),
    getJobInput: job(storage.getJobInput, `${live}/in`),
    getJobFailures: job(storage.getJobFailures, `${live}/fail`),
    getJobErrors: job(storage.getJobErrors, `${live}/err`),
    createMultipartUpload: upload(storage.createMultipartUpload, () => '/demo/uploads', { json: { objectPath: `${shelf}/made` } }),
    uploadPart: upload(storage.uploadPart, (id) => `${parts(id)}/0`, { body: Buffer.from('part') }),
    getMultipartUpload: upload(storage.getMultipartUpload, (id) => `${parts(id)}/state`),
    commitMultipartUpload: upload(storage.commitMultipartUpload, (id) => `${parts(id)}/commit`, { json: { parts: [] } }, ['putobject']),
    abortMultipartUpload: upload(storage.abortMultipartUpload, (id) => `${parts(id)}/abort`),
    redirectUpload: upload(storage.redirectUpload, (id) => `/demo/uploads/${id}`),
    redirectPart: upload(storage.redirectPart, (id) => `/demo/uploads/${id}/0`),
  };
  return Object.values(cases);
}
