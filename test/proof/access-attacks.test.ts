import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { collectable, readLiveMemory } from '../support/collect-garbage.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';
import { expectLoadBack, readSettledLoad, type SettledLoad } from '../support/service-load.ts';
import { openServices, type Answered, type SignedServices } from '../support/signed.ts';

/**
 * Requests of one account that used to stop both services for all: each is refused or bounded, and the service answers a ping within a second
 * while they are under way and after. What they took of memory and descriptors is given back.
 */

const user = useLocal('--add-account', 'other');
Object.assign(user.env, collectable);
let before: SettledLoad;
let attacker: SignedServices;
let bystander: SignedServices;

beforeAll(async () => {
  const [other] = user.local.accounts ?? [];
  if (other === undefined) throw new Error('the service was started without the account other');
  attacker = await openServices({ ...user.local, ...other }, 8);
  bystander = await openServices(user.local, 1);
  await bystander.send('compute', 'GET', '/--ping');
  before = await readSettledLoad(user.local);
});
afterEach(() => expectLoadBack(user.local, before));
afterAll(async () => {
  await Promise.all([attacker.close(), bystander.close()]);
});

/** Milliseconds that the longest of many pings took, one after the other, until the work is done and once more. */
async function measurePings(work: Promise<unknown>): Promise<number> {
  let isDone = false;
  const settled = work.finally(() => {
    isDone = true;
  });
  let longest = 0;
  for (let isLast = false; !isLast;) {
    isLast = isDone;
    const started = performance.now();
    expect((await bystander.send('compute', 'GET', '/--ping')).status).toBe(200);
    longest = Math.max(longest, performance.now() - started);
    await sleep(20);
  }
  await settled;
  return longest;
}

/** The same for an attack that is tried up to three times: other work on the machine makes pings slow too. */
async function expectPings(attack: () => Promise<unknown>): Promise<void> {
  let longest = Infinity;
  for (let round = 0; round < 3 && longest >= 1000; round += 1) longest = Math.min(longest, await measurePings(attack()));
  expect(longest).toBeLessThan(1000);
}

const textOf = ({ bytes }: Answered): string => bytes.toString();
const repeat = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));

function writeField(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** An RSA key whose private half nobody has: verifying with it costs as much as with any other of its size. */
function makeKeyLine(bits: number, exponent: Buffer): string {
  const modulus = randomBytes(bits / 8);
  modulus[0] = (modulus[0] ?? 0) | 0x80;
  modulus[modulus.length - 1] = (modulus.at(-1) ?? 0) | 1;
  const zero = Buffer.from([0]);
  const fields = [Buffer.from('ssh-rsa'), Buffer.concat([zero, exponent]), Buffer.concat([zero, modulus])];
  return `ssh-rsa ${Buffer.concat(fields.map(writeField)).toString('base64')}`;
}

describe('policy rules that take long', () => {
  const slow = 'user-agent LIKE "/(a?){80}z/"';
  const headers = { 'user-agent': 'a'.repeat(2048) };

  test('the rule of 500 comparisons and policies of thousands of rules are refused', async () => {
    const create = (name: string, rules: string[]) => attacker.send('compute', 'POST', '/my/policies', { json: { name, rules } });
    const large = await create('large', [`CAN getobject WHEN ${repeat(500, () => slow).join(' OR ')}`]);
    expect([large.status, textOf(large)]).toEqual([409, expect.stringContaining('(limit rule-bytes)')]);
    const wide = await create('wide', [`CAN getobject WHEN ${repeat(65, () => 'day = 1').join(' OR ')}`]);
    expect([wide.status, textOf(wide)]).toEqual([409, expect.stringContaining('(limit rule-comparisons)')]);
    await expectPings(async () => {
      const many = await create(
        'many',
        repeat(20_000, (index) => `CAN a${index}`),
      );
      expect([many.status, textOf(many)]).toEqual([409, expect.stringContaining('(limit policy-rules)')]);
    });
  });

  test('rules within all limits that need minutes are given up: not allowed, and named in the log', async () => {
    const policies = scale(5, 50);
    for (const number of repeat(policies, (index) => index)) {
      const rules = repeat(
        100,
        (index) => `CAN ping, getaccount AND listkeys * WHEN ${repeat(63, () => slow).join(' OR ')} OR user-agent = p${number}r${index}`,
      );
      const created = await attacker.send('compute', 'POST', '/my/policies', { json: { name: `slow${number}`, rules } });
      expect(created.status).toBe(201);
    }
    const names = repeat(policies, (index) => ({ name: `slow${index}` }));
    // The member is the account of the bystander: whoever is asked by such rules is refused, whoever is not goes on.
    const members = [{ type: 'account', login: 'demo', default: true }];
    expect((await attacker.send('compute', 'POST', '/my/roles', { json: { name: 'slow', policies: names, members } })).status).toBe(201);
    const asMember = await openServices(user.local, 4);
    try {
      await expectPings(async () => {
        const responses = await Promise.all(repeat(20, () => asMember.send('compute', 'GET', '/other/keys', { headers })));
        for (const response of responses)
          expect([response.status, textOf(response)]).toEqual([403, expect.stringMatching(/\(limit decision-(?:steps|bytes)\)/u)]);
      });
    } finally {
      await asMember.close();
    }
    expect((await user.cloud(['local', 'logs'])).stdout).toMatch(/limit decision-(?:steps|bytes) reached/u);
  });
});

test('a role of very many members in the form of version 8 holds nobody up', async () => {
  await expectPings(async () => {
    const json = {
      name: 'crowd',
      members: repeat(20_000, (index) => `a${index}`),
      default_members: repeat(20_000, (index) => `b${index}`),
    };
    const response = await attacker.send('compute', 'POST', '/my/roles', { json, headers: { 'accept-version': '~8' } });
    expect([response.status, textOf(response)]).toEqual([409, expect.stringContaining('(limit role-members)')]);
  });
});

test('200,000 inputs that fail, in a request of 400 KB, hold nobody up and are all recorded', { timeout: 180_000 }, async () => {
  const count = 200_000;
  await expectPings(async () => {
    const created = await attacker.send('storage', 'POST', '/other/jobs', { json: { phases: [{ exec: 'cat' }] } });
    const job = String(created.headers['location']);
    expect((await attacker.send('storage', 'POST', `${job}/live/in`, { body: Buffer.from('x\n'.repeat(count)) })).status).toBe(204);
    expect((await attacker.send('storage', 'POST', `${job}/live/in/end`)).status).toBe(202);
    const read = async () =>
      JSON.parse(textOf(await attacker.send('storage', 'GET', `${job}/live/status`))) as { state: string; stats: object };
    await expect.poll(async () => (await read()).state, { timeout: 120_000, interval: 500 }).toBe('done');
    expect((await read()).stats).toMatchObject({ errors: count });
  });
});

test('bodies of refused requests are not kept: neither what was read from them nor what a message repeats', async () => {
  const depth = 200_000;
  const nested = `{"name":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  const repeated = JSON.stringify({ name: 'crowd', members: ['a'.repeat(depth * 2)] });
  const headers = { 'content-type': 'application/json' };
  for (const body of repeat(scale(120, 1000), (index) => (index % 2 === 0 ? nested : repeated))) {
    const response = await attacker.send('compute', 'POST', '/my/roles', { body: Buffer.from(body), headers });
    expect([response.status, response.bytes.length < 1000]).toEqual([409, true]);
  }
});

describe('what an account has is on disk, and not in memory:', () => {
  const live = (): Promise<number> => readLiveMemory(user.local);
  const longName = (index: number) => ({ 'user-agent': `${index}${'u'.repeat(12_000)}` });
  const cancel = (job: string) => attacker.send('storage', 'POST', `${job}/live/cancel`);

  async function createJob(phases: readonly object[]): Promise<string> {
    const created = await attacker.send('storage', 'POST', '/other/jobs', { json: { phases } });
    expect([created.status, textOf(created)]).toEqual([201, '']);
    return String(created.headers['location']);
  }

  test('the commands of running jobs', async () => {
    const phases = repeat(10, () => ({ exec: `: ${'x'.repeat(99_000)}` }));
    const earlier = await live();
    const jobs: string[] = [];
    for (let count = 0; count < scale(40, 1000); count += 1) jobs.push(await createJob(phases));
    expect((await live()) - earlier).toBeLessThan(jobs.length * 500_000);
    for (const job of jobs) await cancel(job);
  });

  test('the tasks of jobs that wait', async () => {
    expect((await attacker.send('storage', 'PUT', '/other/stor/input', { body: Buffer.from('1') })).status).toBe(204);
    const earlier = await live();
    const jobs: string[] = [];
    for (let count = 0; count < scale(40, 400); count += 1) {
      const job = await createJob([{ exec: 'sleep 1000' }]);
      expect(
        (await attacker.send('storage', 'POST', `${job}/live/in`, { body: Buffer.from('/other/stor/input\n'.repeat(1000)) })).status,
      ).toBe(204);
      jobs.push(job);
    }
    expect((await live()) - earlier).toBeLessThan(jobs.length * 200_000);
    for (const job of jobs) await cancel(job);
  });

  test('those who added the inputs of a job', async () => {
    // The record of the latest requests is full of long headers before and after.
    for (const index of repeat(1000, (each) => each)) await attacker.send('storage', 'GET', '/other/stor', { headers: longName(index) });
    expect((await attacker.send('storage', 'PUT', '/other/stor/input', { body: Buffer.from('1') })).status).toBe(204);
    const job = await createJob([{ exec: 'cat' }]);
    const adders = 300;
    const earlier = await live();
    for (const index of repeat(adders, (each) => each)) {
      const sent = { body: Buffer.from('/other/stor/input\n'), headers: longName(index) };
      expect((await attacker.send('storage', 'POST', `${job}/live/in`, sent)).status).toBe(204);
    }
    const readStatus = async () => textOf(await attacker.send('storage', 'GET', `${job}/live/status`));
    await expect.poll(readStatus, { timeout: 120_000, interval: 500 }).toMatch(`"outputs":${adders}`);
    expect((await live()) - earlier).toBeLessThan(adders * 8000);
    await cancel(job);
  });
});

describe('keys that are expensive to verify with', () => {
  /** A request that anybody can make: its signature is of no key. */
  function sendForged(keyName: string): Promise<number> {
    const { computeUrl, caFile } = user.local;
    const authorization = `Signature keyId="/other/keys/${keyName}",algorithm="rsa-sha256" ${randomBytes(1024).toString('base64')}`;
    const headers = { date: new Date().toUTCString(), 'accept-version': '~9', authorization };
    return new Promise((resolve, reject) => {
      request(new URL('/my/keys', computeUrl), { headers, ca: readFileSync(caFile), agent: false }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      })
        .on('error', reject)
        .end();
    });
  }

  test.each([
    ['16,384 bits with an exponent of 64 bits', 16_384, 'fffffffffffffff1'],
    ['8,192 bits with an exponent of 33 bits', 8192, '0100000001'],
    ['1,024 bits', 1024, '010001'],
  ])('an RSA key of %s is not registered', async (_name, bits, exponent) => {
    const response = await attacker.send('compute', 'POST', '/my/keys', {
      json: { name: 'same', key: makeKeyLine(bits, Buffer.from(exponent, 'hex')) },
    });
    expect([response.status, textOf(response)]).toEqual([409, expect.stringContaining('key is invalid: ')]);
  });

  test('as many keys of one name as may be, as expensive as may be: bad signatures by that name hold nobody up', async () => {
    const most = Buffer.from('ffffffff', 'hex');
    const create = () => attacker.send('compute', 'POST', '/my/keys', { json: { name: 'same', key: makeKeyLine(8192, most) } });
    for (let count = 0; count < scale(20, 99); count += 1) expect((await create()).status).toBe(201);
    await expectPings(async () => {
      const statuses = await Promise.all(repeat(40, () => sendForged('same')));
      expect(new Set(statuses)).toEqual(new Set([401]));
    });
  });
});
