import type { SimulatedGateway } from './gateway.ts';
import type { Scenario, Script } from './script.ts';

/** The histories for which the rules of `put_object` are there: gateways put objects by one statement, and cross with what is done otherwise. */

const stor = '/demo/stor';
const lifetime = 15_000;
const put = /^select put_object/u;

/** A content for the store of contents, and one for a row of the database. */
const large = Buffer.from('large\n'.repeat(4000));
const small = Buffer.from('small\n');
const directory = { headers: { 'content-type': 'application/json; type=directory' } };

async function startTwo(script: Script): Promise<readonly [SimulatedGateway, SimulatedGateway]> {
  return [await script.start('gateway 1'), await script.start('gateway 2')];
}

/** A gateway sleeps between the bytes of an object and its row, until others have removed what nothing names. */
async function sleepBeforePut(script: Script): Promise<void> {
  const gateway = await script.start('gateway 1');
  const asked = script.ask(gateway, 'PUT', `${stor}/a`, { body: large });
  const held = await script.holdAt(gateway, put, asked);
  script.freeze(gateway);
  await script.pass(lifetime + 500 + script.random() * 5000);
  await script.collect();
  script.thaw(gateway);
  script.release(held);
  await script.over(asked);
}

/** An object is replaced by one statement after another gateway has replaced the same version, or while it removes it. */
async function putSameVersion(script: Script, isSlow: 'put' | 'removal'): Promise<void> {
  const [one, other] = await startTwo(script);
  const { headers } = await script.do(one, 'PUT', `${stor}/a`, { body: small });
  const condition = { 'if-match': String(headers['etag']) };
  const asked = [
    () => script.ask(one, 'PUT', `${stor}/a`, { body: script.pick(small, large), headers: condition }),
    () => script.ask(other, 'DELETE', `${stor}/a`, { headers: condition }),
  ] as const;
  const [slow, quick] = isSlow === 'put' ? asked : ([asked[1], asked[0]] as const);
  const first = slow();
  const held = await script.holdAt(
    isSlow === 'put' ? one : other,
    isSlow === 'put' ? put : script.pick(/^delete entries/u, /^commit/u),
    first,
  );
  const second = quick();
  await script.overOrStuck(second);
  script.release(held);
  await script.over(first, second);
  script.excludeEachOther(first, second);
}

/** A directory is removed while something is put into it by one statement. */
async function putIntoRemoved(script: Script): Promise<void> {
  const [one, other] = await startTwo(script);
  await script.do(one, 'PUT', `${stor}/d`, directory);
  const removal = script.ask(other, 'DELETE', `${stor}/d`);
  const held = await script.holdAt(other, script.pick(/^delete entries/u, /^commit/u), removal);
  const asked = script.ask(one, 'PUT', `${stor}/d/a`, { body: small });
  await script.overOrStuck(asked);
  script.release(held);
  await script.over(removal, asked);
  script.excludeEachOther(removal, asked);
}

export const putScenarios = {
  sleepBeforePut,
  putReplaced: (script) => putSameVersion(script, 'put'),
  putDuringRemoval: (script) => putSameVersion(script, 'removal'),
  putIntoRemoved,
} satisfies Readonly<Record<string, Scenario>>;
