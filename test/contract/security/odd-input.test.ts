import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRsaKey, createTestService, signAs, type TestReply, type TestService } from '../../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await createTestService();
});
afterAll(() => service.close());

const post = (path: string, json: unknown): Promise<TestReply> => service.compute('POST', path, { json });
/** JSON with escapes as they stand, such as half of a surrogate pair, which JSON.stringify would write otherwise. */
const postText = (path: string, body: string): Promise<TestReply> =>
  service.compute('POST', path, { body: Buffer.from(body), headers: { 'content-type': 'application/json' } });

describe('names that every object has are names like others', () => {
  test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'])('%s', async (name) => {
    expect((await service.storage('GET', `/demo/jobs?state=${name}`)).status).toBe(400);
    for (const path of [`/my/users/${name}`, `/my/roles/${name}`, `/my/policies/${name}`, `/my/keys/${name}`, `/my/images/${name}`])
      expect([path, (await service.compute('GET', path)).status]).toEqual([path, 404]);
    expect((await service.compute('GET', `/my/${name}`)).status).toBe(404);
    expect((await service.compute('PUT', `/my/${name}`, { json: { 'role-tag': [] } })).status).toBe(409);
    expect((await service.compute('POST', `/my/images?action=${name}`)).status).toBe(409);
    expect((await service.storage('GET', `/demo/stor?sort=${name}`)).status).toBe(400);
    const undocumented = await service.compute('GET', `/my/keys?as-role=${name}&${name}=1`);
    expect(undocumented.status).toBe(200);
  });
});

describe('text that would not come back as it was sent is refused, and nothing is stored', () => {
  test.each([
    ['NUL', 'Ber\\u0000lin', 'NUL'],
    ['half of a surrogate pair', 'Ber\\ud800lin', 'surrogate'],
    ['the other half', 'Ber\\udc00lin', 'surrogate'],
  ])('%s', async (_name, text, word) => {
    const before = (await service.compute('GET', '/my')).json;
    for (const [path, body] of [
      ['/my', `{"city":"${text}"}`],
      ['/my/roles', `{"name":"${text}"}`],
      ['/my/policies', `{"name":"p","rules":["CAN ${text}"]}`],
      ['/my/policies', `{"name":"p","rules":["CAN ping"],"description":"${text}"}`],
      ['/my/roles', `{"name":"r","members":[{"type":"subuser","login":"${text}"}]}`],
      ['/my/images', `{"machine":"6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001","name":"i","version":"1","tags":{"a":"${text}"}}`],
      ['/my/images', `{"machine":"6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001","name":"i","version":"1","tags":{"${text}":"a"}}`],
    ] as const) {
      const response = await postText(path, body);
      expect([body, response.status, response.code, response.text]).toEqual([body, 409, 'InvalidArgument', expect.stringContaining(word)]);
    }
    expect((await service.compute('GET', '/my')).json).toEqual(before);
    expect((await service.compute('GET', '/my/policies')).json).toEqual([]);
  });

  test.each(['login=%FF', 'login=%zz', '%c3=x', 'login=a&x=100%'])('the query %s, which is not percent-encoded UTF-8', async (query) => {
    expect(await service.compute('GET', `/my/users?${query}`)).toMatchObject({ status: 400, code: 'BadRequest' });
  });

  test('a query with + and encoded characters', async () => {
    expect((await service.compute('GET', '/my/users?login=a+%C3%BC%2B&x')).status).toBe(200);
  });

  test('whole characters beyond the first plane, and any other text, are stored', async () => {
    expect((await post('/my', { city: '寿司 🍣 \u0001' })).json).toMatchObject({ city: '寿司 🍣 \u0001' });
  });

  test('NUL in a path of the compute service ends no name', async () => {
    await post('/my/policies', { name: 'real', rules: ['CAN ping'] });
    expect((await service.compute('GET', '/my/policies/real')).status).toBe(200);
    for (const path of ['/my/policies/real%00', '/my/policies/real%00x', '/demo%00/policies'])
      expect([path, (await service.compute('GET', path)).status]).toEqual([path, 400]);
  });
});

describe('values nested deeper than any stack allows are refused', () => {
  const levels = 100_000;
  const machine = '6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001';

  test.each([
    ['lists', `${'['.repeat(levels)}${']'.repeat(levels)}`],
    ['objects', `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`],
  ])('%s', async (_name, value) => {
    const tags = await postText('/my/images', `{"machine":"${machine}","name":"i","version":"1","tags":{"a":${value}}}`);
    expect(tags).toMatchObject({ status: 409, code: 'InvalidArgument' });
    const body = Buffer.from(`{"objectPath":"/demo/stor/o","headers":{"m-a":${value}}}`);
    const headers = { 'content-type': 'application/json' };
    const upload = await service.storage('POST', '/demo/uploads', { body, headers });
    expect(upload).toMatchObject({ status: 409, code: 'MultipartUploadInvalidArgumentError' });
  });
});

describe('numbers are whole and decimal', () => {
  test.each(['0x10', '1e2', '1.5', ' 5', '5 ', '', '+5', '0b11', 'Infinity', 'NaN', '9'.repeat(20)])('limit=%s: 400', async (text) => {
    const { status } = await service.storage('GET', `/demo/stor?limit=${encodeURIComponent(text)}`);
    expect(status).toBe(400);
  });

  test('others are taken', async () => {
    expect((await service.storage('GET', '/demo/stor?limit=0100')).status).toBe(200);
    expect((await service.compute('GET', '/my/packages?memory=1024')).json).not.toEqual([]);
    expect((await service.compute('GET', '/my/packages?memory=0x400')).status).toBe(409);
  });
});

describe('a message repeats at most 100 characters of what was sent', () => {
  const long = 'x'.repeat(900_000);
  test.each<[string, () => Promise<TestReply>]>([
    ['a name', () => post('/my/roles', { name: long })],
    ['a rule', () => post('/my/policies', { name: 'p', rules: [`CAN ${long}`] })],
    ['a member', () => post('/my/roles', { name: 'r', members: [{ type: 'subuser', login: long }] })],
    ['a member of several words', () => post('/my/roles', { name: 'r', members: [{ type: 'subuser', login: 'x '.repeat(400_000) }] })],
    ['a type', () => post('/my/roles', { name: 'r', members: [{ type: long, login: 'a' }] })],
    ['a policy', () => post('/my/roles', { name: 'r', policies: [{ name: long }] })],
    ['a network', () => service.compute('PUT', '/my/config', { json: { default_network: long } })],
    ['a network of quotation marks', () => service.compute('PUT', '/my/config', { json: { default_network: '"x'.repeat(300_000) } })],
    ['a datacenter', () => post('/my/images?action=import-from-datacenter', { datacenter: long, id: 'x' })],
    ['a tag', () => service.compute('PUT', '/my/keys', { json: { 'role-tag': [long] } })],
    ['a field of a job', () => service.storage('POST', '/demo/jobs', { json: { phases: [{ exec: 'true' }], [long]: 1 } })],
    ['an object of an upload', () => service.storage('POST', '/demo/uploads', { json: { objectPath: long } })],
    [
      'headers of an upload',
      () => service.storage('POST', '/demo/uploads', { json: { objectPath: '/demo/stor/a', headers: { [long]: 'x' } } }),
    ],
  ])('%s', async (_name, ask) => {
    const response = await ask();
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(response.status).toBeLessThan(500);
    expect(response.text.length).toBeLessThan(5000);
    expect(response.text).not.toMatch(/x{200}/u);
  });

  test('a path is repeated as long as names may be', async () => {
    const path = `/demo/stor/${'d'.repeat(300)}`;
    expect((await service.storage('GET', path)).text).toContain(`${path} does not exist`);
  });
});

describe('the rate limit is of each account, and of each address of those who do not sign', () => {
  test('neither another account nor strangers use up what an account may send', async () => {
    const throttled = await createTestService({ settings: { throttle: 3 } });
    const signing = signAs('compute', throttled.otherKey, 'other');
    const count = (responses: readonly TestReply[], status: number): number =>
      responses.filter((response) => response.status === status).length;
    try {
      const asOther = await Promise.all(Array.from({ length: 12 }, () => throttled.compute('GET', '/my/keys', { signing })));
      expect(count(asOther, 420)).toBeGreaterThan(0);
      const strangers = await Promise.all(Array.from({ length: 12 }, () => throttled.compute('GET', '/my/keys', { signing: false })));
      expect([count(strangers, 401) >= 3, count(strangers, 420) > 0]).toEqual([true, true]);
      const forged = signAs('compute', createRsaKey(), 'demo');
      const guesses = await Promise.all(Array.from({ length: 12 }, () => throttled.compute('GET', '/my/keys', { signing: forged })));
      expect(count(guesses, 420)).toBeGreaterThan(0);
      expect(count(guesses, 200)).toBe(0);
      // The account that sent nothing so far.
      const own = await Promise.all(Array.from({ length: 3 }, () => throttled.compute('GET', '/my/keys')));
      expect(own.map(({ status }) => status)).toEqual([200, 200, 200]);
    } finally {
      await throttled.close();
    }
  });
});
