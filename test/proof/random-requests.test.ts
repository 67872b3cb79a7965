import { createHash, createPrivateKey, sign } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ServiceName } from '../../src/api/operation.ts';
import { openDatabase } from '../../src/server/store/database.ts';
import { collectUnreferenced } from '../../src/server/store/collect.ts';
import { findReferenced } from '../../src/server/storage/garbage.ts';
import { openStore } from '../../src/server/store/open.ts';
import { collectable } from '../support/collect-garbage.ts';
import { report } from '../support/figures.ts';
import { createRandom } from '../support/random.ts';
import { drawRequest, type RandomRequest, type RandomSigners } from '../support/random-request.ts';
import { exchangeRaw, type RawReply } from '../support/raw-http.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale, seed } from '../support/scale.ts';
import { expectLoadBack, readLoad, readSettledLoad } from '../support/service-load.ts';
import { sql } from 'kysely';

const user = useLocal('--http');
Object.assign(user.env, collectable);
const wanted = scale(5000, 200_000);
const atOnce = 8;
/** Most milliseconds for any answer, however busy the machine is. */
const limit = 10_000;
/** Server errors that are documented: what is not implemented, not available, or too much for the disk. */
const allowed = new Set([501, 503, 507]);

/** Signs as the account and as its sub-user `bob`, by node:crypto alone. */
function createSigners(
  keys: Readonly<Record<'account' | 'user', { keyId: Readonly<Record<ServiceName, string>>; pem: string }>>,
): RandomSigners {
  const made = new Map<string, readonly [string, string][]>();
  const signText = (text: string, pem: string): string => sign('sha256', Buffer.from(text), createPrivateKey(pem)).toString('base64');
  return {
    headers: async (service, who) => {
      const date = new Date().toUTCString();
      const id = `${service} ${who} ${date}`;
      const known = made.get(id);
      if (known) return known;
      if (made.size > 100) made.clear();
      const { keyId, pem } = keys[who];
      const start = `Signature keyId="${keyId[service]}",algorithm="rsa-sha256"`;
      const rest = service === 'compute' ? ` ${signText(date, pem)}` : `,signature="${signText(`date: ${date}`, pem)}"`;
      const headers: readonly [string, string][] = [
        ['date', date],
        ['authorization', start + rest],
      ];
      made.set(id, headers);
      return headers;
    },
    presign: async (service, method, target) => {
      const { keyId, pem } = keys.account;
      const [path = '', query = ''] = target.split('?');
      const own = [
        ['algorithm', 'rsa-sha256'],
        ['expires', String(Math.floor(Date.now() / 1000) + 60)],
        ['keyId', encodeURIComponent(keyId[service])],
      ].map((pair) => pair.join('='));
      const pairs = [...query.split('&').filter(Boolean), ...own].toSorted();
      const signature = signText([method, 'fuzz.test', path, pairs.join('&')].join('\n'), pem);
      return `${path}?${pairs.join('&')}&signature=${encodeURIComponent(signature)}`;
    },
  };
}

function portOf(service: ServiceName): number {
  return Number(new URL(service === 'compute' ? user.local.computeUrl : user.local.storUrl).port);
}

function isErrorBody(response: RawReply): boolean {
  try {
    const { code, message } = JSON.parse(response.body.toString()) as { code: unknown; message: unknown };
    return typeof code === 'string' && typeof message === 'string';
  } catch {
    return false;
  }
}

/** What is wrong with an answer; undefined when nothing is. */
function judge({ method, isSound }: RandomRequest, response: RawReply): string | undefined {
  const { status, isWhole, hung } = response;
  if (hung) return `no answer within ${limit} ms`;
  if (status === 0) return isSound ? 'the connection ended without an answer' : undefined;
  if (isSound && !isWhole) return `the answer ${status} is not whole`;
  // Whoever breaks a request off may get a broken answer; behind a whole one stands only that to what was sent behind the request.
  const more = response.after.toString('latin1');
  // What could not be read as HTTP is answered as if it were no HEAD.
  if (method !== 'HEAD' && more !== '' && !more.startsWith('HTTP/1.1 4'))
    return `the answer ${status} is followed by ${JSON.stringify(more.slice(0, 200))}`;
  if (status >= 500 && !allowed.has(status)) return `the answer is ${status}: ${response.body.toString().slice(0, 300)}`;
  if (status >= 400 && method !== 'HEAD' && response.body.length > 0 && !isErrorBody(response))
    return `the answer ${status} has no code and message`;
  return undefined;
}

/** The request as a line that can be sent again: `printf '...' | nc 127.0.0.1 PORT`. */
function print({ pieces }: RandomRequest): string {
  const bytes = Buffer.concat(pieces);
  const text = [...bytes.subarray(0, 3000)]
    .map((byte) =>
      byte >= 0x20 && byte < 0x7f && byte !== 0x25 && byte !== 0x27 && byte !== 0x5c
        ? String.fromCharCode(byte)
        : `\\${byte.toString(8).padStart(3, '0')}`,
    )
    .join('');
  return `printf '${text}'${bytes.length > 3000 ? ` # and ${bytes.length - 3000} bytes more` : ''}`;
}

const learnable = /"(?:id|fingerprint)":"([0-9a-f:-]{36,47})"/gu;

/** Remembers the ids that an answer tells, the latest few hundred of them. */
function learn(known: Set<string>, { headers, body }: RawReply): void {
  const location = headers.get('location')?.split('/').at(-1);
  for (const id of [location, ...[...body.subarray(0, 4000).toString().matchAll(learnable)].map(([, id]) => id)]) {
    if (id === undefined || id === user.local.keyId || known.has(id)) continue;
    known.add(id);
    const [oldest] = known;
    if (known.size > 300 && oldest !== undefined) known.delete(oldest);
  }
}

interface Entry {
  path: string;
  type: string;
}

/** Everything that the storage has is listed, and every object is what its entry says. */
async function checkObjects(): Promise<number> {
  const { code, stdout, stderr } = await user.cloud(['stor', 'find', '/demo', '-o', 'jsonl']);
  expect([code, stderr]).toEqual([0, '']);
  const entries = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Entry);
  const objects = entries.filter(({ type }) => type === 'object');
  const signers = await prepare();
  for (const { path } of objects) {
    const headers = await signers.headers('storage', 'account');
    const lines = [
      `GET ${path.split('/').map(encodeURIComponent).join('/')} HTTP/1.1`,
      'Host: fuzz.test',
      ...headers.map((pair) => pair.join(': ')),
    ];
    const response = await exchangeRaw([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)], {
      port: portOf('storage'),
      method: 'GET',
      limit,
      ends: false,
    });
    expect([path, response.status, createHash('md5').update(response.body).digest('base64')]).toEqual([
      path,
      200,
      response.headers.get('content-md5'),
    ]);
  }
  return objects.length;
}

/** With the service stopped: the database is whole, counts what it holds, and every stored byte belongs to something. */
async function checkStore(dataDir: string): Promise<void> {
  const db = await openDatabase(dataDir);
  const integrity = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(db);
  expect(integrity.rows.map((row) => row.integrity_check)).toEqual(['ok']);
  expect((await sql`pragma foreign_key_check`.execute(db)).rows).toEqual([]);
  const wrong = await sql`select e.parent, e.name from entries e where e.type = 'directory'
    and e.children <> (select count(*) from entries c where c.parent = iif(e.parent = '', e.name, e.parent || '/' || e.name))`.execute(db);
  expect(wrong.rows).toEqual([]);
  const lost = await sql`select e.parent, e.name from entries e where e.parent <> '' and not exists
    (select 1 from entries p where p.type = 'directory' and iif(p.parent = '', p.name, p.parent || '/' || p.name) = e.parent)`.execute(db);
  expect(lost.rows).toEqual([]);
  await db.destroy();
  expect(readdirSync(join(dataDir, 'tmp'))).toEqual([]);
  const store = await openStore(dataDir);
  expect(await collectUnreferenced(store, Infinity, findReferenced)).toBe(0);
  await store.close();
}

let signersMade: RandomSigners | undefined;

/** A sub-user with a key and roles, so that policies are asked too. */
async function prepare(): Promise<RandomSigners> {
  if (signersMade) return signersMade;
  const made = await user.shell(
    'ssh-keygen -q -t rsa -b 2048 -m PEM -N "" -f bob && ssh-keygen -l -E md5 -f bob.pub | cut -d" " -f2 | cut -c5-',
  );
  const fingerprint = made.stdout.trim();
  const setUp = await user.shell(`set -e
    printf 'secret123\\n' | cloud users create bob --email bob@example.com --password-file -
    cloud users keys create bob bob.pub
    cloud policies create reading --rule 'CAN getobject, listdirectory, putobject AND listkeys' --rule 'CAN * *'
    cloud roles create reader --policy reading --default-member bob
    cloud stor put -q bob.pub a; cloud stor mkdir -q b`);
  expect([setUp.code, setUp.stderr]).toEqual([0, expect.any(String)]);
  const ids = (key: string): { account: Record<ServiceName, string>; user: Record<ServiceName, string> } => ({
    account: { compute: `/demo/keys/${key}`, storage: `/demo/keys/${key}` },
    user: { compute: `/demo/users/bob/keys/${key}`, storage: `/demo/bob/keys/${key}` },
  });
  signersMade = createSigners({
    account: { keyId: ids(user.local.keyId).account, pem: readFileSync(user.local.keyFile, 'utf8') },
    user: { keyId: ids(fingerprint).user, pem: readFileSync(join(user.home, 'bob'), 'utf8') },
  });
  return signersMade;
}

test(
  `${wanted} random requests: each is answered, none by an undocumented failure, and all that is stored stays whole (seed ${seed})`,
  { timeout: scale(240_000, 7_200_000) },
  async () => {
    const signers = await prepare();
    const { pid, dataDir } = user.local;
    const known = new Set<string>();
    const wrong: string[] = [];
    const statuses = new Map<number, number>();
    let [begun, slowest, most] = [0, 0, 0];

    async function work(end: number): Promise<void> {
      while (begun < end && wrong.length < 10) {
        const number = begun;
        begun += 1;
        const request = await drawRequest(createRandom(seed * 1_000_003 + number), known, signers);
        const response = await exchangeRaw(request.pieces, {
          port: portOf(request.service),
          method: request.method,
          limit,
          ends: request.ends,
        });
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
        slowest = Math.max(slowest, response.milliseconds);
        learn(known, response);
        const failure = judge(request, response);
        if (failure !== undefined) wrong.push(`seed ${seed}, request ${number}, ${request.service}: ${failure}\n${print(request)}`);
        if (number % 100 === 0) most = Math.max(most, readLoad(pid).memory);
      }
    }
    const started = performance.now();
    const workUntil = (end: number): Promise<void[]> => Promise.all(Array.from({ length: atOnce }, () => work(end)));
    await workUntil(Math.ceil(wanted / 3));
    const warm = await readSettledLoad(user.local);
    await workUntil(wanted);
    const seconds = (performance.now() - started) / 1000;
    expect(wrong.join('\n\n')).toBe('');

    // The first third warms the service up; after it nothing may pile up. What V8 has not collected yet does not count.
    const settled = await readSettledLoad(user.local);
    expect(settled.live).toBeLessThan(warm.live + 10 * 1024 ** 2);
    await expectLoadBack(user.local, warm);
    const lines = readFileSync(join(dataDir, 'service.log'), 'utf8').split('\n');
    expect(lines.filter((line) => / internal error: | failed: /u.test(line))).toEqual([]);
    expect([200, 201, 204, 400, 401, 403, 404, 405, 409, 412].filter((status) => !statuses.has(status))).toEqual([]);
    const objects = await checkObjects();
    expect(objects).toBeGreaterThan(3);
    expect((await user.cloud(['local', 'stop'])).code).toBe(0);
    await checkStore(dataDir);

    const answered = [...statuses].filter(([status]) => status >= 200 && status < 300).reduce((sum, [, count]) => sum + count, 0);
    report('proof', {
      name: 'Random requests',
      ours: `${begun} requests in ${seconds.toFixed(0)} s, ${answered} of them carried out; slowest answer ${slowest.toFixed(0)} ms; memory at most ${most >> 20} MiB; in use with garbage collected ${(warm.live / 1024 ** 2).toFixed(1)} MiB after a third, ${(settled.live / 1024 ** 2).toFixed(1)} MiB at the end`,
      promise: 'each answered, no undocumented 5xx, memory flat, all data whole',
    });
  },
);
