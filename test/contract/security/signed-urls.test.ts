import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Headers } from '../../../src/api/message.ts';
import { addUser, createRsaKey, createTestService, signAs, signUrl, type TestReply, type TestService } from '../../support/service.ts';

const userKey = createRsaKey();
let service: TestService;

/** A request by a URL that somebody signed: bob is a sub-user, `other` another account. */
function useUrl(
  name: 'compute' | 'storage',
  method: string,
  path: string,
  {
    by = 'demo',
    query = {},
    headers = {},
    body,
  }: { by?: 'demo' | 'bob' | 'other'; query?: Record<string, string>; headers?: Headers; body?: string } = {},
): Promise<TestReply> {
  const signer =
    by === 'demo'
      ? signAs(name, service.key, 'demo')
      : by === 'bob'
        ? signAs(name, userKey, 'demo', 'bob')
        : signAs(name, service.otherKey, 'other');
  const target = signUrl(name, { ...signer, method }, path, query);
  return service[name](method, target, { signing: false, headers, ...(body !== undefined && { body: Buffer.from(body) }) });
}

const anonymously = (path: string): Promise<TestReply> => service.storage('GET', path, { signing: false });

beforeAll(async () => {
  service = await createTestService();
  await addUser(service.store, service.account, 'bob', userKey);
  const make = (path: string, json: object) => service.compute('POST', path, { json });
  await make('/my/policies', { name: 'read', rules: ['CAN getobject'] });
  await make('/my/policies', { name: 'write', rules: ['CAN putobject AND putdirectory'] });
  await make('/my/policies', { name: 'keys', rules: ['CAN listkeys AND createkey *'] });
  await make('/my/roles', { name: 'readers', policies: [{ name: 'read' }], members: [{ type: 'subuser', login: 'bob' }] });
  await make('/my/roles', { name: 'writers', policies: [{ name: 'write' }], members: [{ type: 'subuser', login: 'bob', default: true }] });
  await make('/my/roles', { name: 'keepers', policies: [{ name: 'keys' }], members: [{ type: 'subuser', login: 'bob', default: true }] });
  await make('/my/roles', { name: 'strangers', policies: [{ name: 'read' }] });
  await service.storage('PUT', '/demo/stor/secret', {
    body: Buffer.from('the secret'),
    headers: { 'role-tag': 'readers,writers,strangers' },
  });
  await service.storage('PUT', '/demo/public/inbox', { body: Buffer.from('old') });
});
afterAll(() => service.close());

const unsigned = { status: 403, code: 'InvalidQueryStringAuthentication' };

describe('a signed URL for an upload stores bytes, and does nothing else', () => {
  const link = { 'content-type': 'application/json; type=link', location: '/demo/stor/secret' };

  test('of a link: refused, and the secret stays what it was', async () => {
    for (const type of ['type=link', 'TYPE="link"', 'type=link; charset=utf-8']) {
      const headers = { ...link, 'content-type': `application/json; ${type}` };
      expect(await useUrl('storage', 'PUT', '/demo/public/inbox', { headers })).toMatchObject(unsigned);
    }
    expect((await anonymously('/demo/public/inbox')).text).toBe('old');
    // The owner's own signature in the header does what it always did.
    expect((await service.storage('PUT', '/demo/stor/link', { headers: link })).status).toBe(204);
  });

  test.each<[string, Headers, Record<string, string>]>([
    ['a directory in the place of the object', { 'content-type': 'application/json; type=directory' }, {}],
    ['the header Location beside another type', { location: '/demo/stor/secret' }, {}],
    ['role tags', { 'role-tag': 'strangers' }, {}],
    ['no role tags', { 'role-tag': '' }, {}],
    ['other metadata', { 'm-owner': 'me' }, { metadata: 'true' }],
  ])('%s: refused, and the object is as it was', async (_name, headers, query) => {
    expect(await useUrl('storage', 'PUT', '/demo/public/inbox', { headers, query, body: 'x' })).toMatchObject(unsigned);
    expect((await anonymously('/demo/public/inbox')).text).toBe('old');
    expect((await service.storage('HEAD', '/demo/public/inbox')).headers['role-tag']).toBeUndefined();
  });

  test('an object and a part are stored, with the type that the sender names', async () => {
    const headers = { 'content-type': 'text/plain', 'm-note': 'kept' };
    expect((await useUrl('storage', 'PUT', '/demo/public/inbox', { headers, body: 'new' })).status).toBe(204);
    const stored = await anonymously('/demo/public/inbox');
    expect([stored.text, stored.headers['content-type'], stored.headers['m-note']]).toEqual(['new', 'text/plain', 'kept']);
    const { json } = await service.storage('POST', '/demo/uploads', { json: { objectPath: '/demo/stor/large' } });
    const { partsDirectory } = json as { partsDirectory: string };
    const part = await useUrl('storage', 'PUT', `${partsDirectory}/0`, { body: 'part' });
    expect(part.status).toBe(204);
    const asDirectory = { headers: { 'content-type': 'application/json; type=directory' } };
    expect(await useUrl('storage', 'PUT', `${partsDirectory}/0`, asDirectory)).toMatchObject(unsigned);
    const commit = JSON.stringify({ parts: [part.headers['etag']] });
    expect(await useUrl('storage', 'POST', `${partsDirectory}/commit`, { body: commit })).toMatchObject(unsigned);
    expect((await service.storage('POST', `${partsDirectory}/commit`, { json: { parts: [part.headers['etag']] } })).status).toBe(201);
  });

  test('a job that reads with the rights of the signer is made by no URL', async () => {
    const body = JSON.stringify({ phases: [{ exec: 'cat' }] });
    expect(await useUrl('storage', 'POST', '/demo/jobs', { body })).toMatchObject(unsigned);
  });
});

test('what follows the padding of a signature makes it wrong', async () => {
  const target = signUrl('storage', signAs('storage', service.key, 'demo'), '/demo/stor/secret');
  expect(target).toMatch(/signature=[^&]*%3D%3D$/u);
  for (const end of ['junk', 'AA%3D%3D', '%3D', '%0A', '%20', '%00', '!', '-_'])
    expect([end, await service.storage('GET', target + end, { signing: false })]).toMatchObject([
      end,
      { status: 403, code: 'InvalidSignature' },
    ]);
  // Two texts are no names of the same bytes: the last bits of the last letter are zeros.
  const [, letter = ''] = /(.)%3D%3D$/u.exec(target) ?? [];
  const next = String.fromCharCode(letter.charCodeAt(0) + 1);
  const other = target.replace(/.%3D%3D$/u, `${next}%3D%3D`);
  expect(await service.storage('GET', other, { signing: false })).toMatchObject({ status: 403, code: 'InvalidSignature' });
  const ofCompute = signUrl('compute', signAs('compute', service.key, 'demo'), '/demo/keys');
  expect(await service.compute('GET', `${ofCompute}junk`, { signing: false })).toMatchObject({ status: 401 });
  expect((await service.storage('GET', target, { signing: false })).text).toBe('the secret');
});

describe('a signed URL for a change takes what its query says, and no body beyond that', () => {
  test('a key of whoever has the URL is not registered', async () => {
    const { line, fingerprint } = createRsaKey();
    const refused = { status: 401, code: 'InvalidCredentials' };
    for (const by of ['demo', 'bob'] as const) {
      for (const [type, body] of [
        ['application/json', JSON.stringify({ key: line })],
        ['application/x-www-form-urlencoded', new URLSearchParams({ key: line }).toString()],
        [
          'multipart/form-data; boundary=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
          `--xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\nContent-Disposition: form-data; name="key"\r\n\r\n${line}\r\n--xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx--\r\n`,
        ],
      ] as const) {
        expect(await useUrl('compute', 'POST', '/demo/keys', { by, headers: { 'content-type': type }, body })).toMatchObject(refused);
      }
    }
    expect((await service.compute('GET', `/demo/keys/${fingerprint}`)).status).toBe(404);
    // What the query says is signed; saying it again in the body changes nothing.
    const other = createRsaKey().line;
    expect(await useUrl('compute', 'POST', '/demo/keys', { query: { key: other }, body: JSON.stringify({ key: line }) })).toMatchObject(
      refused,
    );
    expect((await useUrl('compute', 'POST', '/demo/keys', { query: { key: other }, body: JSON.stringify({ key: other }) })).status).toBe(
      201,
    );
    expect((await useUrl('compute', 'POST', '/demo/keys', { query: { key: line } })).status).toBe(201);
  });

  test('its header role-tag tags nothing', async () => {
    const query = { name: 'made' };
    expect(await useUrl('compute', 'POST', '/demo/roles', { query, headers: { 'role-tag': 'readers' } })).toMatchObject({ status: 401 });
    expect((await useUrl('compute', 'POST', '/demo/roles', { query })).status).toBe(201);
  });
});

describe('roles of a signed URL stand in what is signed', () => {
  const secret = '/demo/stor/secret';
  const denied = { status: 403, code: 'AuthorizationFailed' };

  test('a header Role grants nothing and takes nothing', async () => {
    expect(await useUrl('storage', 'GET', secret, { by: 'bob' })).toMatchObject(denied);
    for (const role of ['readers', '*', 'readers,writers', 'nobody'])
      expect(await useUrl('storage', 'GET', secret, { by: 'bob', headers: { role } })).toMatchObject(denied);
    expect((await useUrl('storage', 'GET', secret, { headers: { role: 'nobody' } })).text).toBe('the secret');
  });

  test('the parameter role activates the roles of the signer', async () => {
    for (const role of ['readers', '*', 'writers,readers', ' readers '])
      expect((await useUrl('storage', 'GET', secret, { by: 'bob', query: { role } })).text).toBe('the secret');
    expect(await useUrl('storage', 'GET', secret, { by: 'bob', query: { role: 'writers' } })).toMatchObject(denied);
    // Beside a header that names others.
    const both = await useUrl('storage', 'GET', secret, { by: 'bob', query: { role: 'readers' }, headers: { role: 'writers' } });
    expect(both.text).toBe('the secret');
    expect((await useUrl('storage', 'GET', secret, { query: { role: 'strangers' } })).text).toBe('the secret');
  });

  test('a role that is added to the URL, or changed in it, makes the signature wrong', async () => {
    const target = signUrl('storage', { ...signAs('storage', userKey, 'demo', 'bob') }, secret, { role: 'writers' });
    for (const forged of [target.replace('role=writers', 'role=readers'), `${target}&role=readers`, `${target}&%72ole=readers`]) {
      expect(await service.storage('GET', forged, { signing: false })).toMatchObject({ status: 403, code: 'InvalidSignature' });
    }
  });

  test('without a signed URL the query names no roles', async () => {
    const signing = signAs('storage', userKey, 'demo', 'bob');
    expect(await service.storage('GET', `${secret}?role=readers`, { signing })).toMatchObject(denied);
    expect((await service.storage('GET', secret, { signing, headers: { role: 'readers' } })).text).toBe('the secret');
  });

  test.each(['nobody', 'strangers'])(
    'a role %j of which the signer is not a member: 409 InvalidRole, in the URL and in the header',
    async (role) => {
      const invalid = { status: 409, code: 'InvalidRole' };
      for (const by of ['bob', 'other'] as const) {
        expect(await useUrl('storage', 'GET', secret, { by, query: { role } })).toMatchObject(invalid);
        const signing = by === 'bob' ? signAs('storage', userKey, 'demo', 'bob') : signAs('storage', service.otherKey, 'other');
        const response = await service.storage('GET', secret, { signing, headers: { role } });
        expect(response).toMatchObject(invalid);
        // The same words for a role that exists and one that does not.
        expect(response.text.replace(role, 'ROLE')).toContain(`not a member of a role of demo named \\"ROLE\\"`);
      }
      expect((await service.storage('GET', secret, { headers: { role: 'strangers' } })).text).toBe('the secret');
      expect(await service.storage('GET', secret, { headers: { role: 'nobody' } })).toMatchObject(invalid);
    },
  );
});

test('names of the parameters count decoded: a URL is signed, and its signature stays out of the log, however they are written', async () => {
  const target = signUrl('storage', signAs('storage', service.key, 'demo'), '/demo/stor/secret');
  const spellings = [
    target.replace('signature=', '%73ignature='),
    target.replace('signature=', 'signatur%65=').replace('keyId=', '%6beyId='),
    target.replace('signature=', '%73%69%67%6E%61%74%75%72%65='),
  ];
  const before = service.log.length;
  for (const spelling of spellings) {
    expect((await service.storage('GET', spelling, { signing: false })).text).toBe('the secret');
    // A header that is not signed is no way round either.
    const link = { 'content-type': 'application/json; type=link', location: '/demo/stor/secret' };
    const put = signUrl('storage', { ...signAs('storage', service.key, 'demo'), method: 'PUT' }, '/demo/public/inbox');
    const forged = put.replace('signature=', '%73ignature=').replace('keyId=', '%6beyId=');
    expect(await service.storage('PUT', forged, { signing: false, headers: link })).toMatchObject(unsigned);
  }
  await service.compute('GET', '/my/keys?%70assword=sesame&PASSWORD=sesame&x=1&pass%77ord_confirmation=sesame');
  const log = service.log.slice(before).join('\n');
  const signature = target.replace(/^.*signature=/u, '');
  expect(log).not.toContain(signature);
  expect(log).not.toContain('sesame');
  expect(log).toContain('%73ignature=(redacted)');
});

describe('whoever does not sign learns nothing of what is there', () => {
  beforeAll(async () => {
    const cors = { 'access-control-allow-origin': 'https://a.test', 'access-control-allow-methods': 'GET' };
    await service.storage('PUT', '/demo/stor/shared', { body: Buffer.from('x'), headers: cors });
    await service.storage('PUT', '/demo/public/shared', { body: Buffer.from('x'), headers: cors });
    await service.storage('PUT', '/demo/stor/folder', { headers: { 'content-type': 'application/json; type=directory' } });
  });
  /** Status and body without the path. */
  const ask = async (method: string, path: string, headers: Headers = {}): Promise<[number, string]> => {
    const { status, text } = await service.storage(method, path, { signing: false, headers });
    return [status, text.replaceAll(path, 'PATH')];
  };

  test.each(['GET', 'HEAD', 'PUT', 'DELETE'])(
    '%s: one answer for private paths, missing ones and accounts that are none',
    async (method) => {
      const there = await ask(method, '/demo/stor/secret');
      expect(there[0]).toBe(403);
      for (const path of [
        '/demo/stor/folder',
        '/demo/stor/none',
        '/demo/stor/none/deep',
        '/nobody/stor/secret',
        '/nobody/stor',
        '/demo',
        '/nobody',
      ])
        expect([path, await ask(method, path)]).toEqual([path, there]);
    },
  );

  test('below public: one answer for what is missing and for accounts that are none', async () => {
    expect((await ask('GET', '/demo/public/shared'))[0]).toBe(200);
    const missing = await ask('GET', '/demo/public/none');
    expect(missing[0]).toBe(404);
    expect(await ask('GET', '/nobody/public/none')).toEqual(missing);
  });

  test('a preflight: one answer for what is missing and what is not open to that origin', async () => {
    const preflight = (path: string, origin = 'https://b.test') => ask('OPTIONS', path, { origin, 'access-control-request-method': 'GET' });
    const there = await preflight('/demo/stor/secret');
    expect(there[0]).toBe(403);
    for (const path of ['/demo/stor/shared', '/demo/stor/folder', '/demo/stor/none', '/nobody/stor/x', '/nobody', '/demo'])
      expect([path, await preflight(path)]).toEqual([path, there]);
    // Whoever stored it opened it to pages of this origin.
    expect((await preflight('/demo/stor/shared', 'https://a.test'))[0]).toBe(204);
    expect((await preflight('/demo/public/shared', 'https://a.test'))[0]).toBe(204);
    expect((await preflight('/demo/public/none'))[0]).toBe(404);
  });
});
