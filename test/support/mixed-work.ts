import { createHash, randomBytes } from 'node:crypto';
import type { SignedServices, Answered, Sent } from './signed.ts';
import { readRecords } from './signed.ts';
import { createEcdsaKey } from './service.ts';
import type { ServiceName } from '../../src/api/operation.ts';

/**
 * Work of all kinds on both services, one request at a time, with a memory of what was acknowledged: what the services must show
 * afterwards, whatever happened to them in between.
 */

/** The services as they are reached now: after a restart at other addresses. */
export type ReachServices = () => SignedServices;

/** What the lists of the compute service show, by name: a text for each thing's state. */
export type ComputeState = ReadonlyMap<string, string>;

/** Somebody who works in a directory of their own. */
export interface Worker {
  /** Does one thing, of a few requests. @throws when a connection breaks: what was asked for last may have been done or not */
  step(): Promise<void>;
  /** Compares what is there with what was acknowledged; what is wrong, in words. Both may go on from there. */
  check(state: ComputeState): Promise<string[]>;
}

const absent = 'absent';

function digest(content: Uint8Array): string {
  return createHash('md5').update(content).digest('base64');
}

/** Keys, users and roles as they are now. */
export async function readComputeState(services: SignedServices): Promise<ComputeState> {
  const list = async <T>(path: string): Promise<T[]> => JSON.parse((await services.send('compute', 'GET', path)).bytes.toString()) as T[];
  const [keys, users, roles] = await Promise.all([
    list<{ name: string }>('/my/keys'),
    list<{ login: string; city?: string }>('/my/users'),
    list<{ name: string }>('/my/roles'),
  ]);
  return new Map([
    ...keys.map(({ name }) => [`key ${name}`, 'there'] as const),
    ...users.map(({ login, city }) => [`user ${login}`, city ?? ''] as const),
    ...roles.map(({ name }) => [`role ${name}`, 'there'] as const),
  ]);
}

interface Record {
  name: string;
  type: string;
  contentMD5?: string;
}

/** Makes somebody who works below `/demo/stor/NAME`, which has to be there. */
export function createWorker(reach: ReachServices, name: string, random: () => number): Worker {
  const directory = `/demo/stor/${name}`;
  /** What each thing can be: one state, or two while it is not known whether the last request was done. */
  const possible = new Map<string, readonly string[]>();
  /** Objects that changed since the last check: their bytes are read. */
  const touched = new Set<string>();
  const wrong: string[] = [];
  let uploads: { directory: string; md5: string | undefined }[] = [];
  let made = 0;

  const pick = (count: number): number => Math.floor(random() * count);
  const stateOf = (thing: string): string => possible.get(thing)?.[0] ?? absent;
  const md5Of = (state: string): string | undefined => (state.startsWith('object ') ? state.split(' ')[1] : undefined);

  /** Sends a request that gives a thing another state. */
  async function change(
    thing: string,
    after: string,
    request: readonly [ServiceName, string, string, Sent?],
    expected: number,
  ): Promise<Answered> {
    const before = stateOf(thing);
    possible.set(thing, [before, after]);
    if (!thing.includes(' ')) touched.add(thing);
    const answered = await reach().send(...request);
    if (answered.status === expected) possible.set(thing, [after]);
    else wrong.push(`${request[1]} ${request[2]}: ${answered.status} ${answered.bytes.toString().slice(0, 200)}`);
    return answered;
  }

  async function put(thing: string): Promise<void> {
    // Most come in one piece; some are long enough to be cut in mid-body.
    const content = randomBytes(random() < 0.05 ? 300_000 : pick(20_000));
    const headers = { 'content-type': 'application/octet-stream' };
    await change(thing, `object ${digest(content)} -`, ['storage', 'PUT', `${directory}/${thing}`, { body: content, headers }], 204);
  }

  async function remove(thing: string): Promise<void> {
    await change(thing, absent, ['storage', 'DELETE', `${directory}/${thing}`], 204);
  }

  async function makeDirectory(thing: string): Promise<void> {
    const headers = { 'content-type': 'application/json; type=directory' };
    await change(thing, 'directory', ['storage', 'PUT', `${directory}/${thing}`, { headers }], 204);
  }

  async function link(thing: string, source: string): Promise<void> {
    const headers = { 'content-type': 'application/json; type=link', location: `${directory}/${source}` };
    await change(thing, stateOf(source), ['storage', 'PUT', `${directory}/${thing}`, { headers }], 204);
  }

  async function mark(thing: string): Promise<void> {
    made += 1;
    const headers = { 'content-type': 'text/plain', 'm-mark': String(made) };
    const after = `object ${md5Of(stateOf(thing)) ?? ''} ${made}`;
    await change(thing, after, ['storage', 'PUT', `${directory}/${thing}?metadata=true`, { headers }], 204);
  }

  async function assemble(thing: string): Promise<void> {
    const content = randomBytes(1000 + pick(50_000));
    const json = { objectPath: `${directory}/${thing}` };
    const created = await reach().send('storage', 'POST', '/demo/uploads', { json });
    const { partsDirectory } = JSON.parse(created.bytes.toString()) as { partsDirectory: string };
    const upload: (typeof uploads)[number] = { directory: partsDirectory, md5: undefined };
    uploads.push(upload);
    const part = await reach().send('storage', 'PUT', `${partsDirectory}/0`, { body: content });
    upload.md5 = digest(content);
    if (random() < 0.2) return;
    uploads = uploads.filter((each) => each !== upload);
    const commit = { json: { parts: [String(part.headers['etag'])] } };
    await change(thing, `object ${digest(content)} -`, ['storage', 'POST', `${partsDirectory}/commit`, commit], 201);
  }

  /** The id of something with a name: what changes it wants that, and a response that had it may have been lost. */
  async function findId(collection: string, thing: string): Promise<string> {
    const { bytes } = await reach().send('compute', 'GET', `/my/${collection}/${thing}`);
    return (JSON.parse(bytes.toString()) as { id: string }).id;
  }

  async function administer(): Promise<void> {
    const number = pick(4);
    const [key, user, role] = [`key ${name}-${number}`, `user ${name}-${number}`, `role ${name}-${number}`];
    const login = user.slice(5);
    switch (pick(4)) {
      case 0:
        if (stateOf(key) === absent) {
          const json = { name: key.slice(4), key: createEcdsaKey().line };
          await change(key, 'there', ['compute', 'POST', '/my/keys', { json }], 201);
        } else await change(key, absent, ['compute', 'DELETE', `/my/keys/${key.slice(4)}`], 204);
        return;
      case 1:
        if (stateOf(role) === absent) {
          await change(role, 'there', ['compute', 'POST', '/my/roles', { json: { name: role.slice(5) } }], 201);
        } else {
          await change(role, absent, ['compute', 'DELETE', `/my/roles/${await findId('roles', role.slice(5))}`], 204);
        }
        return;
      default:
        if (stateOf(user) === absent) {
          const json = { login, email: `${login}@example.com`, password: 'secret-4711x', city: 'none' };
          await change(user, 'none', ['compute', 'POST', '/my/users', { json }], 201);
        } else if (random() < 0.7) {
          made += 1;
          await change(
            user,
            `city${made}`,
            ['compute', 'POST', `/my/users/${await findId('users', login)}`, { json: { city: `city${made}` } }],
            200,
          );
        } else await change(user, absent, ['compute', 'DELETE', `/my/users/${await findId('users', login)}`], 204);
    }
  }

  async function work(): Promise<void> {
    const thing = `t${pick(12)}`;
    const state = stateOf(thing);
    const dice = random();
    if (dice < 0.15) return administer();
    if (dice < 0.25) return assemble(`m${pick(4)}`);
    if (state === absent) return dice < 0.35 ? makeDirectory(thing) : put(thing);
    if (state === 'directory') return remove(thing);
    if (dice < 0.4) return link(`l${pick(4)}`, thing);
    if (dice < 0.55) return mark(thing);
    return dice < 0.7 ? remove(thing) : put(thing);
  }

  /** The state of an object in full: a listing tells the MD5 only. */
  async function readObject(thing: string): Promise<string> {
    const { status, bytes, headers } = await reach().send('storage', 'GET', `${directory}/${thing}`);
    if (status !== 200) return `${status}`;
    const mark = headers['m-mark'];
    return `object ${digest(bytes)} ${typeof mark === 'string' ? mark : '-'}`;
  }

  async function readEntries(): Promise<Map<string, string>> {
    const answered = await reach().send('storage', 'GET', directory);
    const records = readRecords<Record>(answered);
    if (Number(answered.headers['result-set-size']) !== records.length)
      wrong.push(`${directory} has ${records.length} entries, but counts ${String(answered.headers['result-set-size'])}`);
    const found = new Map<string, string>();
    for (const { name: thing, type, contentMD5 = '' } of records) {
      const known = possible.get(thing)?.find((state) => md5Of(state) === contentMD5);
      if (type === 'directory') found.set(thing, type);
      else found.set(thing, touched.has(thing) ? await readObject(thing) : (known ?? `object ${contentMD5} ?`));
    }
    return found;
  }

  async function checkParts(): Promise<void> {
    for (const { directory: parts, md5 } of uploads) {
      const [part] = readRecords<Record>(await reach().send('storage', 'GET', parts));
      if (md5 !== undefined && part?.contentMD5 !== md5) wrong.push(`${parts}/0 was acknowledged and is ${part?.contentMD5 ?? absent}`);
      await reach().send('storage', 'POST', `${parts}/abort`);
    }
    uploads = [];
  }

  return {
    step: work,
    async check(state) {
      const mine = [...state].filter(([thing]) => thing.split(' ')[1]?.startsWith(`${name}-`) === true);
      const found = new Map([...(await readEntries()), ...mine]);
      for (const thing of new Set([...possible.keys(), ...found.keys()])) {
        const is = found.get(thing) ?? absent;
        const may = possible.get(thing) ?? [absent];
        if (!may.includes(is)) wrong.push(`${directory}/${thing} is ${is}; it may be ${may.join(' or ')}`);
        if (is === absent) possible.delete(thing);
        else possible.set(thing, [is]);
      }
      await checkParts();
      touched.clear();
      return wrong.splice(0);
    },
  };
}
