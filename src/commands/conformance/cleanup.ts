import { ApiError, isMissing } from '../../base/errors.ts';
import type { StorageClient } from '../../client/client.ts';
import type { Context } from '../../cli/command.ts';

/** Removes what runs have created. It continues after an interrupt, and retries removals that fail. */

/** Directory of a run with an empty object for each job and upload, which have no names of their own. */
export const madeDirectory = 'made';

const calling = { outlasts: true } as const;

/** True for the name of something that a run created. */
export type IsOurs = (name: string) => boolean;

/** Messages about what could not be removed. */
export type Failures = string[];

interface Removal {
  readonly storage: StorageClient;
  readonly account: string;
  readonly failures: Failures;
}

async function attempt(failures: Failures, what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isMissing(error)) failures.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function list({ storage, account }: Removal, path: string): Promise<{ name: string; type: string }[]> {
  const found = new Map<string, { name: string; type: string }>();
  let marker: string | undefined;
  for (;;) {
    const before = found.size;
    const { records } = await storage.listDirectory({ account, path, ...(marker !== undefined && { marker }) }, calling);
    for await (const { name, type } of records) {
      found.set(name, { name, type });
      marker = name;
    }
    if (found.size === before) return [...found.values()];
  }
}

async function removeTree(removal: Removal, path: string): Promise<void> {
  const { storage, account, failures } = removal;
  await attempt(failures, path, async () => {
    for (const { name, type } of await list(removal, path)) {
      const child = `${path}/${name}`;
      if (type === 'directory') await removeTree(removal, child);
      else await attempt(failures, child, () => storage.deleteObject({ account, path: child }, calling));
    }
    await storage.deleteDirectory({ account, path }, calling);
  });
}

/** Ends a job or an upload; one that is over already is no failure. */
async function endWork({ failures }: Removal, what: string, work: () => Promise<unknown>): Promise<void> {
  await attempt(failures, what, async () => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 409)) throw error;
    }
  });
}

async function isDone({ storage, account }: Removal, id: string): Promise<boolean> {
  const { state } = await storage.getJob({ account, id }, calling);
  return state === 'done';
}

/** Cancels a job and removes its directory. */
async function removeJob(removal: Removal, id: string): Promise<void> {
  const { storage, account, failures } = removal;
  const before = failures.length;
  await endWork(removal, `job ${id}`, () => storage.cancelJob({ account, id }, calling));
  if (failures.length > before) return;
  await attempt(failures, `job ${id}`, async () => {
    for (let tries = 0; tries < 200 && !(await isDone(removal, id)); tries += 1)
      await new Promise((resolve) => {
        setTimeout(resolve, 100);
      });
    await removeTree(removal, `jobs/${id}`);
  });
}

/** Ends a job or an upload, by the name of the object that records it. */
async function endKept(removal: Removal, name: string): Promise<void> {
  const { storage, account } = removal;
  const [kind, first = '', second = ''] = name.split(':');
  if (kind === 'job') await removeJob(removal, first);
  else await endWork(removal, `upload ${second}`, () => storage.abortMultipartUpload({ account, prefix: first, id: second }, calling));
}

/** Removes what a run created in the object storage; the records of jobs and uploads last, and only when those are gone. */
async function removeRun(removal: Removal, run: string): Promise<void> {
  const { failures } = removal;
  const before = failures.length;
  await attempt(failures, run, async () => {
    for (const { name } of await list(removal, `stor/${run}/${madeDirectory}`)) await endKept(removal, name);
  });
  if (failures.length === before) await removeTree(removal, `stor/${run}`);
}

async function removeStored({ storage, account }: Context, isOurs: IsOurs, kept: readonly string[], failures: Failures): Promise<void> {
  const removal = { storage, account, failures };
  for (const name of kept) await endKept(removal, name);
  await attempt(failures, 'stor', async () => {
    for (const { name } of await list(removal, 'stor')) if (isOurs(name)) await removeRun(removal, name);
  });
}

/** A resource of the compute service, with the name that a run gave it. */
interface Named {
  readonly kind: string;
  readonly name: string;
  readonly remove: () => Promise<unknown>;
}

async function listMade<T extends { name: string } | { login: string }>(
  kind: string,
  listing: Promise<readonly T[]>,
  remove: (resource: T) => Promise<unknown>,
): Promise<Named[]> {
  return (await listing).map((resource) => ({
    kind,
    name: 'name' in resource ? resource.name : resource.login,
    remove: () => remove(resource),
  }));
}

/** The resources of the compute service that runs leave: roles before the policies and users that they name, keys last. */
function listKinds({ compute, account }: Context): (() => Promise<Named[]>)[] {
  return [
    () => listMade('role', compute.listRoles({ account }, calling), ({ id }) => compute.deleteRole({ account, role: id }, calling)),
    () =>
      listMade('policy', compute.listPolicies({ account }, calling), ({ id }) => compute.deletePolicy({ account, policy: id }, calling)),
    () => listMade('user', compute.listUsers({ account }, calling), ({ id }) => compute.deleteUser({ account, user: id }, calling)),
    () =>
      listMade('image', compute.listImages({ account, state: 'all' }, calling), ({ id }) => compute.deleteImage({ account, id }, calling)),
    () =>
      listMade('key', compute.listKeys({ account }, calling), ({ fingerprint }) =>
        compute.deleteKey({ account, key: fingerprint }, calling),
      ),
  ];
}

async function removeCompute(context: Context, isOurs: IsOurs, failures: Failures): Promise<void> {
  for (const listKind of listKinds(context)) {
    await attempt(failures, 'lists of the compute service', async () => {
      for (const { kind, name, remove } of await listKind()) if (isOurs(name)) await attempt(failures, `${kind} ${name}`, remove);
    });
  }
}

/** Number of attempts at the removal. */
const passes = 3;

/** Removes everything named by runs, and the jobs and uploads in `kept`. @returns what could not be removed */
export async function removeMade(
  context: Context,
  services: { compute: boolean; storage: boolean },
  isOurs: IsOurs,
  kept: readonly string[],
): Promise<Failures> {
  for (let pass = 1; ; pass += 1) {
    const failures: Failures = [];
    if (services.storage) await removeStored(context, isOurs, kept, failures);
    // Keys last: the requests that were signed with them are over by then.
    if (services.compute) await removeCompute(context, isOurs, failures);
    if (failures.length === 0 || pass === passes) return failures;
  }
}
