import { execFileSync } from 'node:child_process';
import { createHash, createPrivateKey, createPublicKey, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEcdsaKey, createRsaKey, createTestService, signAs, type TestKey, type TestService } from '../../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await createTestService();
});
afterAll(() => service.close());

function writeField(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** An RSA key of any size, without its private half. */
function makeRsaLine(bits: number, exponent: string): string {
  const modulus = randomBytes(Math.ceil(bits / 8));
  modulus[0] = bits % 8 === 0 ? (modulus[0] ?? 0) | 0x80 : 2 ** ((bits % 8) - 1);
  modulus[modulus.length - 1] = (modulus.at(-1) ?? 0) | 1;
  const fields = [
    Buffer.from('ssh-rsa'),
    ...[Buffer.from(exponent, 'hex'), modulus].map((each) => Buffer.concat([Buffer.from([0]), each])),
  ];
  return `ssh-rsa ${Buffer.concat(fields.map(writeField)).toString('base64')}`;
}

describe('keys are registered that are neither weak nor expensive', () => {
  const register = (key: string) => service.compute('POST', '/my/keys', { json: { key } });

  test.each([
    [1024, '010001', 409],
    [2047, '010001', 409],
    [2048, '010001', 201],
    [2048, '03', 201],
    [8192, 'ffffffff', 201],
    [8192, '0100000001', 409],
    [2048, 'fffffffffffffff1', 409],
    [8193, '010001', 409],
    [16_384, '010001', 409],
  ])('RSA of %i bits with the exponent %s: %i', async (bits, exponent, status) => {
    const response = await register(makeRsaLine(bits, exponent));
    expect([response.status, response.text]).toEqual([
      status,
      expect.stringContaining(status === 201 ? 'fingerprint' : 'key is invalid: '),
    ]);
  });

  test('a key line of a megabyte is refused by its limit', async () => {
    const response = await register(`${createEcdsaKey().line}${'x'.repeat(900_000)}`);
    expect([response.status, response.text.length < 500, response.text]).toEqual([409, true, expect.stringContaining('(limit key-bytes)')]);
  });

  test('one that an earlier release registered proves nothing when it is too large, and costs nothing', async () => {
    const pem = execFileSync(
      'openssl',
      ['genpkey', '-algorithm', 'rsa', '-pkeyopt', 'rsa_keygen_bits:2048', '-pkeyopt', 'rsa_keygen_pubexp:4294967311'],
      {
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    const privateKey = createPrivateKey(pem);
    const { n = '', e = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
    const fields = [e, n].map((text) => Buffer.concat([Buffer.from([0]), Buffer.from(text, 'base64url')]));
    const blob = Buffer.concat([Buffer.from('ssh-rsa'), ...fields].map(writeField));
    const fingerprint = createHash('md5').update(blob).digest('hex').match(/../gu)?.join(':') ?? '';
    const key: TestKey = { privateKey, line: `ssh-rsa ${blob.toString('base64')}`, fingerprint };
    const row = { account: service.account.id, user: null, name: 'old', fingerprint, key: key.line, attestation: null, multifactor: null };
    await service.store.write((transaction) =>
      transaction
        .insertInto('keys')
        .values({ ...row, created: 0 })
        .execute(),
    );
    const signing = signAs('compute', key, 'demo');
    expect(await service.compute('GET', '/my/keys', { signing })).toMatchObject({ status: 401, code: 'InvalidCredentials' });
  });
});

test('of keys that share a name the five oldest are tried; each is found by its fingerprint', async () => {
  const keys = Array.from({ length: 6 }, createRsaKey);
  for (const { line } of keys) await service.compute('POST', '/my/keys', { json: { name: 'shared', key: line } });
  const statuses = (keyName?: string) =>
    Promise.all(
      keys.map(async (key) => {
        const signing = { key, keyId: `/demo/keys/${keyName ?? key.fingerprint.toUpperCase()}` };
        return (await service.compute('GET', '/my/keys', { signing })).status;
      }),
    );
  expect(await statuses('shared')).toEqual([200, 200, 200, 200, 200, 401]);
  expect(await statuses()).toEqual([200, 200, 200, 200, 200, 200]);
});
