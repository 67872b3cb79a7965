import { execFileSync } from 'node:child_process';
import { createPrivateKey, scryptSync, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { derivePublicKey } from '../../../src/auth/public-key.ts';
import { useQuickPasswords } from '../../support/quick-crypto.ts';
import { createEcdsaKey, createRsaKey, createTestService, type TestService } from '../../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await createTestService();
});
afterAll(() => service.close());

const missing = { status: 404, code: 'ResourceNotFound' };
const invalid = { status: 409, code: 'InvalidArgument' };
const password = 'secret1234';

async function createUser(login: string, more: object = {}): Promise<Record<string, string>> {
  const { json, status, text } = await service.compute('POST', '/my/users', { json: { login, email: 'a@b.c', password, ...more } });
  expect(status, text).toBe(201);
  return json as Record<string, string>;
}

describe('users', () => {
  useQuickPasswords();

  test('create, get by login and id, list, update, delete', async () => {
    const response = await service.compute('POST', '/my/users', {
      json: { login: 'Bob', email: 'bob@example.com', password, firstName: 'Bob', city: '' },
    });
    expect(response).toMatchObject({ status: 201, json: { login: 'Bob', email: 'bob@example.com', firstName: 'Bob' } });
    expect(response.text).not.toContain('password');
    const { id = '' } = response.json as Record<string, string>;
    expect(response.headers['location']).toBe(`/demo/users/${id}`);
    expect(Object.keys(response.json as object).sort()).toEqual(['created', 'email', 'firstName', 'id', 'login', 'updated']);
    for (const name of [id, 'Bob', 'bob']) expect((await service.compute('GET', `/my/users/${name}`)).json).toEqual(response.json);
    expect((await service.compute('GET', '/my/users')).json).toEqual([response.json]);
    expect((await service.compute('POST', `/my/users/${id}`, { json: { colour: 'red' } })).json).toEqual(response.json);
    const changed = await service.compute('POST', `/my/users/${id}`, { json: { login: 'robert', firstName: '', phone: '1' } });
    expect(changed).toMatchObject({ status: 200, json: { id, login: 'robert', phone: '1' } });
    expect(changed.json).not.toHaveProperty('firstName');
    expect((await service.compute('POST', '/my/users/robert', { json: { phone: '2' } })).json).toMatchObject({ id, phone: '2' });
    const deleted = await service.compute('DELETE', '/my/users/robert');
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    for (const [method, target] of [
      ['GET', ''],
      ['POST', ''],
      ['DELETE', ''],
      ['GET', '/keys'],
      ['POST', '/change_password'],
    ] as const) {
      const json = { password, password_confirmation: password };
      expect(await service.compute(method, `/my/users/robert${target}`, method === 'POST' ? { json } : {}), target).toMatchObject(missing);
    }
  });

  test.each([
    [{}, 'login, email, password'],
    [{ login: 'x', email: '' }, 'email, password'],
    [{ login: 'abc', password }, 'email'],
  ])('%j lacks %s: all are named in one message', async (json, names) => {
    const response = await service.compute('POST', '/my/users', { json });
    expect(response).toMatchObject({ status: 409, code: 'MissingParameter' });
    for (const name of names.split(', ')) expect(response.text).toContain(name);
  });

  test.each([
    ['login', { login: '1abc' }],
    ['login', { login: 'ab' }],
    ['login', { login: 'a'.repeat(33) }],
    ['login', { login: 'a b c' }],
    ['email', { email: 'nobody' }],
    ['password', { password: 'short1' }],
    ['password', { password: 'onlyletters' }],
    ['password', { password: '12345678' }],
    ['phone', { phone: 7 }],
  ])('a bad %s: %j', async (field, change) => {
    const response = await service.compute('POST', '/my/users', { json: { login: 'carol', email: 'a@b', password, ...change } });
    expect(response).toMatchObject(invalid);
    expect(response.text).toContain(field);
    expect(await service.compute('GET', '/my/users/carol')).toMatchObject(missing);
  });

  test('a login is taken in any case, but only within the account', async () => {
    const { id } = await createUser('dora');
    expect(await service.compute('POST', '/my/users', { json: { login: 'DORA', email: 'a@b', password } })).toMatchObject(invalid);
    const { id: other = '' } = await createUser('emil');
    expect(await service.compute('POST', `/my/users/${other}`, { json: { login: 'Dora' } })).toMatchObject(invalid);
    expect((await service.compute('POST', `/my/users/${id ?? ''}`, { json: { login: 'Dora' } })).status).toBe(200);
    const signing = { key: service.otherKey, keyId: `/other/keys/${service.otherKey.fingerprint}` };
    const elsewhere = await service.compute('POST', '/my/users', { json: { login: 'dora', email: 'a@b', password }, signing });
    expect(elsewhere.status).toBe(201);
  });

  test('two that want one login at once: one gets it', async () => {
    const json = { login: 'race', email: 'a@b', password };
    const responses = await Promise.all([1, 2, 3].map(() => service.compute('POST', '/my/users', { json })));
    expect(responses.map(({ status }) => String(status)).sort()).toEqual(['201', '409', '409']);
  });

  test.each(['query', 'form', 'multipart', 'json'])('input as %s', async (encoding) => {
    const pairs = { login: `via-${encoding}`, email: 'a@b', password, companyName: 'Ä & Ö' };
    const form = new URLSearchParams(pairs).toString();
    const type = 'content-type';
    const multipart = Object.entries(pairs).map(
      ([name, value]) => `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    );
    const sendings: Record<string, Parameters<typeof service.compute>[2]> = {
      query: {},
      form: { headers: { [type]: 'application/x-www-form-urlencoded' }, body: Buffer.from(form) },
      multipart: { headers: { [type]: 'multipart/form-data; boundary=x' }, body: Buffer.from(`${multipart.join('')}--x--\r\n`) },
      json: { json: pairs },
    };
    const response = await service.compute('POST', `/my/users${encoding === 'query' ? `?${form}` : ''}`, sendings[encoding]);
    expect(response).toMatchObject({ status: 201, json: { login: pairs.login, companyName: 'Ä & Ö' } });
    expect(service.log.join('\n')).not.toContain(password);
  });
});

describe('passwords', () => {
  async function stored(id: string): Promise<string[]> {
    const row = await service.store.db.selectFrom('users').select('password').where('id', '=', id).executeTakeFirstOrThrow();
    return row.password.split('$');
  }

  test('are kept as salted slow hashes, and changed', async () => {
    const { id = '' } = await createUser('pat');
    const matches = async (text: string): Promise<boolean> => {
      const [name, N, r, p, salt = '', hash = ''] = await stored(id);
      expect(name).toBe('scrypt');
      const key = scryptSync(text, Buffer.from(salt, 'base64'), 32, { N: Number(N), r: Number(r), p: Number(p) });
      return key.toString('base64') === hash;
    };
    expect(await matches(password)).toBe(true);
    const { id: second = '' } = await createUser('pam');
    expect((await stored(second))[4]).not.toBe((await stored(id))[4]);
    const json = { password: 'another123', password_confirmation: 'another123' };
    const changed = await service.compute('POST', '/my/users/pat/change_password', { json });
    expect(changed).toMatchObject({ status: 200, json: { id, login: 'pat' } });
    expect(changed.text).not.toContain('another');
    expect([await matches(password), await matches('another123')]).toEqual([false, true]);
  });

  test.each([
    [{ password }, 'MissingParameter', 'password_confirmation'],
    [{}, 'MissingParameter', 'password, password_confirmation'],
    [{ password, password_confirmation: `${password}x` }, 'InvalidArgument', 'the same'],
    [{ password: 'abc', password_confirmation: 'abc' }, 'InvalidArgument', '7 characters'],
  ])('change to %j: %s', async (json, code, words) => {
    const response = await service.compute('POST', '/my/users/pat/change_password', { json });
    expect(response).toMatchObject({ status: 409, code });
    expect(response.text).toContain(words);
  });
});

describe('keys of a sub-user', () => {
  useQuickPasswords();

  test('create, get, list, sign with it, delete', async () => {
    const { id = '' } = await createUser('kim');
    const key = createRsaKey();
    const created = await service.compute('POST', '/my/users/kim/keys', { json: { name: 'laptop', key: key.line } });
    const shown = { name: 'laptop', fingerprint: key.fingerprint, key: key.line };
    expect(created).toMatchObject({ status: 201, json: shown });
    expect((await service.compute('GET', `/my/users/${id}/keys/laptop`)).json).toEqual(shown);
    expect((await service.compute('GET', `/my/users/kim/keys/${key.fingerprint}`)).json).toEqual(shown);
    expect((await service.compute('GET', '/my/users/kim/keys')).json).toEqual([shown]);
    expect(((await service.compute('GET', '/my/keys')).json as object[]).length).toBe(1);
    const signing = { key, keyId: `/demo/users/kim/keys/${key.fingerprint}` };
    expect(await service.compute('GET', '/my/keys', { signing })).toMatchObject({ status: 403, code: 'NotAuthorized' });
    expect(await service.compute('POST', '/my/users/kim/keys', { json: { key: key.line } })).toMatchObject(invalid);
    expect(await service.compute('POST', '/my/users/kim/keys', { json: { key: 'x' } })).toMatchObject(invalid);
    expect(await service.compute('POST', '/my/users/kim/keys', { json: {} })).toMatchObject({ status: 409, code: 'MissingParameter' });
    expect(await service.compute('POST', '/my/users/nobody/keys', { json: { key: key.line } })).toMatchObject(missing);
    expect((await service.compute('DELETE', '/my/users/kim/keys/laptop')).status).toBe(204);
    expect(await service.compute('GET', '/my/users/kim/keys/laptop')).toMatchObject(missing);
    expect(await service.compute('DELETE', '/my/users/kim/keys/laptop')).toMatchObject(missing);
    expect(await service.compute('GET', '/my/keys', { signing })).toMatchObject({ status: 401, code: 'InvalidCredentials' });
  });

  test('go with the user', async () => {
    const { id = '' } = await createUser('gone');
    const key = createRsaKey();
    await service.compute('POST', '/my/users/gone/keys', { json: { key: key.line } });
    await service.compute('DELETE', '/my/users/gone');
    expect(await service.store.db.selectFrom('keys').selectAll().where('user', '=', id).execute()).toEqual([]);
  });
});

describe('attestation', () => {
  const dir = mkdtempSync(join(tmpdir(), 'cloud-attest-'));
  const files = (name: string): { key: string; pem: string } => ({ key: join(dir, `${name}.key`), pem: join(dir, `${name}.pem`) });
  const openssl = (...words: string[]): string => execFileSync('openssl', words, { stdio: ['ignore', 'pipe', 'ignore'] }).toString();

  /** A certificate by openssl: of an authority, or of a key whose device wants a PIN once (2) and always a touch (2). */
  function certify(name: string, issuer: string | undefined, days: string): string {
    const { key, pem } = files(name);
    writeFileSync(key, createRsaKey().privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    if (issuer === undefined) openssl('req', '-x509', '-key', key, '-subj', `/CN=${name}`, '-days', days, '-out', pem);
    else {
      const [request, extensions] = [join(dir, `${name}.csr`), join(dir, `${name}.ext`)];
      openssl('req', '-new', '-key', key, '-subj', `/CN=${name}`, '-out', request);
      writeFileSync(extensions, '1.3.6.1.4.1.41482.3.8=DER:02:02\n');
      const by = files(issuer);
      openssl(
        'x509',
        '-req',
        '-in',
        request,
        '-CA',
        by.pem,
        '-CAkey',
        by.key,
        '-CAcreateserial',
        '-days',
        days,
        '-extfile',
        extensions,
        '-out',
        pem,
      );
    }
    return readFileSync(pem, 'utf8');
  }

  afterAll(() => rmSync(dir, { recursive: true }));

  test('is believed under the authority that the service was given only', async () => {
    const authority = certify('authority', undefined, '30');
    const certificate = certify('device', 'authority', '30');
    const line = (await derivePublicKey(createPrivateKey(readFileSync(files('device').key)))).openssh;
    const json = { key: line, attestation: [certificate] };
    const plain = await service.compute('POST', '/my/keys', { json });
    expect(plain.status).toBe(201);
    expect(plain.json).not.toHaveProperty('attested');
    const strict = await createTestService({ settings: { attestationAuthority: authority } });
    try {
      const believed = await strict.compute('POST', '/my/keys', { json });
      expect(believed).toMatchObject({ status: 201, json: { attested: true, multifactor: ['pin', 'touch'] } });
      const own = createEcdsaKey();
      expect((await strict.compute('POST', '/my/keys', { json: { key: own.line } })).json).not.toHaveProperty('attested');
    } finally {
      await strict.close();
    }
    expect(await service.compute('POST', '/my/keys', { json: { key: createEcdsaKey().line, attestation: [certificate] } })).toMatchObject(
      invalid,
    );
  });

  test('an expired certificate is refused with its date', async () => {
    const old = certify('old', undefined, '1');
    const later = await createTestService({ now: () => Date.now() + 3 * 86_400_000 });
    try {
      const line = (await derivePublicKey(createPrivateKey(readFileSync(files('old').key)))).openssh;
      const signing = { date: new Date(Date.now() + 3 * 86_400_000).toUTCString() };
      const response = await later.compute('POST', '/my/keys', { json: { key: line, attestation: [old] }, signing });
      expect(response).toMatchObject(invalid);
      expect(response.text).toContain(`certificate 1 expired on ${new Date(new X509Certificate(old).validTo).toISOString()}`);
    } finally {
      await later.close();
    }
  });
});

describe('limits', () => {
  test('show where the plug-in is on', async () => {
    expect((await service.compute('GET', '/my/limits')).json).toEqual([]);
    const limited = await createTestService({ settings: { limits: true } });
    try {
      const { json } = await limited.compute('GET', '/my/limits');
      expect(json).toEqual([
        { by: 'ram', value: 16_384, used: 5888 },
        { by: 'quota', value: 500, used: 105 },
        { by: 'machines', value: 20, used: 8 },
        { by: 'machines', value: 2, used: 0, check: 'os', os: 'windows' },
        { by: 'ram', value: 8192, used: 4096, check: 'image', image: 'debian-12' },
      ]);
    } finally {
      await limited.close();
    }
  });
});
