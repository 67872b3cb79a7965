import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listen } from '../../../src/server/http/listen.ts';
import { exchangeRaw } from '../../support/raw-http.ts';
import { useQuickPasswords } from '../../support/quick-crypto.ts';
import { createTestService, signUrl, type Sending, type TestReply, type TestService } from '../../support/service.ts';

/** What deployed compute services do, line by line ("Second edition" of the decisions on the compute service). */

useQuickPasswords();

let service: TestService;
beforeAll(async () => {
  service = await createTestService();
  await service.compute('POST', '/my/users', { json: { login: 'ann', email: 'ann@example.com', password: 'secret123' } });
  const members = [
    { type: 'subuser', login: 'ann', default: true },
    { type: 'account', login: 'other' },
  ];
  await service.compute('POST', '/my/roles', { json: { name: 'ops', members } });
});
afterAll(() => service.close());

const versioned = (version: string): Sending => ({ headers: { 'accept-version': version } });

/** The same parameters in each encoding that a body can have. */
const encodings = {
  json: (parameters: Readonly<Record<string, string>>): Sending => ({ json: parameters }),
  form: (parameters: Readonly<Record<string, string>>): Sending => ({
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: Buffer.from(new URLSearchParams(parameters).toString()),
  }),
  multipart: (parameters: Readonly<Record<string, string>>): Sending => ({
    headers: { 'content-type': 'multipart/form-data; boundary=edge' },
    body: Buffer.from(
      `${Object.entries(parameters)
        .map(([name, value]) => `--edge\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
        .join('')}--edge--\r\n`,
    ),
  }),
};

/** An active image of the account. */
async function createImage(name: string): Promise<string> {
  const imported = { datacenter: 'east-1-2', id: 'b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e0001' };
  await service.compute('POST', '/my/images?action=import-from-datacenter', { json: imported });
  const { json } = await service.compute('POST', `/my/images/${imported.id}?action=update`, { json: { name } });
  return (json as { id: string }).id;
}

describe('versions of before', () => {
  test.each([
    ['7.0.0', '7.0.0'],
    ['~7.0', '7.0.0'],
    ['~7.1', '7.1.0'],
    ['~7.2', '7.2.0'],
    ['7.3.0', '7.3.0'],
    ['~7', '7.3.0'],
    ['~6.5 || ~7.2', '7.2.0'],
    ['*', '9.0.0'],
  ])('%s is served as %s', async (range, version) => {
    const { status, headers } = await service.compute('GET', '/my', versioned(range));
    expect([status, headers['api-version']]).toEqual([200, version]);
  });

  test('ping lists them all', async () => {
    const { json } = await service.compute('GET', '/--ping');
    expect(json).toMatchObject({ cloudapi: { versions: ['7.0.0', '7.1.0', '7.2.0', '7.3.0', '8.0.0', '9.0.0'] } });
  });

  test.each(['~7.2', '~8'])('%s shows roles by names, with the sub-users among the members alone', async (range) => {
    const { json } = await service.compute('GET', '/my/roles/ops', versioned(range));
    expect(json).toMatchObject({ name: 'ops', members: ['ann'], default_members: ['ann'], policies: [] });
  });

  test('a change in the old form keeps the members that it cannot show', async () => {
    await service.compute('POST', '/my/roles/ops', { json: { members: ['ann'] }, ...versioned('~8') });
    const { json } = await service.compute('GET', '/my/roles/ops');
    expect(json).toMatchObject({
      members: [
        { login: 'ann', default: true },
        { login: 'other', type: 'account' },
      ],
    });
  });

  test('types of images are the two of before', async () => {
    const typesOf = async (query: string, range: string): Promise<unknown[]> => {
      const { json } = await service.compute('GET', `/my/images?${query}`, versioned(range));
      return [...new Set((json as { type: string }[]).map(({ type }) => type))].toSorted();
    };
    expect(await typesOf('', '~8')).toEqual(['lx-dataset', 'zone-dataset', 'zvol']);
    expect(await typesOf('', '~7')).toEqual(['smartmachine', 'virtualmachine']);
    expect(await typesOf('type=smartmachine', '~7')).toEqual(['smartmachine']);
    expect(await typesOf('type=virtualmachine', '~7.1')).toEqual(['virtualmachine']);
    const { status, json } = await service.compute('GET', '/my/images?type=zvol', versioned('~7'));
    expect([status, json]).toEqual([
      409,
      expect.objectContaining({ code: 'InvalidArgument', message: 'image type zvol is not a valid type' }),
    ]);
  });
});

describe('parameters that select an operation stand in the query or in the body (section 1.2)', () => {
  const ways = [
    ['query', (parameters: Readonly<Record<string, string>>) => ({ query: `?${new URLSearchParams(parameters).toString()}`, sending: {} })],
    ...Object.entries(encodings).map(
      ([name, encode]) => [name, (parameters: Readonly<Record<string, string>>) => ({ query: '', sending: encode(parameters) })] as const,
    ),
  ] as const;

  test.each(ways)('all actions on an image, by %s', async (name, write) => {
    const id = await createImage(`exported-${name}`);
    const send = (path: string, parameters: Readonly<Record<string, string>>): Promise<TestReply> => {
      const { query, sending } = write(parameters);
      return service.compute('POST', `${path}${query}`, sending);
    };
    const storage = `/demo/stor/export-${name}`;
    const exported = await send(`/my/images/${id}`, { action: 'export', manta_path: storage });
    expect([exported.status, exported.json]).toEqual([
      200,
      {
        storage_url: 'https://storage.test',
        manta_url: 'https://storage.test',
        image_path: expect.stringContaining(storage),
        manifest_path: `${storage}.imgmanifest`,
      },
    ]);
    expect((await send(`/demo/images/${id}`, { action: 'export', storage_path: storage })).status).toBe(200);
    const updated = await send(`/my/images/${id}`, { action: 'update', description: `by ${name}` });
    expect([updated.status, updated.json]).toEqual([200, expect.objectContaining({ description: `by ${name}` })]);
    expect((await send(`/my/images/${id}`, { action: 'clone' })).code).toBe('ImageNotShared');
    const source = { datacenter: 'east-1-2', id: 'b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e0005' };
    for (const action of ['import', 'import-from-datacenter']) {
      expect((await send('/my/images', { action, ...source })).code).toBe('OriginIsNotActiveError');
    }
    expect(await send(`/my/images/${id}`, { action: 'paint' })).toMatchObject({ status: 409, code: 'InvalidArgument' });
    expect(await send(`/my/images/${id}`, { name: 'x' })).toMatchObject({ status: 409, code: 'MissingParameter' });
    await service.compute('DELETE', `/my/images/${id}`);
  });

  test('a pre-signed URL signs no body: an action there does nothing', async () => {
    const id = await createImage('by-url');
    const keyId = `/demo/keys/${service.key.fingerprint}`;
    const target = signUrl('compute', { key: service.key, keyId, method: 'POST' }, `/demo/images/${id}`);
    const sending = { ...encodings.json({ action: 'update', name: 'stolen' }), signing: false as const };
    expect(await service.compute('POST', target, sending)).toMatchObject({ status: 401, code: 'InvalidCredentials' });
    expect((await service.compute('GET', `/my/images/${id}`)).json).toMatchObject({ name: 'by-url' });
    await service.compute('DELETE', `/my/images/${id}`);
  });
});

const common = ['date', 'api-version', 'request-id', 'response-time', 'server', 'content-md5', 'content-length', 'content-type'];

describe('headers of every response', () => {
  test.each<[number, string, string, Sending]>([
    [200, 'GET', '/my', {}],
    [404, 'GET', '/my/nothing', {}],
    [405, 'DELETE', '/my/config', {}],
    [449, 'GET', '/my', versioned('~6')],
    [401, 'GET', '/my', { signing: false }],
    [400, 'POST', '/my', { body: Buffer.from('{'), headers: { 'content-type': 'application/json' } }],
  ])('%i: %s %s', async (status, method, target, sending) => {
    const response = await service.compute(method, target, sending);
    expect(response.status).toBe(status);
    expect(Object.keys(response.headers)).toEqual(expect.arrayContaining(common));
    expect(response.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': expect.stringContaining('GET'),
      'access-control-allow-headers': expect.stringContaining('Accept-Version'),
      'access-control-expose-headers': expect.stringContaining('Request-Id'),
    });
  });

  test('the origin of a page is named', async () => {
    const { headers } = await service.compute('GET', '/my', { headers: { origin: 'https://page.example' } });
    expect(headers).toMatchObject({ 'access-control-allow-origin': 'https://page.example', vary: 'origin' });
  });
});

describe('headers of responses to what is no request', () => {
  const header = `x: ${'y'.repeat(20_000)}`;

  test.each([
    ['an unknown method', 'FOO /my HTTP/1.1\r\nHost: x\r\n\r\n', '400 Bad Request'],
    ['a malformed line', 'GET /my HTTP/1.1\r\nno header\r\n\r\n', '400 Bad Request'],
    ['too long a header', `GET /my HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`, '431 Request Header Fields Too Large'],
    ['too long a target', `GET /${header.slice(3)} HTTP/1.1\r\nHost: x\r\n\r\n`, '414 URI Too Long'],
    ['more than is read', `GET /my HTTP/1.1\r\nHost: x\r\n${header.repeat(5)}\r\n\r\n`, '431 Request Header Fields Too Large'],
    ['no version', 'GET /my HTTP/1.1\r\nHost: x\r\n\r\n', '449 Invalid Version'],
  ])('%s', async (_, request, status) => {
    const listener = await listen({ handle: service.handlers.compute, host: '127.0.0.1', port: 0, trusted: true, log: () => undefined });
    try {
      const options = { port: listener.port, method: 'GET', limit: 5000, ends: true };
      const { headers, body, reason } = await exchangeRaw([Buffer.from(request)], options);
      expect(reason).toBe(status);
      expect([...headers.keys()]).toEqual(expect.arrayContaining([...common, 'access-control-allow-origin']));
      expect(headers.get('content-md5')).toBe(createHash('md5').update(body).digest('base64'));
      expect(headers.get('content-length')).toBe(String(body.length));
      expect(JSON.parse(body.toString())).toHaveProperty('code');
    } finally {
      await listener.close(0);
    }
  });
});

test('420 has a reason phrase of its own', async () => {
  const throttled = await createTestService({ settings: { throttle: 1 } });
  const listener = await listen({ handle: throttled.handlers.compute, host: '127.0.0.1', port: 0, trusted: true, log: () => undefined });
  try {
    const request = Buffer.from('GET /my HTTP/1.1\r\nHost: x\r\nAccept-Version: ~9\r\n\r\n');
    const ask = () => exchangeRaw([request], { port: listener.port, method: 'GET', limit: 5000, ends: true });
    const reasons: string[] = [];
    for (let at = 0; at < 50 && !reasons.includes('420 Request Throttled'); at += 1) reasons.push((await ask()).reason);
    expect([...new Set(reasons)].toSorted()).toEqual(['401 Unauthorized', '420 Request Throttled']);
  } finally {
    await listener.close(0);
    await throttled.close();
  }
});

describe('roles of version 9', () => {
  const member = { type: 'subuser', login: 'ann' };
  test.each<[string, unknown, string]>([
    ['a misspelt property of a member', { members: [{ ...member, deflaut: true }] }, 'members[0].deflaut'],
    ['an unknown property of a policy', { policies: [{ name: 'x', nmae: 'y' }] }, 'policies[0].nmae'],
    ['a missing type', { members: [{ login: 'ann' }] }, 'members[0].type'],
    ['a default that is a text', { members: [{ ...member, default: 'yes' }] }, 'members[0].default'],
    ['a default that is a text of a boolean', { members: [{ ...member, default: 'true' }] }, 'members[0].default'],
    ['a default that is a number', { members: [{ ...member, default: 1 }] }, 'members[0].default'],
  ])('%s: 409', async (_, fields, place) => {
    for (const [path, json] of [
      ['/my/roles', { name: 'strict', ...(fields as object) }],
      ['/my/roles/ops', fields],
    ] as const) {
      const response = await service.compute('POST', path, { json });
      expect([response.status, response.code, response.text]).toEqual([409, 'InvalidArgument', expect.stringContaining(place)]);
    }
    expect((await service.compute('GET', '/my/roles/strict')).status).toBe(404);
  });

  test('names in the lists are sub-users and policies, as a published client sends them; unknown ones are 409', async () => {
    await service.compute('POST', '/my/policies', { json: { name: 'named', rules: ['CAN listkeys'] } });
    const json = { name: 'named', members: ['ann'], default_members: ['ann'], policies: ['named'] };
    const made = await service.compute('POST', '/my/roles', { json });
    expect([made.status, made.json]).toMatchObject([
      201,
      { members: [{ type: 'subuser', login: 'ann', default: true }], policies: [{ name: 'named' }] },
    ]);
    const changed = await service.compute('POST', '/my/roles/named', { json: { members: ['ann', { type: 'subuser', login: 'ann' }] } });
    expect(changed.json).toMatchObject({ members: [{ login: 'ann' }] });
    for (const fields of [{ members: ['nobody'] }, { policies: ['nothing'] }, { members: [1] }, { members: [null] }]) {
      const response = await service.compute('POST', '/my/roles/named', { json: fields });
      expect([fields, response.status, response.code]).toEqual([fields, 409, 'InvalidArgument']);
    }
    const { id, policies } = made.json as { id: string; policies: { id: string }[] };
    for (const path of [`/my/roles/${id}`, `/my/policies/${policies[0]?.id ?? ''}`])
      expect((await service.compute('DELETE', path)).status).toBe(204);
  });

  test('names come in all encodings, alone or several; an object may be JSON text', async () => {
    const form = (body: string): object => ({ headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: Buffer.from(body) });
    await service.compute('POST', '/my/policies', { json: { name: 'encoded', rules: ['CAN listkeys'] } });
    for (const sent of [
      { json: { name: 'encoded', members: 'ann', policies: 'encoded' } },
      { json: { name: 'encoded', members: ['ann'], policies: ['encoded'] } },
      form('name=encoded&members=ann&policies=encoded'),
      form('name=encoded&members=ann&members=Ann&policies=encoded&policies=encoded'),
      form('name=encoded&members=["ann"]&policies=["encoded"]'),
      form('name=encoded&members={"type":"subuser","login":"ann"}&policies={"name":"encoded"}'),
      form('name=encoded&members=[{"type":"subuser","login":"ann"}]&policies=[{"name":"encoded"}]'),
    ]) {
      const made = await service.compute('POST', '/my/roles', sent);
      expect([made.status, made.json]).toMatchObject([201, { members: [{ login: 'ann' }], policies: [{ name: 'encoded' }] }]);
      expect((made.json as { members: object[] }).members).toHaveLength(1);
      await service.compute('DELETE', `/my/roles/${(made.json as { id: string }).id}`);
    }
  });

  test('default_members counts beside names and alone, not beside objects, and leaves accounts as they are', async () => {
    const [ann, other] = [member, { type: 'account', login: 'other', default: true }];
    const json = { name: 'defaults', members: [ann, other], default_members: ['ann'] };
    expect((await service.compute('POST', '/my/roles', { json })).json).toMatchObject({ members: [{ default: false }, other] });
    const change = async (fields: object): Promise<unknown> => (await service.compute('POST', '/my/roles/defaults', { json: fields })).json;
    expect(await change({ members: [{ ...ann, default: true }, other], default_members: [] })).toMatchObject({
      members: [{ login: 'ann', default: true }, other],
    });
    expect(await change({ default_members: [] })).toMatchObject({ members: [{ login: 'ann', default: false }, other] });
    expect(await change({ default_members: ['ann'] })).toMatchObject({ members: [{ login: 'ann', default: true }, other] });
    const { json: role } = await service.compute('GET', '/my/roles/defaults');
    await service.compute('DELETE', `/my/roles/${(role as { id: string }).id}`);
  });

  test('a missing role is 404 before its role-tag is judged', async () => {
    const tagged = { headers: { 'role-tag': 'nobody' }, json: { name: 'new' } };
    expect((await service.compute('POST', '/my/roles/missing', tagged)).status).toBe(404);
    expect((await service.compute('POST', '/my/roles/ops', tagged)).status).toBe(409);
  });

  test('PUT of the account without role-tag shows its tags', async () => {
    await service.compute('PUT', '/my', { json: { 'role-tag': ['ops'] } });
    const { status, json } = await service.compute('PUT', '/my', { json: {} });
    expect([status, json]).toEqual([200, { name: '/demo', 'role-tag': ['ops'] }]);
    await service.compute('PUT', '/my', { json: { 'role-tag': [] } });
    expect((await service.compute('PUT', '/my/keys', { json: {} })).code).toBe('MissingParameter');
  });
});

describe('forms', () => {
  test.each(['?membership', '?membership=', '?membership=true'])('%s means true', async (query) => {
    const { json } = await service.compute('GET', `/my/users/ann${query}`);
    expect(json).toMatchObject({ roles: ['ops'], default_roles: ['ops'] });
  });
  test.each(['?membership=false', ''])('%s does not', async (query) => {
    const { json } = await service.compute('GET', `/my/users/ann${query}`);
    expect(json).not.toHaveProperty('roles');
  });

  test.each([
    ['as given', 'POST,GET', 'POST,GET'],
    ['sorted', 'POST,GET', 'GET,POST'],
    ['with blanks, sorted', 'POST, GET', 'GET,POST'],
  ])('the methods of a pre-signed URL are signed %s', async (_, method, signed) => {
    const keyId = `/demo/keys/${service.key.fingerprint}`;
    const target = signUrl('compute', { key: service.key, keyId, method: signed }, '/demo', { method });
    expect((await service.compute('GET', target, { signing: false })).status).toBe(200);
    expect((await service.compute('PUT', target, { signing: false })).status).toBe(401);
  });

  test('the acl of an image is left out when empty', async () => {
    const id = await createImage('shared');
    expect((await service.compute('GET', `/my/images/${id}`)).json).not.toHaveProperty('acl');
    await service.compute('POST', `/my/images/${id}?action=update`, { json: { acl: [service.other.id] } });
    expect((await service.compute('GET', `/my/images/${id}`)).json).toHaveProperty('acl', [service.other.id]);
    await service.compute('DELETE', `/my/images/${id}`);
  });
});
