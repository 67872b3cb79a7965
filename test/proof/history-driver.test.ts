import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { HistoryDriver, type SendToStorage } from '../support/history-driver.ts';
import { judgeHistory } from '../support/linearizability.ts';
import { createRandom } from '../support/random.ts';
import type { Answered, Sent } from '../support/signed.ts';

/** The driver of histories writes down no violation of a service that has none: one in memory, where each request is done in one step. */

interface Stored {
  readonly body: Buffer;
  readonly etag: string;
  readonly mark: string;
}

const directory = '/demo/stor/d';
const names = ['a', 'b', 'c', 'd', 'e'];

function answer(status: number, headers: Answered['headers'] = {}, bytes: Buffer = Buffer.alloc(0)): Answered {
  return { status, headers, bytes };
}

/** Does requests one after the other. */
class MemoryService {
  readonly #objects = new Map<string, Stored>();
  readonly #uploads: { readonly name: string; readonly mark: string; body: Buffer }[] = [];
  #versions = 0;

  handle(method: string, path: string, { headers = {}, body = Buffer.alloc(0), json }: Sent = {}): Answered {
    const [, , kind, ...rest] = path.split('/');
    if (kind === 'uploads') return this.#upload(rest, json, Buffer.from(body));
    if (path === directory) return this.#list();
    const [name = '', query] = path.slice(directory.length + 1).split('?');
    const there = this.#objects.get(name);
    if (method === 'GET') return this.#read(there, headers);
    const { 'if-match': match, 'if-none-match': none } = headers;
    if ((match !== undefined && match !== there?.etag) || (none === '*' && there)) return answer(412);
    if (method === 'DELETE') return answer(this.#objects.delete(name) ? 204 : 404);
    if (query === 'metadata=true') return there ? this.#store(name, { ...there, mark: headers['m-mark'] ?? '-' }) : answer(404);
    if (headers['location'] === undefined) return this.#create(name, Buffer.from(body), headers['m-mark']);
    const source = this.#objects.get(headers['location'].slice(directory.length + 1));
    return source ? this.#store(name, source) : answer(404);
  }

  #create(name: string, body: Buffer, mark = '-'): Answered {
    this.#versions += 1;
    return this.#store(name, { body, mark, etag: `v${this.#versions}` });
  }

  #store(name: string, stored: Stored): Answered {
    this.#objects.set(name, stored);
    return answer(204, { etag: stored.etag });
  }

  #read(there: Stored | undefined, headers: Readonly<Record<string, string>>): Answered {
    if (!there) return answer(404);
    const { etag, mark, body } = there;
    if (headers['range'] === undefined) return answer(200, { etag, 'm-mark': mark }, body);
    return headers['if-match'] === etag ? answer(206, { etag }, body.subarray(Number(/\d+/.exec(headers['range'])?.[0]))) : answer(412);
  }

  #list(): Answered {
    const records = Array.from(this.#objects, ([name, { body, etag }]) => {
      const contentMD5 = createHash('md5').update(body).digest('base64');
      return `${JSON.stringify({ name, etag, contentMD5, size: body.length })}\n`;
    });
    return answer(200, { 'result-set-size': String(records.length) }, Buffer.from(records.join('')));
  }

  #upload([id = '', part]: readonly string[], json: unknown, body: Buffer): Answered {
    if (id === '') {
      const { objectPath, headers } = json as { objectPath: string; headers: Record<string, string> };
      this.#uploads.push({ name: objectPath.slice(directory.length + 1), mark: headers['m-mark'] ?? '-', body });
      return answer(201, {}, Buffer.from(JSON.stringify({ partsDirectory: `/demo/uploads/${this.#uploads.length - 1}` })));
    }
    const upload = this.#uploads[Number(id)];
    if (upload === undefined) throw new Error(`no upload ${id}`);
    if (part === 'commit') return this.#create(upload.name, upload.body, upload.mark);
    upload.body = body;
    return answer(204, { etag: 'part' });
  }
}

/** Requests and responses take some turns of the event loop each; one in five responses is lost. */
function createSend(random: () => number): SendToStorage {
  const service = new MemoryService();
  const wait = async (): Promise<void> => {
    for (let turns = Math.floor(random() ** 3 * 20); turns > 0; turns -= 1) await setImmediate();
  };
  return async (method, path, sent) => {
    await wait();
    const answered = service.handle(method, path, sent);
    await wait();
    if (method !== 'GET' && random() < 0.2) throw new Error('the connection was closed');
    return answered;
  };
}

test('histories of a service without mistakes have an order', { timeout: 60_000 }, async () => {
  for (let seed = 1; seed <= 250; seed += 1) {
    const random = createRandom(seed);
    const send = createSend(random);
    const driver = new HistoryDriver(directory, names, random, { share: 0, lines: 0 });
    const work = async (client: number): Promise<void> => {
      for (let step = 0; step < 15; step += 1) await driver.step(client, send).catch(() => setImmediate());
    };
    await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(work));
    await driver.look(send);
    const { history, wrong } = driver.finish();
    expect([seed, wrong]).toEqual([seed, []]);
    expect([seed, judgeHistory(history)]).toEqual([seed, { violation: undefined, undecided: [] }]);
  }
});
