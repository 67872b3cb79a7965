import { createHash } from 'node:crypto';
import type { Action, Ending, Operation } from './linearizability.ts';
import { readRecords, type Answered, type Sent } from './signed.ts';

/**
 * Clients that read, write and list the same few objects, and what they were answered, as a history. It needs nothing of a service but a
 * way to send a signed request to its object storage, so that it can drive one service as well as several that share their data.
 */

/** Sends a request to the object storage. @throws when no answer comes */
export type SendToStorage = (method: string, path: string, sent?: Sent) => Promise<Answered>;

/** What clients did, and what no order of operations can excuse. */
export interface Driven {
  readonly history: Operation[];
  readonly wrong: string[];
}

/** A version as a client saw it: its etag, and its content where that was read too. */
interface Seen {
  readonly etag: string;
  readonly content: string;
}

/** Bytes of which every part tells to which content it belongs. */
function fill(content: string, lines: number): Buffer {
  return Buffer.from(`${content}\n`.repeat(lines));
}

/** The content that bytes are of; undefined when they are of several, or not whole. */
function readContent(bytes: Buffer, lines: ReadonlyMap<string, number>): string | undefined {
  const [content = '', ...others] = bytes.toString().split('\n').slice(0, -1);
  const count = lines.get(content);
  return count === others.length + 1 && others.every((other) => other === content) ? content : undefined;
}

/** True for a request that was not sent: nobody took the connection. */
function wasRefused(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
}

/** Contents that an operation wrote or found. */
function listContents(action: Action): string[] {
  if (action.kind === 'write') return [action.version.content];
  return action.kind === 'read' && action.found ? [action.found.content] : [];
}

/** Contents that an operation found or expected. */
function listFound(action: Action): string[] {
  if (action.kind === 'read') return listContents(action);
  return typeof action.condition === 'object' ? [action.condition.content] : [];
}

/** A link of a name to the version of another one; without an etag when it got no answer. */
interface Link {
  readonly source: string;
  readonly name: string;
  readonly called: number;
  readonly returned: number;
  readonly client: number;
  readonly etag: string | undefined;
}

/** Stands for the content of a link that nobody found afterwards; others may have been refused because it was there. */
const notFound = 'not found';

/** Everything that the clients of one history share. */
export class HistoryDriver {
  readonly driven: Driven = { history: [], wrong: [] };
  readonly #directory: string;
  readonly #names: readonly string[];
  readonly #random: () => number;
  readonly #large: { readonly share: number; readonly lines: number };
  /** How many lines each content has; which content each etag and each MD5 is of. */
  readonly #lines = new Map<string, number>();
  readonly #contentOf = new Map<string, string>();
  readonly #contentOfMd5 = new Map<string, string>();
  /** The latest version of each name that anybody saw. */
  readonly #latest = new Map<string, Seen>();
  #made = 0;

  /** @param large how many of the contents are so long that they can be cut in the middle, and how long these are */
  constructor(directory: string, names: readonly string[], random: () => number, large = { share: 0.1, lines: 20_000 }) {
    this.#directory = directory;
    this.#names = names;
    this.#random = random;
    this.#large = large;
  }

  /** Does one operation as a client. */
  async step(client: number, send: SendToStorage): Promise<void> {
    const name = this.#pick();
    const dice = this.#random();
    if (dice < 0.25) return this.#read(client, send, name);
    if (dice < 0.35) return this.#list(client, send);
    if (dice < 0.4) return this.#readPart(client, send, name);
    // Two names are written under conditions only, so that many clients race for the same version.
    if (this.#names.indexOf(name) >= this.#names.length - 2) return this.#race(client, send, name);
    if (dice < 0.6) return this.#put(client, send, name);
    if (dice < 0.75) return this.#putIf(client, send, name);
    if (dice < 0.82) return this.#mark(client, send, name);
    if (dice < 0.9) return this.#remove(client, send, name);
    if (dice < 0.95) return this.#link(client, send, name);
    return this.#assemble(client, send, name);
  }

  /** Reads every name, and the listing. */
  async look(send: SendToStorage): Promise<void> {
    for (const name of this.#names) await this.#read(-1, send, name);
    await this.#list(-1, send);
  }

  #pick(): string {
    return this.#names[Math.floor(this.#random() * this.#names.length)] ?? '';
  }

  #make(): { content: string; body: Buffer } {
    this.#made += 1;
    const content = `c${this.#made}`;
    // Some are long enough to be cut in the middle, and not to stand in the database.
    const lines = this.#random() < this.#large.share ? this.#large.lines : 1 + Math.floor(this.#random() * 300);
    const body = fill(content, lines);
    this.#lines.set(content, lines);
    this.#contentOfMd5.set(createHash('md5').update(body).digest('base64'), content);
    return { content, body };
  }

  /** One etag is of one content, for ever. */
  #pair(etag: string, content: string): void {
    const known = this.#contentOf.get(etag) ?? content;
    if (known !== content) this.driven.wrong.push(`etag ${etag} is of ${known} and of ${content}`);
    this.#contentOf.set(etag, content);
  }

  /** Writes down an operation that changes something. A request without an answer may have been done, also later. */
  async #change(client: number, name: string, action: Action, ask: () => Promise<Answered>): Promise<Answered | undefined> {
    const called = performance.now();
    const note = (ending: Ending): void =>
      void this.driven.history.push({
        key: name,
        action,
        ending,
        called,
        returned: ending === 'unknown' ? Infinity : performance.now(),
        client,
      });
    let answered: Answered;
    try {
      answered = await ask();
    } catch (error) {
      if (!wasRefused(error)) note('unknown');
      throw error;
    }
    const { status } = answered;
    if (status === 204 || status === 201) note('done');
    else if (status === 412) note('refused');
    else if (status === 404) note('missing');
    else if (status >= 500) note('unknown');
    else if (status !== 409)
      this.driven.wrong.push(`${action.kind} of ${name} was answered ${status} ${answered.bytes.toString().slice(0, 200)}`);
    return answered;
  }

  #note(client: number, name: string, found: Action & { kind: 'read' }, called: number): void {
    this.driven.history.push({ key: name, action: found, ending: 'done', called, returned: performance.now(), client });
  }

  async #read(client: number, send: SendToStorage, name: string): Promise<void> {
    const called = performance.now();
    const { status, headers, bytes } = await send('GET', `${this.#directory}/${name}`);
    if (status === 404) return this.#note(client, name, { kind: 'read', found: undefined }, called);
    const content = status === 200 ? readContent(bytes, this.#lines) : undefined;
    if (content === undefined) {
      this.driven.wrong.push(`${name} was read as ${status} with ${bytes.length} bytes: ${bytes.subarray(0, 60).toString()}`);
      return undefined;
    }
    const etag = String(headers['etag']);
    this.#pair(etag, content);
    this.#latest.set(name, { etag, content });
    const mark = headers['m-mark'];
    return this.#note(client, name, { kind: 'read', found: { content, mark: typeof mark === 'string' ? mark : '-' } }, called);
  }

  /** Reads the second half of an object whose version it knows: it is of that version, or 412. */
  async #readPart(client: number, send: SendToStorage, name: string): Promise<void> {
    const seen = this.#latest.get(name);
    if (seen === undefined) return;
    const size = fill(seen.content, this.#lines.get(seen.content) ?? 0).length;
    const from = Math.floor(size / 2);
    const called = performance.now();
    const { status, bytes } = await send('GET', `${this.#directory}/${name}`, {
      headers: { range: `bytes=${from}-`, 'if-match': seen.etag },
    });
    if (status === 404) return this.#note(client, name, { kind: 'read', found: undefined }, called);
    if (status === 412) return;
    const expected = fill(seen.content, this.#lines.get(seen.content) ?? 0).subarray(from);
    if (status === 206 && bytes.equals(expected))
      return this.#note(client, name, { kind: 'read', found: { content: seen.content } }, called);
    this.driven.wrong.push(`a part of ${seen.content} at ${name} was read as ${status}: ${bytes.subarray(0, 60).toString()}`);
  }

  /** A listing is a read of every name. */
  async #list(client: number, send: SendToStorage): Promise<void> {
    const called = performance.now();
    const answered = await send('GET', this.#directory);
    const records = readRecords<{ name: string; etag: string; contentMD5: string; size: number }>(answered);
    if (answered.status !== 200 || Number(answered.headers['result-set-size']) < 0)
      this.driven.wrong.push(`a listing was ${answered.status}`);
    for (const name of this.#names) {
      const record = records.find((each) => each.name === name);
      const content = record === undefined ? undefined : this.#contentOfMd5.get(record.contentMD5);
      if (record !== undefined && content === undefined) this.driven.wrong.push(`${name} is listed with the MD5 ${record.contentMD5}`);
      if (record !== undefined && content !== undefined) this.#pair(record.etag, content);
      if (record === undefined || content !== undefined)
        this.#note(client, name, { kind: 'read', found: content === undefined ? undefined : { content } }, called);
    }
  }

  #learn(name: string, content: string, answered: Answered | undefined): void {
    const etag = answered?.headers['etag'];
    if (typeof etag !== 'string' || answered === undefined || answered.status >= 300) return;
    this.#pair(etag, content);
    this.#latest.set(name, { etag, content });
  }

  async #put(client: number, send: SendToStorage, name: string): Promise<void> {
    const { content, body } = this.#make();
    const action: Action = { kind: 'write', version: { content, mark: content } };
    const ask = (): Promise<Answered> => send('PUT', `${this.#directory}/${name}`, { body, headers: { 'm-mark': content } });
    this.#learn(name, content, await this.#change(client, name, action, ask));
  }

  /** Replaces the version that somebody saw last, or creates. */
  async #putIf(client: number, send: SendToStorage, name: string): Promise<void> {
    const seen = this.#random() < 0.3 ? undefined : this.#latest.get(name);
    const { content, body } = this.#make();
    const condition = seen === undefined ? ('absent' as const) : { content: seen.content };
    const action: Action = { kind: 'write', version: { content, mark: content }, condition };
    const headers = { 'm-mark': content, ...(seen === undefined ? { 'if-none-match': '*' } : { 'if-match': seen.etag }) };
    this.#learn(
      name,
      content,
      await this.#change(client, name, action, () => send('PUT', `${this.#directory}/${name}`, { body, headers })),
    );
  }

  /** Reads a version and replaces it, as others do at the same time. */
  async #race(client: number, send: SendToStorage, name: string): Promise<void> {
    await this.#read(client, send, name);
    await this.#putIf(client, send, name);
  }

  async #mark(client: number, send: SendToStorage, name: string): Promise<void> {
    this.#made += 1;
    const mark = `m${this.#made}`;
    const ask = (): Promise<Answered> => send('PUT', `${this.#directory}/${name}?metadata=true`, { headers: { 'm-mark': mark } });
    await this.#change(client, name, { kind: 'mark', mark }, ask);
  }

  async #remove(client: number, send: SendToStorage, name: string): Promise<void> {
    const seen = this.#random() < 0.5 ? this.#latest.get(name) : undefined;
    const action: Action = { kind: 'remove', condition: seen && { content: seen.content } };
    const headers: Record<string, string> = seen === undefined ? {} : { 'if-match': seen.etag };
    await this.#change(client, name, action, () => send('DELETE', `${this.#directory}/${name}`, { headers }));
  }

  /** Links a name to what another one has: the etag of the answer tells which version that is, maybe before any other answer does. */
  async #link(client: number, send: SendToStorage, name: string): Promise<void> {
    const source = this.#pick();
    if (source === name) return;
    const called = performance.now();
    const headers = { 'content-type': 'application/json; type=link', location: `${this.#directory}/${source}` };
    const link = { source, name, called, returned: Infinity, client, etag: undefined };
    let answered: Answered;
    try {
      answered = await send('PUT', `${this.#directory}/${name}`, { headers });
    } catch (error) {
      if (!wasRefused(error)) this.#links.push(link);
      throw error;
    }
    const etag = answered.headers['etag'];
    if (answered.status === 404) this.#note(client, source, { kind: 'read', found: undefined }, called);
    else if (answered.status >= 500) this.#links.push(link);
    else if (answered.status === 204 && typeof etag === 'string') this.#links.push({ ...link, returned: performance.now(), etag });
    else if (answered.status !== 409) this.driven.wrong.push(`a link of ${name} was answered ${answered.status} with etag ${String(etag)}`);
  }

  readonly #links: Link[] = [];

  /** An upload of one part, whose commit writes the object. */
  async #assemble(client: number, send: SendToStorage, name: string): Promise<void> {
    const { content, body } = this.#make();
    const json = { objectPath: `${this.#directory}/${name}`, headers: { 'm-mark': content } };
    const created = await send('POST', `/${this.#directory.split('/')[1] ?? ''}/uploads`, { json });
    const { partsDirectory } = JSON.parse(created.bytes.toString()) as { partsDirectory: string };
    const part = await send('PUT', `${partsDirectory}/0`, { body });
    const action: Action = { kind: 'write', version: { content, mark: content } };
    const commit = { json: { parts: [String(part.headers['etag'])] } };
    this.#learn(name, content, await this.#change(client, name, action, () => send('POST', `${partsDirectory}/commit`, commit)));
  }

  /** The whole history, when all clients are done. */
  finish(): Driven {
    for (const link of this.#links) {
      const content = link.etag === undefined ? undefined : this.#contentOf.get(link.etag);
      this.#addWrite(link, content ?? notFound);
      // A link that was answered read its source at the same moment.
      if (content !== undefined) this.#addRead(link, content);
    }
    const unanswered = this.#links.filter(({ etag }) => etag === undefined);
    // A source may have its versions from links that were not answered either.
    for (let isAdded = unanswered.length > 0; isAdded;) isAdded = unanswered.map((link) => this.#addPossible(link)).includes(true);
    return this.driven;
  }

  #addWrite({ name: key, called, returned, client, etag }: Link, content: string): void {
    const ending = etag === undefined ? 'unknown' : 'done';
    this.driven.history.push({ key, action: { kind: 'write', version: { content } }, ending, called, returned, client });
  }

  #addRead({ source: key, called, returned, client }: Link, content: string): void {
    this.driven.history.push({ key, action: { kind: 'read', found: { content } }, ending: 'done', called, returned, client });
  }

  /**
   * A link that was not answered may have written any version that the source ever had and that was found, or expected, at the name after
   * the call. @returns whether there are any that were not in the history yet
   */
  #addPossible(link: Link): boolean {
    const { history } = this.driven;
    const { source, name, called, client } = link;
    const written = new Set(history.flatMap(({ key, action }) => (key === source ? listContents(action) : [])));
    const later = history.filter((each) => each.key === name && each.returned > called);
    const known = new Set(
      later.filter((each) => each.client === client && each.called === called).flatMap(({ action }) => listContents(action)),
    );
    const found = new Set(later.flatMap(({ action }) => listFound(action)));
    const added = [...found].filter((content) => written.has(content) && !known.has(content));
    for (const content of added) this.#addWrite(link, content);
    return added.length > 0;
  }
}
