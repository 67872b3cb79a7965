import { steps } from '../../../src/server/store/migrations.ts';
import { migratePostgres } from '../../../src/server/store/postgres/migrate.ts';
import type { SimulatedGateway } from './gateway.ts';
import { putScenarios } from './put-histories.ts';
import type { Asked, Begun, Scenario, Script } from './script.ts';
import { taskScenarios } from './task-histories.ts';

/** The histories for which the rules of gateways that share a database are there. */

const stor = '/demo/stor';
const lifetime = 15_000;

/** A content for the store of contents, and one for a row of the database. */
const large = Buffer.from('large\n'.repeat(4000));
/** The smallest part of an upload but the last. */
const part = Buffer.alloc(5 * 1024 ** 2, 'part\n');
const small = Buffer.from('small\n');

/** A gateway sleeps between the bytes of an object and its row, until others have removed what nothing names. */
async function sleepBeforeWrite(script: Script): Promise<void> {
  const gateway = await script.start('gateway 1');
  const put = script.ask(gateway, 'PUT', `${stor}/a`, { body: large });
  const held = await script.holdAt(gateway, script.pick(/^wrote /u, /^select gateways/u), put);
  const { id } = gateway.lease;
  script.freeze(gateway);
  await script.pass(lifetime + 500 + script.random() * 5000);
  await script.collect();
  script.thaw(gateway);
  // It may have a new lease when it goes on, or still believe in the old one.
  if (script.random() < 0.5) await script.until(() => gateway.lease.id !== id, 'the lease is taken again');
  script.release(held);
  await script.over(put);
}

/** The lease of a gateway ends while it writes. */
async function loseLeaseInWrite(script: Script): Promise<void> {
  const gateway = await script.start('gateway 1');
  const renewals = script.hold(gateway, /^update gateways/u);
  const put = script.ask(gateway, 'PUT', `${stor}/a`, { body: large });
  let held = await script.holdAt(gateway, /^select gateways/u, put);
  await script.pass(11_500 + script.random() * 2500 - gateway.lease.age());
  script.release(held);
  held = await script.holdAt(gateway, script.pick(/^insert entries/u, /^insert count_changes/u, /^commit/u), put);
  await script.pass(lifetime + 200 - gateway.lease.age());
  await script.collect();
  script.release(held);
  script.release(renewals);
  await script.over(put);
}

/** An object comes slowly, to a gateway that is well, while others collect. */
async function writeSlowly(script: Script): Promise<void> {
  const [gateway, other] = await startTwo(script);
  await script.do(other, 'PUT', `${stor}/b`, { body: large });
  await script.renewed();
  const put = script.ask(gateway, 'PUT', `${stor}/a`, { body: large });
  const held = await script.holdAt(gateway, script.pick(/^wrote /u, /^select gateways/u), put);
  for (let turn = 0; turn < 2; turn += 1) {
    await script.renewed();
    await script.collect();
  }
  script.release(held);
  await script.over(put);
}

/** The reader of an object is slow; the object is removed or replaced by another gateway, and collected. */
async function readSlowly(script: Script): Promise<void> {
  const [gateway, other] = await startTwo(script);
  await script.do(other, 'PUT', `${stor}/a`, { body: large });
  await script.renewed();
  const get = script.ask(gateway, 'GET', `${stor}/a`);
  const held = await script.holdAt(gateway, /^read on/u, get);
  if (script.random() < 0.5) await script.do(other, 'DELETE', `${stor}/a`);
  else await script.do(other, 'PUT', `${stor}/a`, { body: small });
  for (let turn = 0; turn < 2; turn += 1) {
    await script.collect();
    await script.renewed();
  }
  await script.collect();
  script.release(held);
  await finishReading(script, get, large);
}

/** The same with an object of several parts, which are read one after the other. */
async function readPartsSlowly(script: Script): Promise<void> {
  const [gateway, other] = await startTwo(script);
  const bodies = [part, small];
  const { path } = await createUpload(script, other);
  const etags: string[] = [];
  for (const [number, body] of bodies.entries())
    etags.push(String((await script.do(other, 'PUT', `${path}/${number}`, { body })).headers['etag']));
  await script.do(other, 'POST', `${path}/commit`, { json: { parts: etags } });
  await script.renewed();
  const get = script.ask(gateway, 'GET', `${stor}/a`);
  const held = await script.holdAt(gateway, /^read on/u, get);
  await script.do(other, 'DELETE', `${stor}/a`);
  await script.collect();
  await script.renewed();
  await script.collect();
  script.release(held);
  await finishReading(script, get, Buffer.concat(bodies));
}

async function finishReading(script: Script, get: Asked, content: Buffer): Promise<void> {
  await script.over(get);
  if (get.answered?.bytes.equals(content) !== true) script.wrong.push(`${get.task} was answered ${get.answered?.status}, and not whole`);
}

/** Somebody begins to read after a removal has been noted, and before that is committed. */
async function readDuringRemoval(script: Script): Promise<void> {
  const [gateway, other] = await startTwo(script);
  await script.do(other, 'PUT', `${stor}/a`, { body: large });
  const removal = script.ask(other, 'DELETE', `${stor}/a`);
  const uncommitted = await script.holdAt(other, /^commit/u, removal);
  await script.renewed(gateway);
  const get = script.ask(gateway, 'GET', `${stor}/a`);
  const held = await script.holdAt(gateway, /^read on/u, get);
  script.release(uncommitted);
  await script.over(removal);
  await script.collect();
  await script.renewed();
  await script.collect();
  script.release(held);
  await finishReading(script, get, large);
}

/** Two requests to two gateways. */
interface Crossing {
  readonly gateways: readonly [SimulatedGateway, SimulatedGateway];
  readonly first: (gateway: SimulatedGateway) => Asked;
  /** Statements of the first one's transaction. */
  readonly at: readonly [RegExp, ...RegExp[]];
  readonly second: (gateway: SimulatedGateway) => Asked;
}

/** One request is slow in its transaction, and another one comes to its end or waits meanwhile. */
async function cross(script: Script, { gateways: [one, other], first, at, second }: Crossing): Promise<readonly [Asked, Asked]> {
  const slow = first(one);
  const held = await script.holdAt(one, script.pick(...at), slow);
  const quick = second(other);
  await script.overOrStuck(quick);
  script.release(held);
  await script.over(slow, quick);
  return [slow, quick];
}

async function startTwo(script: Script): Promise<readonly [SimulatedGateway, SimulatedGateway]> {
  return [await script.start('gateway 1'), await script.start('gateway 2')];
}

/** Two replace or remove the same version. */
async function writeSameVersion(script: Script): Promise<void> {
  const gateways = await startTwo(script);
  const body = script.pick(small, large);
  const { headers } = await script.do(gateways[0], 'PUT', `${stor}/a`, { body });
  const condition = { 'if-match': String(headers['etag']) };
  const removes = script.random() < 0.5;
  const both = await cross(script, {
    gateways,
    first: (gateway) => script.ask(gateway, 'PUT', `${stor}/a`, { body, headers: condition }),
    at: [/^update entries/u, /^commit/u],
    second: (gateway) => script.ask(gateway, removes ? 'DELETE' : 'PUT', `${stor}/a`, { ...(!removes && { body }), headers: condition }),
  });
  script.excludeEachOther(...both);
}

/** An object is removed while it gets another name. */
async function linkAndRemove(script: Script): Promise<void> {
  const gateways = await startTwo(script);
  await script.do(gateways[0], 'PUT', `${stor}/a`, { body: small });
  const headers = { 'content-type': 'application/json; type=link', location: `${stor}/a` };
  await cross(script, {
    gateways,
    first: (gateway) => script.ask(gateway, 'PUT', `${stor}/b`, { headers }),
    at: [/^update contents/u, /^insert entries/u, /^insert count_changes/u, /^commit/u],
    second: (gateway) => script.ask(gateway, 'DELETE', `${stor}/a`),
  });
}

/** A directory is removed while it is filled. */
async function fillAndRemove(script: Script): Promise<void> {
  const gateways = await startTwo(script);
  await script.do(gateways[0], 'PUT', `${stor}/d`, { headers: { 'content-type': 'application/json; type=directory' } });
  const both = await cross(script, {
    gateways,
    first: (gateway) => script.ask(gateway, 'PUT', `${stor}/d/a`, { body: small }),
    at: [/^insert entries/u, /^insert count_changes/u, /^commit/u],
    second: (gateway) => script.ask(gateway, 'DELETE', `${stor}/d`),
  });
  script.excludeEachOther(...both);
}

async function createUpload(script: Script, gateway: SimulatedGateway): Promise<{ path: string }> {
  const made = await script.do(gateway, 'POST', '/demo/uploads', { json: { objectPath: `${stor}/a` } });
  const { partsDirectory: path } = JSON.parse(made.bytes.toString()) as { partsDirectory: string };
  return { path };
}

/** An upload with one part. @returns its path, and the etag of the part */
async function beginUpload(script: Script, gateway: SimulatedGateway): Promise<{ path: string; etag: string }> {
  const { path } = await createUpload(script, gateway);
  const { headers } = await script.do(gateway, 'PUT', `${path}/0`, { body: small });
  return { path, etag: String(headers['etag']) };
}

/** A part comes while its upload is committed or given up. */
async function addPartToEnded(script: Script): Promise<void> {
  const gateways = await startTwo(script);
  const { path, etag } = await beginUpload(script, gateways[0]);
  const commits = script.random() < 0.5;
  await cross(script, {
    gateways,
    first: (gateway) => script.ask(gateway, 'PUT', `${path}/1`, { body: small }),
    at: [/^insert entries/u, /^insert count_changes/u, /^commit/u],
    second: (gateway) => script.ask(gateway, 'POST', `${path}/${commits ? 'commit' : 'abort'}`, commits ? { json: { parts: [etag] } } : {}),
  });
}

/** An upload is committed and given up at the same time. */
async function commitAndAbort(script: Script): Promise<void> {
  const gateways = await startTwo(script);
  const { path, etag } = await beginUpload(script, gateways[0]);
  const both = await cross(script, {
    gateways,
    first: (gateway) => script.ask(gateway, 'POST', `${path}/commit`, { json: { parts: [etag] } }),
    at: [/^insert entries/u, /^delete entries/u, /^update uploads/u, /^commit/u],
    second: (gateway) => script.ask(gateway, 'POST', `${path}/abort`),
  });
  script.excludeEachOther(...both);
}

/** Two processes start at the same time, on a database without any table. */
async function migrateTogether(script: Script): Promise<void> {
  const [one, other] = [script.open('process 1'), script.open('process 2')];
  // A migration that did not wait is undone, and begins again behind the other.
  const undone = [one, other].map((process) => script.hold(process, /^rollback/u));
  const begin = ({ group, store }: typeof one): Migrating => script.attempt(group, 'migrate', () => migratePostgres(store.db, 0));
  const slow = begin(one);
  // Behind the table of versions, which is made in a transaction of its own.
  const looking = await script.holdAt(one, /^select steps/u, slow);
  const held = script.hold(one, script.pick(/^insert steps/u, /^create table/u, /^create index/u, /^commit/u), slow);
  script.release(looking);
  await script.until(() => held.isReached, 'a step is begun');
  const quick = begin(other);
  await script.overOrStuck(quick);
  script.release(held);
  await script.until(() => (slow.isOver && quick.isOver) || undone.some(({ isReached }) => isReached), 'both migrations end');
  if (undone.some(({ isReached }) => isReached)) script.wrong.push('a migration was undone, because another one was in its way');
  for (const each of undone) script.release(each);
  await script.over(slow, quick);
  const begun = [slow, quick].map(({ value }) => value?.from);
  const isRight = begun.includes(0) && begun.includes(steps.length);
  if (!isRight) script.wrong.push(`two migrations began at the versions ${begun.join(' and ')}`);
}

type Migrating = Begun & { value: { from: number; to: number } | undefined };

export const scenarios = {
  migrateTogether,
  sleepBeforeWrite,
  loseLeaseInWrite,
  writeSlowly,
  readSlowly,
  readPartsSlowly,
  readDuringRemoval,
  writeSameVersion,
  linkAndRemove,
  fillAndRemove,
  addPartToEnded,
  commitAndAbort,
  ...putScenarios,
  ...taskScenarios,
} satisfies Readonly<Record<string, Scenario>>;

export type ScenarioName = keyof typeof scenarios;
