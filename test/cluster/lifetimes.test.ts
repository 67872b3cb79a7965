import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keepCollecting } from '../../src/server/keep-collecting.ts';
import { createDatabase, openLeased } from '../support/cluster-database.ts';
import { createTestService, signAs, type TestService } from '../support/service.ts';

/** Gateways remove what has become too old by themselves, of accounts that ask for nothing any more, too. */

const day = 86_400_000;
const settings = { serviceLimits: { uploadDays: 3, finishedUploadDays: 3, auditDays: 3, jobDays: 3 } };
/** Milliseconds by which the clock of the gateway is wrong. */
let ahead = 0;
let service: TestService;
let drop: () => Promise<void>;
beforeAll(async () => {
  const { url, drop: remove } = await createDatabase();
  drop = remove;
  const open = async (dir: string) => (await openLeased(url, dir)).store;
  service = await createTestService({ open, now: () => Date.now() + ahead, requestTime: Date.now, settings });
});
afterAll(async () => {
  await service.close();
  await drop();
});

/** Lets a gateway do its rounds until it says something. @returns all that it said */
async function collectOnce(): Promise<string[]> {
  const said: string[] = [];
  const { store } = service;
  let heard = (): void => undefined;
  const first = new Promise<void>((resolve) => (heard = resolve));
  const log = (line: string): void => {
    said.push(line);
    heard();
  };
  const keeping = { isSteady: () => true };
  const collecting = keepCollecting({ store, settings, keeping, log, holder: 'a', pause: 10 });
  await first;
  await collecting.stop();
  return said.filter((line) => line.startsWith('removed'));
}

const listUploads = async (): Promise<string[]> =>
  (await service.store.db.selectFrom('uploads').select(['target', 'state']).orderBy('target').execute()).map(
    ({ target, state }) => `${target} ${state}`,
  );
const listChanges = async (): Promise<string[]> =>
  (await service.store.db.selectFrom('audit').select('action').orderBy('sequence').execute()).map(({ action }) => action);

test('uploads, changes and jobs with all their rows, by the clock of the database', async () => {
  const { db } = service.store;
  const upload = (login: string, name: string) =>
    service.storage('POST', `/${login}/uploads`, {
      json: { objectPath: `/${login}/stor/${name}` },
      signing: signAs('storage', login === 'demo' ? service.key : service.otherKey, login),
    });
  const { json } = await upload('other', 'old');
  const { partsDirectory } = json as { partsDirectory: string };
  await service.compute('POST', '/my/roles', { json: { name: 'old' } });
  await sql`update audit set at = at - interval '3 days 1 minute'`.execute(db);
  const job = { account: service.other.id, creator: null, user: null, access: '{}', name: null, phases: '[]', state: 'done' as const };
  const counts = { cancelled: 0, input_done: 1, outputs: 0, errors: 0, retries: 0, created: Date.now() };
  await db
    .insertInto('jobs')
    .values({ ...job, ...counts, id: 'old', done: Date.now() - 3 * day - 1000 })
    .execute();
  const outputs = Array.from({ length: 2500 }, (_, number) => ({ job: 'old', number, output: '/x', given: 0 }));
  await db.insertInto('job_outputs').values(outputs).execute();
  for (const [name, ended] of Object.entries({ finished: Date.now() - 3 * day - 1000, repeatable: Date.now() - 3 * day + 60_000 })) {
    await upload('other', name);
    await db
      .updateTable('uploads')
      .set({ state: 'done', result: 'committed', ended })
      .where('target', '=', `/other/stor/${name}`)
      .execute();
  }
  const touched = (await upload('other', 'touched')).json as { partsDirectory: string };
  const signing = signAs('storage', service.otherKey, 'other');
  await service.storage('PUT', `${touched.partsDirectory}/0`, { body: Buffer.from('x'), signing });
  await sql`update uploads set created = created - ${3 * day + 1000}`.execute(db);
  await upload('demo', 'young');
  await service.compute('POST', '/my/roles', { json: { name: 'young' } });
  await db
    .insertInto('jobs')
    .values({ ...job, ...counts, id: 'young', done: Date.now() })
    .execute();
  expect(await collectOnce()).toEqual([
    'removed as too old: uploads that nobody ended 1, records of finished uploads 1, rows of jobs 2501, changes in the audit log 1',
  ]);
  expect(await listUploads()).toEqual([
    '/demo/stor/young created',
    '/other/stor/old done',
    '/other/stor/repeatable done',
    '/other/stor/touched created',
  ]);
  expect(await db.selectFrom('entries').select('name').where('parent', '=', partsDirectory).execute()).toEqual([]);
  expect(await listChanges()).toEqual(['createRole']);
  expect((await db.selectFrom('jobs').select('id').execute()).map(({ id }) => id)).toEqual(['young']);
  expect(await db.selectFrom('job_outputs').select('number').execute()).toEqual([]);
});

test('one of several gateways does it', async () => {
  const { db } = service.store;
  await sql`update audit set at = at - interval '4 days'`.execute(db);
  await sql`insert into duties (name, holder, until) values ('lifetimes', 'b', clock_timestamp() + interval '1 day')
    on conflict (name) do update set holder = 'b', until = excluded.until`.execute(db);
  const said: string[] = [];
  let rounds = 0;
  const keeping = { isSteady: () => (rounds += 1) <= 3 };
  const { store } = service;
  const options = { store, settings, keeping, log: (line: string) => void said.push(line), holder: 'a', pause: 1 };
  const collecting = keepCollecting(options);
  await expect.poll(() => rounds).toBeGreaterThan(3);
  await collecting.stop();
  expect([said.filter((line) => line.startsWith('removed')), await listChanges()]).toEqual([[], ['createRole']]);
});

test('a gateway whose clock is years ahead removes nothing', async () => {
  const { json } = await service.storage('POST', '/demo/uploads', { json: { objectPath: '/demo/stor/mine' } });
  const { partsDirectory } = json as { partsDirectory: string };
  ahead = 20 * 365 * day;
  const { status } = await service.storage('POST', '/demo/uploads', { json: { objectPath: '/demo/stor/other' } });
  expect([status, (await service.storage('GET', `${partsDirectory}/state`)).json]).toEqual([
    201,
    expect.objectContaining({ state: 'created' }),
  ]);
});
