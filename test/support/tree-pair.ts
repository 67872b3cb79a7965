import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Sandbox } from './sandbox.ts';
import { openServices, readRecords, type SignedServices } from './signed.ts';
import { above, directory, type Entry, type Tree } from './tree-model.ts';

/** A local tree and one of the object storage, read and changed without the program: as an editor and as a second client do it. */
export interface TreePair {
  /** Makes both anew, empty, under names of their own. */
  reset(): Promise<void>;
  readonly local: string;
  /** As command lines name it. */
  readonly remote: string;
  readLocal(): Tree;
  readRemote(): Promise<Tree>;
  /** Puts something at a path, whatever is in its way; undefined removes what is there. */
  writeLocal(path: string, entry: Entry | undefined): void;
  writeRemote(path: string, entry: Entry | undefined): Promise<void>;
  /** Removes what killed runs left. */
  sweep(): void;
  close(): Promise<void>;
}

const leftOver = /^\.cloud-[0-9a-f]{20}-\d+-[0-9a-f]{16}\..+\.part$/s;

function readBelow(root: string, rel: string, tree: Map<string, Entry>): void {
  for (const entry of readdirSync(join(root, rel), { withFileTypes: true })) {
    const path = rel === '' ? entry.name : `${rel}/${entry.name}`;
    if (entry.isDirectory()) {
      tree.set(path, directory);
      readBelow(root, path, tree);
    } else if (!leftOver.test(entry.name)) tree.set(path, readFileSync(join(root, path), 'utf8'));
  }
}

export async function openTreePair(user: Sandbox): Promise<TreePair> {
  const services: SignedServices = await openServices(user.local, 4);
  let number = 0;
  const locate = (path: string): string => {
    const whole = path === '' ? `t${number}` : `t${number}/${path}`;
    return `/${user.local.account}/stor/${whole.split('/').map(encodeURIComponent).join('/')}`;
  };
  const send = async (method: string, path: string, sent: Parameters<SignedServices['send']>[3] = {}) =>
    await services.send('storage', method, locate(path), sent);
  const makeDirectory = async (path: string): Promise<void> => {
    await send('PUT', path, { headers: { 'content-type': 'application/json; type=directory' } });
  };

  /** Contents of versions that were read: an etag stands for one content. Large ones are read each time. */
  const contents = new Map<string, string>();

  async function readContent(path: string, etag: string): Promise<string> {
    const known = contents.get(etag);
    if (known !== undefined) return known;
    const { headers, bytes } = await send('GET', path);
    const content = bytes.toString();
    // It may have been replaced since it was listed.
    if (headers['etag'] === etag && content.length < 10_000) contents.set(etag, content);
    return content;
  }

  async function listRemoteBelow(rel: string): Promise<[string, Entry][]> {
    const listing = await send('GET', rel);
    if (listing.status !== 200) throw new Error(`listing of ${rel}: ${listing.status}`);
    const records = readRecords<{ name: string; type: string; etag: string }>(listing);
    const read = async ({ name, type, etag }: (typeof records)[number]): Promise<[string, Entry][]> => {
      const path = rel === '' ? name : `${rel}/${name}`;
      if (type !== 'directory') return [[path, await readContent(path, etag)]];
      return [[path, directory], ...(await listRemoteBelow(path))];
    };
    return (await Promise.all(records.map(read))).flat();
  }

  async function removeRemote(path: string): Promise<void> {
    const { status, headers } = await send('HEAD', path);
    if (status === 404) return;
    const isDirectory = String(headers['content-type']).includes('type=directory');
    for (const [each] of isDirectory ? (await listRemoteBelow(path)).toReversed() : []) await send('DELETE', each);
    await send('DELETE', path);
  }

  const pair: TreePair = {
    get local() {
      return join(user.home, `t${number}`);
    },
    get remote() {
      return `t${number}`;
    },
    reset: async () => {
      rmSync(pair.local, { recursive: true, force: true });
      number += 1;
      mkdirSync(pair.local);
      await makeDirectory('');
    },
    readLocal: () => {
      const tree = new Map<string, Entry>();
      readBelow(pair.local, '', tree);
      return tree;
    },
    readRemote: async () => new Map(await listRemoteBelow('')),
    writeLocal: (path, entry) => {
      const file = join(pair.local, path);
      if (entry === undefined) {
        if (existsSync(file)) rmSync(file, { recursive: true });
        return;
      }
      for (const folder of [...above(path), ...(entry === directory ? [path] : [])]) {
        const stats = statSync(join(pair.local, folder), { throwIfNoEntry: false });
        if (stats?.isDirectory() === false) rmSync(join(pair.local, folder));
      }
      mkdirSync(entry === directory ? file : dirname(file), { recursive: true });
      if (entry === directory) return;
      if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true) rmSync(file, { recursive: true });
      writeFileSync(file, entry);
    },
    writeRemote: async (path, entry) => {
      if (entry === undefined) return await removeRemote(path);
      for (const folder of [...above(path), ...(entry === directory ? [path] : [])]) await makeDirectory(folder);
      if (entry === directory) return;
      const put = (): ReturnType<typeof send> => send('PUT', path, { body: Buffer.from(entry) });
      if ((await put()).status < 300) return;
      await removeRemote(path);
      await put();
    },
    sweep: () => {
      for (const entry of readdirSync(pair.local, { recursive: true, withFileTypes: true }))
        if (leftOver.test(entry.name)) rmSync(join(entry.parentPath, entry.name));
    },
    close: async () => await services.close(),
  };
  return pair;
}
