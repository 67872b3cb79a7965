import { execFileSync } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { derivePublicKey } from '../../../src/auth/public-key.ts';
import { quoteShell } from '../../../src/base/quote.ts';
import { createEcdsaKey, createRsaKey, createTestService, type TestReply, type TestService } from '../../support/service.ts';

/** Three days later certificates of one day have expired. */
const now = Date.now() + 3 * 86_400_000;
const dir = mkdtempSync(join(tmpdir(), 'cloud-chains-'));
const fileOf = (name: string, kind: 'key' | 'pem' | 'csr' | 'ext'): string => join(dir, `${name}.${kind}`);
/** Lines that one shell runs: a process that this one starts costs more than openssl itself. */
const script: string[] = [];
const quoteLine = (words: readonly string[]): string => ['openssl', ...words].map(quoteShell).join(' ');
const openssl = (...words: string[]): void => void script.push(`${quoteLine(words)} >/dev/null 2>&1`);

const authority = 'basicConstraints=critical,CA:TRUE';
const signing = 'keyUsage=critical,keyCertSign,cRLSign';
/** The device that holds the key wants a PIN and a touch. */
const factors = '1.3.6.1.4.1.41482.3.8=DER:02:02';

/** Has a certificate made; without an issuer it is its own. */
function certify(
  name: string,
  issuer: string | undefined,
  extensions: readonly string[],
  days = '30',
  subject: readonly string[] = ['-subj', `/CN=${name}`],
): void {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(fileOf(name, 'key'), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  openssl('req', '-new', '-key', fileOf(name, 'key'), ...subject, '-out', fileOf(name, 'csr'));
  writeFileSync(fileOf(name, 'ext'), `${extensions.join('\n')}\n`);
  const by =
    issuer === undefined
      ? ['-signkey', fileOf(name, 'key')]
      : ['-CA', fileOf(issuer, 'pem'), '-CAkey', fileOf(issuer, 'key'), '-CAcreateserial'];
  openssl('x509', '-req', '-in', fileOf(name, 'csr'), ...by, '-days', days, '-extfile', fileOf(name, 'ext'), '-out', fileOf(name, 'pem'));
}

/** Asks openssl of a chain under the root, at the time of the test: the line prints whether it verifies it. */
function askAbout([leaf = '', ...others]: readonly string[]): void {
  const untrusted = others.flatMap((name) => ['-untrusted', fileOf(name, 'pem')]);
  const words = ['verify', '-attime', String(Math.floor(now / 1000)), '-CAfile', fileOf('root', 'pem'), ...untrusted, fileOf(leaf, 'pem')];
  script.push(`if ${quoteLine(words)} >/dev/null 2>&1; then echo true; else echo false; fi`);
}

/** By the names of a chain: whether openssl verifies it. */
let verdicts: ReadonlyMap<string, boolean>;
const isVerified = (chain: readonly string[]): boolean | undefined => verdicts.get(chain.join());

type Chain = readonly string[];
const taken: readonly [chain: Chain, multifactor: string[]][] = [
  [['device'], ['pin', 'touch']],
  [['plain'], []],
  [
    ['of-maker', 'maker'],
    ['pin', 'touch'],
  ],
  [
    ['of-maker', 'maker', 'root'],
    ['pin', 'touch'],
  ],
  [
    ['of-last', 'last'],
    ['pin', 'touch'],
  ],
  [
    ['of-below-second', 'below-second', 'second'],
    ['pin', 'touch'],
  ],
  [
    ['of-without-usage', 'without-usage'],
    ['pin', 'touch'],
  ],
];
const refused: readonly [chain: Chain, name: string, message: string | undefined][] = [
  [['software', 'device'], 'a device key as issuer', 'certificate 2 is not a CA certificate'],
  [['of-plain', 'plain'], 'a certificate without constraints as issuer', 'certificate 2 is not a CA certificate'],
  [['of-below-last', 'below-last', 'last'], 'one authority too many', 'certificate 3 allows 0 intermediate certificates, not 1'],
  [['of-no-signer', 'no-signer'], 'an issuer that may not sign certificates', undefined],
  [['of-short', 'short'], 'an issuer that has expired', 'certificate 2 expired on '],
];

let service: TestService;

/** Registers the key of the first certificate with the chain as its attestation. */
async function register(chain: readonly string[]): Promise<TestReply> {
  const key = await derivePublicKey(createPrivateKey(readFileSync(fileOf(chain[0] ?? '', 'key'))));
  const attestation = chain.map((name) => readFileSync(fileOf(name, 'pem'), 'utf8'));
  const response = await service.compute('POST', '/my/keys', {
    json: { key: key.openssh, attestation },
    signing: { date: new Date(now).toUTCString() },
  });
  await service.compute('DELETE', `/my/keys/${key.fingerprints.md5}`, { signing: { date: new Date(now).toUTCString() } });
  return response;
}

beforeAll(async () => {
  certify('root', undefined, [authority, signing]);
  certify('device', 'root', ['basicConstraints=CA:FALSE', factors]);
  certify('plain', 'root', []);
  certify('maker', 'root', [authority, signing]);
  certify('of-maker', 'maker', [factors]);
  certify('last', 'root', ['basicConstraints=critical,CA:TRUE,pathlen:0', signing]);
  certify('of-last', 'last', [factors]);
  certify('second', 'root', ['basicConstraints=critical,CA:TRUE,pathlen:1', signing]);
  certify('below-second', 'second', [authority, signing]);
  certify('of-below-second', 'below-second', [factors]);
  certify('below-last', 'last', [authority, signing]);
  certify('of-below-last', 'below-last', [factors]);
  certify('without-usage', 'root', [authority]);
  certify('of-without-usage', 'without-usage', [factors]);
  certify('no-signer', 'root', [authority, 'keyUsage=critical,digitalSignature']);
  certify('of-no-signer', 'no-signer', [factors]);
  certify('software', 'device', [factors]);
  certify('of-plain', 'plain', [factors]);
  certify('short', 'root', [authority, signing], '1');
  certify('of-short', 'short', [factors]);
  certifyNameWithBytes();
  const chains = [...taken, ...refused].map(([chain]) => chain);
  chains.push(['in-name']);
  for (const chain of chains) askAbout(chain);
  const said = execFileSync('bash', ['-e', '-c', script.join('\n')], { encoding: 'utf8' }).split('\n');
  verdicts = new Map(chains.map((chain, at) => [chain.join(), said[at] === 'true']));
  service = await createTestService({ now: () => now, settings: { attestationAuthority: readFileSync(fileOf('root', 'pem'), 'utf8') } });
});
afterAll(async () => {
  await service.close();
  rmSync(dir, { recursive: true });
});

/** The extension as the old reading looked for it: identifier, and an octet string that says PIN and touch. */
const extensionBytes = Buffer.from('060a2b0601040182c40a030804020202', 'hex');

/** The bytes of the extension in the subject: whoever asks for a certificate chooses that name. */
function certifyNameWithBytes(): void {
  const file = join(dir, 'name.cnf');
  const name = extensionBytes.toString('latin1').replaceAll('\n', '\\n');
  const lines = ['[req]', 'prompt=no', 'utf8=no', 'string_mask=default', 'distinguished_name=dn', '[dn]', `CN=${name}`, ''];
  writeFileSync(file, lines.join('\n'), 'latin1');
  certify('in-name', 'root', [], '30', ['-config', file]);
}

describe('an attestation is believed by the rules of certificates, as openssl verifies them', () => {
  test.each(taken)('%j: taken, with %j', async (chain, multifactor) => {
    expect(isVerified(chain)).toBe(true);
    expect(await register(chain)).toMatchObject({ status: 201, json: { attested: true, multifactor } });
  });

  test.each(refused)('%j: refused, %s', async (chain, _name, message) => {
    expect(isVerified(chain)).toBe(false);
    const response = await register(chain);
    expect(response.text).not.toContain('"attested"');
    if (message !== undefined) expect([response.status, response.text]).toEqual([409, expect.stringContaining(message)]);
  });

  test('the bytes of the extension in a name are no factors', async () => {
    expect(isVerified(['in-name'])).toBe(true);
    expect(new X509Certificate(readFileSync(fileOf('in-name', 'pem'))).raw.includes(extensionBytes)).toBe(true);
    expect(await register(['in-name'])).toMatchObject({ status: 201, json: { attested: true, multifactor: [] } });
  });

  test.each([
    ['type', createRsaKey],
    ['curve', () => createEcdsaKey(384)],
    ['value', createEcdsaKey],
  ])('a certificate of a key of another %s is refused, and leaves no error for the next use of a key', async (_, create) => {
    const { line } = create();
    const known = createPrivateKey(readFileSync(fileOf('device', 'key')));
    const attestation = [readFileSync(fileOf('device', 'pem'), 'utf8')];
    const signed = { date: new Date(now).toUTCString() };
    const response = await service.compute('POST', '/my/keys', { json: { key: line, attestation }, signing: signed });
    expect([response.status, response.text]).toEqual([409, expect.stringContaining('the first certificate is not for this key')]);
    expect(createPrivateKey(readFileSync(fileOf('device', 'key'))).equals(known)).toBe(true);
  });

  test('a chain of more certificates than any device has is refused before one is looked at', async () => {
    const response = await register(['device', ...Array.from({ length: 10 }, () => 'root')]);
    expect([response.status, response.text]).toEqual([409, expect.stringContaining('(limit attestation-certificates)')]);
  });
});
