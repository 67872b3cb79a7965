import type { SendToStorage } from './history-driver.ts';
import type { Answered } from './signed.ts';

/**
 * Clients that make and remove directories while others put objects into them, and that share uploads which some commit and others abort;
 * and what has to be there when all are done. Every object has a name and a content of its own, so that none can be lost unseen.
 */

const directory = { headers: { 'content-type': 'application/json; type=directory' } };

/** Statuses that each kind of request may have while others are at work. */
const expected: Readonly<Record<string, readonly number[]>> = {
  mkdir: [204, 404],
  // 409: it was not there when the kind of request was decided.
  rmdir: [204, 400, 404, 409],
  put: [204, 404],
  link: [204, 404],
  mark: [204, 404],
  delete: [204, 404],
  part: [204, 404, 409],
  create: [201],
  commit: [201, 409],
  abort: [204, 409],
};

interface Upload {
  readonly path: string;
  readonly target: string;
  /** Contents of parts by their etags. */
  readonly parts: Map<string, string>;
  /** Etags of part 0 that some client got, the last one last. */
  readonly etags: string[];
  /** Etags that commits answered. */
  readonly committed: Set<string>;
  aborts: number;
}

export class CrowdedTree {
  /** What no order of requests can excuse. */
  readonly wrong: string[] = [];
  /** How often each kind of request had each status. */
  readonly counts = new Map<string, number>();
  readonly #root: string;
  readonly #random: () => number;
  /** Objects that must be there, and their contents. */
  readonly #there = new Map<string, string>();
  readonly #uploads: Upload[] = [];
  #made = 0;

  constructor(root: string, random: () => number) {
    this.#root = root;
    this.#random = random;
  }

  async begin(send: SendToStorage): Promise<void> {
    await send('PUT', this.#root, directory);
  }

  /** Does one thing as a client. @param other sends by another gateway */
  async step(send: SendToStorage, other: SendToStorage): Promise<void> {
    if (this.#random() < 0.25) return this.#race(send, other);
    const dice = this.#random();
    if (dice < 0.12) return this.#change('mkdir', send, 'PUT', this.#pickDirectory(), directory).then(() => undefined);
    if (dice < 0.24) return this.#change('rmdir', send, 'DELETE', this.#pickDirectory()).then(() => undefined);
    if (dice < 0.28) return this.#mark(send);
    if (dice < 0.45) return this.#put(send);
    if (dice < 0.52) return this.#link(send);
    if (dice < 0.64) return this.#remove(send);
    return this.#upload(send);
  }

  /** Looks for everything that has to be there. @returns what is wrong */
  async finish(send: SendToStorage): Promise<string[]> {
    for (const [path, content] of this.#there) {
      const { status, bytes } = await send('GET', path);
      if (status !== 200 || bytes.toString() !== content) this.wrong.push(`${path} was acknowledged, and is ${status} ${bytes.toString()}`);
    }
    for (const upload of this.#uploads) await this.#checkUpload(upload, send);
    return this.wrong;
  }

  async #checkUpload({ path, target, parts, committed, aborts }: Upload, send: SendToStorage): Promise<void> {
    const { status, headers, bytes } = await send('GET', target);
    if (committed.size > 1) this.wrong.push(`${path} was committed as ${[...committed].join(' and as ')}`);
    if (committed.size > 0 && aborts > 0) this.wrong.push(`${path} was committed and aborted`);
    if (status === 200 && (!committed.has(String(headers['etag'])) || ![...parts.values()].includes(bytes.toString())))
      this.wrong.push(`${target} is ${String(headers['etag'])}, "${bytes.toString()}", which nobody committed`);
    if (status !== 200 && committed.size > 0) this.wrong.push(`${target} was committed, and is ${status}`);
  }

  #pickDirectory(): string {
    const [first, second] = [Math.floor(this.#random() * 3), this.#random()];
    return second < 0.5 ? `${this.#root}/d${first}` : `${this.#root}/d${first}/e`;
  }

  #pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.#random() * items.length)];
  }

  #make(): string {
    this.#made += 1;
    return `n${this.#made}`;
  }

  async #change(kind: string, send: SendToStorage, ...sent: Parameters<SendToStorage>): Promise<Answered> {
    const answered = await send(...sent);
    const { status } = answered;
    this.counts.set(`${kind} ${status}`, (this.counts.get(`${kind} ${status}`) ?? 0) + 1);
    if (expected[kind]?.includes(status) !== true)
      this.wrong.push(`${kind} ${sent[1]} was answered ${status} ${answered.bytes.toString().slice(0, 200)}`);
    return answered;
  }

  async #put(send: SendToStorage): Promise<void> {
    await this.#putInto(send, this.#pickDirectory());
  }

  async #putInto(send: SendToStorage, parent: string): Promise<void> {
    const name = this.#make();
    const path = `${parent}/${name}`;
    const { status } = await this.#change('put', send, 'PUT', path, { body: Buffer.from(name), headers: { 'if-none-match': '*' } });
    if (status === 204) this.#there.set(path, name);
  }

  async #link(send: SendToStorage): Promise<void> {
    const [source, content] = this.#pick([...this.#there]) ?? [];
    if (source === undefined || content === undefined) return;
    const path = `${this.#pickDirectory()}/${this.#make()}`;
    const headers = { 'content-type': 'application/json; type=link', location: source };
    const { status } = await this.#change('link', send, 'PUT', path, { headers });
    if (status === 204) this.#there.set(path, content);
  }

  async #mark(send: SendToStorage): Promise<void> {
    const [path = this.#pickDirectory()] = this.#random() < 0.5 ? (this.#pick([...this.#there]) ?? []) : [];
    await this.#change('mark', send, 'PUT', `${path}?metadata=true`, { headers: { 'm-mark': this.#make() } });
  }

  /** Fills and removes a new directory at the same time: one of both fails. */
  async #race(send: SendToStorage, other: SendToStorage): Promise<void> {
    const path = `${this.#root}/${this.#make()}`;
    await this.#change('mkdir', send, 'PUT', path, directory);
    const puts = [send, other].map((each) => this.#putInto(each, path));
    const removed = await this.#change('rmdir', other, 'DELETE', path);
    await Promise.all(puts);
    if (removed.status !== 204) return;
    for (const each of this.#there.keys()) if (each.startsWith(`${path}/`)) this.wrong.push(`${each} was removed with its directory`);
  }

  /** Most of what is there, so that directories get empty. */
  async #remove(send: SendToStorage): Promise<void> {
    const prefix = this.#pickDirectory();
    const paths = [...this.#there.keys()].filter((path) => path.startsWith(`${prefix}/`));
    // From here on nobody else removes them.
    const contents = new Map(paths.map((path) => [path, this.#there.get(path) ?? '']));
    for (const path of paths) this.#there.delete(path);
    for (const path of contents.keys()) {
      const { status } = await this.#change('delete', send, 'DELETE', path);
      if (status !== 204) this.wrong.push(`${path} was acknowledged, and is gone`);
    }
    await this.#change('rmdir', send, 'DELETE', prefix);
  }

  async #upload(send: SendToStorage): Promise<void> {
    const upload = this.#random() < 0.2 ? undefined : this.#pick(this.#uploads.slice(-3));
    if (upload === undefined) {
      const target = `${this.#root}/u${this.#make()}`;
      const made = await this.#change('create', send, 'POST', `/${this.#root.split('/')[1] ?? ''}/uploads`, {
        json: { objectPath: target },
      });
      if (made.status !== 201) return;
      const { partsDirectory: path } = JSON.parse(made.bytes.toString()) as { partsDirectory: string };
      this.#uploads.push({ path, target, parts: new Map(), etags: [], committed: new Set(), aborts: 0 });
      return;
    }
    const dice = this.#random();
    // A part that no commit names goes with the others.
    if (dice < 0.52) await this.#part(send, upload, dice < 0.35 ? 0 : 1 + Math.floor(this.#random() * 5));
    else if (dice < 0.95) await this.#commit(send, upload);
    else if ((await this.#change('abort', send, 'POST', `${upload.path}/abort`)).status === 204) upload.aborts += 1;
  }

  async #part(send: SendToStorage, { path, parts, etags }: Upload, number: number): Promise<void> {
    const content = this.#make();
    const { status, headers } = await this.#change('part', send, 'PUT', `${path}/${number}`, { body: Buffer.from(content) });
    if (status !== 204 || number !== 0) return;
    parts.set(String(headers['etag']), content);
    etags.push(String(headers['etag']));
  }

  async #commit(send: SendToStorage, { path, etags, committed }: Upload): Promise<void> {
    const etag = etags.at(-1);
    if (etag === undefined) return;
    const { status, headers } = await this.#change('commit', send, 'POST', `${path}/commit`, { json: { parts: [etag] } });
    if (status === 201) committed.add(String(headers['etag']));
  }
}
