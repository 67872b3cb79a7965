import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answered, Sent, SignedServices } from './signed.ts';

/**
 * Writers and readers that go on while something fails. Each path has one writer, who knows what was acknowledged: a request without an
 * answer, or with a 5xx, may have been done or not, now or later, so that its path is left alone from then on.
 */

/** What was asked of a path, and when it was acknowledged, if it was. */
interface Change {
  /** MD5 of the object, or nothing there. */
  readonly state: string;
  readonly began: number;
  acknowledged?: number;
}

type History = Change[];

const absent = 'absent';

/** Milliseconds between attempts while nothing works. */
const pause = 20;

function digest(bytes: Uint8Array): string {
  return createHash('md5').update(bytes).digest('base64');
}

/** States that a read between two moments may find. */
function listAllowed(history: History, began: number, ended: number): string[] {
  const last = history.findLastIndex(({ acknowledged = Infinity }) => acknowledged <= began);
  const later = history.slice(last + 1).filter((change) => change.began <= ended);
  return [history[last]?.state ?? absent, ...later.map(({ state }) => state)];
}

/** The work as it goes on. */
export interface Work {
  /** Moments of acknowledged changes of each writer, milliseconds. */
  readonly acknowledged: readonly (readonly number[])[];
  /** Reads that were answered, and requests that were not. */
  readonly counts: { reads: number; unanswered: number };
  /** Waits until each writer has had `count` changes acknowledged from now on. */
  proceed(count: number, timeoutMs: number): Promise<void>;
  /** Ends it, reads every path back, and lists what is not as it must be. */
  check(): Promise<string[]>;
}

/** Begins work below a directory that is there. */
export function beginWork(services: SignedServices, directory: string, writers: number, readers: number, random: () => number): Work {
  const wrong: string[] = [];
  const counts = { reads: 0, unanswered: 0 };
  const histories = new Map<string, History>();
  const acknowledged = Array.from({ length: writers }, (): number[] => []);
  const over = new AbortController();
  const pick = (count: number): number => Math.floor(random() * count);

  /** A response that says something; undefined when none came, a 5xx, or a request to try again. */
  async function ask(method: string, path: string, sent?: Sent): Promise<Answered | undefined> {
    const answered = await services.send('storage', method, path, sent).catch(() => undefined);
    const isBusy = answered?.status === 409 && answered.bytes.includes('ConcurrentRequest');
    if (answered !== undefined && answered.status < 500 && !isBusy) return answered;
    counts.unanswered += 1;
    await sleep(pause);
    return undefined;
  }

  /** Reads a path; what is wrong about it, if it was answered. */
  async function read(path: string, history: History): Promise<boolean> {
    const began = performance.now();
    const answered = await ask('GET', path);
    if (answered === undefined) return false;
    const { status, bytes, headers } = answered;
    const found = status === 404 ? absent : digest(bytes);
    const allowed = listAllowed(history, began, performance.now());
    if (![200, 404].includes(status)) wrong.push(`GET ${path}: ${status} ${bytes.toString().slice(0, 200)}`);
    else if (!allowed.includes(found)) wrong.push(`GET ${path}: ${found}, of ${bytes.length} bytes; it may be ${allowed.join(' or ')}`);
    else if (status === 200 && headers['content-md5'] !== found) wrong.push(`GET ${path}: bytes and content-md5 are of two versions`);
    counts.reads += 1;
    return true;
  }

  /** Somebody who changes a few paths, one request at a time. */
  function createWriter(number: number): () => Promise<void> {
    /** Paths whose state is known, with the ETags that conditions name. */
    const known = new Map<string, string | undefined>();
    let made = 0;

    /** Sends a request that gives a path another state. */
    async function change(path: string, state: string, wanted: number, send: () => Promise<Answered | undefined>): Promise<void> {
      const one: Change = { state, began: performance.now() };
      const history = histories.get(path) ?? [];
      histories.set(path, history);
      history.push(one);
      known.delete(path);
      const answered = await send();
      if (answered === undefined) return;
      if (answered.status !== wanted) {
        wrong.push(`${path} to ${state}: ${answered.status} ${answered.bytes.toString().slice(0, 200)}`);
        return;
      }
      one.acknowledged = performance.now();
      acknowledged[number]?.push(one.acknowledged);
      const { etag } = answered.headers;
      if (state !== absent) known.set(path, typeof etag === 'string' ? etag : undefined);
    }

    async function put(path: string, headers: Record<string, string> = {}): Promise<void> {
      // Of a row, of one file, and long enough to be on its way for a while.
      const body = randomBytes([200, 40_000, 400_000][pick(3)] ?? 0);
      await change(path, digest(body), 204, () => ask('PUT', path, { body, headers }));
    }

    async function assemble(path: string): Promise<void> {
      const pieces = [randomBytes(1000 + pick(50_000))];
      const created = await ask('POST', '/demo/uploads', { json: { objectPath: path } });
      if (created === undefined) return;
      const { partsDirectory } = JSON.parse(created.bytes.toString()) as { partsDirectory: string };
      const etags: string[] = [];
      for (const [at, body] of pieces.entries()) {
        const part = await ask('PUT', `${partsDirectory}/${at}`, { body });
        if (part === undefined) return;
        etags.push(String(part.headers['etag']));
      }
      await change(path, digest(Buffer.concat(pieces)), 201, () => ask('POST', `${partsDirectory}/commit`, { json: { parts: etags } }));
    }

    /** A condition that does not hold, unless it comes so late that it does: then the path is left alone, too. */
    async function loseRace(path: string): Promise<void> {
      const body = randomBytes(100);
      const etag = known.get(path);
      const history = histories.get(path) ?? [];
      const one: Change = { state: digest(body), began: performance.now() };
      history.push(one);
      known.delete(path);
      const answered = await ask('PUT', path, { body, headers: { 'if-none-match': '*' } });
      if (answered === undefined) return;
      if (answered.status !== 412) wrong.push(`PUT ${path} if-none-match: ${answered.status}`);
      history.splice(history.indexOf(one), 1);
      known.set(path, etag);
    }

    return async () => {
      const [path, etag] = [...known][pick(known.size)] ?? [];
      made += 1;
      const dice = random();
      const fresh = `${directory}/w${number}-${made}`;
      if (path === undefined || known.size < 4)
        return dice < 0.3 ? assemble(fresh) : put(fresh, dice < 0.6 ? { 'if-none-match': '*' } : {});
      if (dice < 0.3) return put(path);
      if (dice < 0.55 && etag !== undefined) return put(path, { 'if-match': etag });
      if (dice < 0.65) return loseRace(path);
      if (dice < 0.8) return assemble(path);
      return change(path, absent, 204, () => ask('DELETE', path));
    };
  }

  async function repeat(step: () => Promise<unknown>): Promise<void> {
    while (!over.signal.aborted) await step();
  }

  const reading = async (): Promise<void> => {
    const [path, history] = [...histories][pick(histories.size)] ?? [];
    if (path === undefined || history === undefined) await sleep(pause);
    else await read(path, history);
  };
  const all = Promise.all([
    ...Array.from({ length: writers }, (_, number) => repeat(createWriter(number))),
    ...Array.from({ length: readers }, () => repeat(reading)),
  ]);

  /** The names of the directory, which are those that may be there and all that must be. */
  async function checkListing(): Promise<void> {
    const found = new Set<string>();
    for (let marker = ''; ;) {
      const { bytes } = await services.send('storage', 'GET', `${directory}?limit=1000&marker=${marker}`);
      const names = bytes
        .toString()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => (JSON.parse(line) as { name: string }).name);
      const fresh = names.filter((name) => !found.has(name));
      for (const name of fresh) found.add(name);
      const last = names.at(-1);
      if (fresh.length === 0 || last === undefined) break;
      marker = last;
    }
    for (const [path, history] of histories) {
      const isFound = found.delete(path.slice(directory.length + 1));
      const allowed = listAllowed(history, performance.now(), performance.now());
      const may = isFound ? allowed.some((state) => state !== absent) : allowed.includes(absent);
      if (!may) wrong.push(`the listing ${isFound ? 'has' : 'lacks'} ${path}, which may be ${allowed.join(' or ')}`);
    }
    for (const name of found) wrong.push(`the listing has ${name}, which nobody has made`);
  }

  return {
    acknowledged,
    counts,
    async proceed(count, timeoutMs) {
      const wanted = acknowledged.map((times) => times.length + count);
      const end = performance.now() + timeoutMs;
      while (acknowledged.some((times, number) => times.length < (wanted[number] ?? 0))) {
        if (performance.now() > end) throw new Error(`nothing was acknowledged to some writer for ${timeoutMs} ms; ${wrong.join('\n')}`);
        await sleep(pause);
      }
    },
    async check() {
      over.abort();
      await all;
      const paths = [...histories];
      const readAll = async (): Promise<void> => {
        for (let next = paths.pop(); next !== undefined; next = paths.pop()) {
          if (!(await read(...next))) wrong.push(`GET ${next[0]} is not answered`);
        }
      };
      await Promise.all(Array.from({ length: 8 }, readAll));
      await checkListing();
      return wrong;
    },
  };
}
