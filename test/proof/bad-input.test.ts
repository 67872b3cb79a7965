import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { createSelfSignedCertificate, generatePrivateKey, identityForUser } from 'sshpk';
import { beforeAll, expect, test } from 'vitest';
import { useLocal } from '../support/sandbox.ts';

/** Bad input of the compute commands: exit code 2, one line that says what is wrong, at most one hint, and nothing changed. */

const user = useLocal();
const input = 'open sesame 1';

beforeAll(async () => {
  for (const name of ['one', 'two']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', '', '-f', join(user.home, name)]);
    await user.json('keys', 'create', `${name}.pub`, '--name', 'twin');
  }
  await user.json('policies', 'create', 'read', '--rule', 'CAN listkeys');
  await user.json('roles', 'create', 'dev', '--policy', 'read');
  await user.cloud(['users', 'create', 'alice', '--email', 'a@example.com', '--password-stdin'], { input });
  await user.json('images', 'create', '6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001', 'web', '1.0.0', '--wait');
  user.write('user.yaml', 'login: bob\nemial: bob@example.com\n');
  user.write('role.yaml', 'name: ops\nmebmers: [alice]\n');
  user.write('policy.json', '{"name": "p", "rule": ["CAN listkeys"]}');
  user.write('image.yaml', 'descripton: x\n');
  user.write('acl.yaml', 'acl: [alice]\n');
  // openssl makes no certificate that is out of date from the beginning.
  const dates = { validFrom: new Date('2020-01-01'), validUntil: new Date('2020-01-02') };
  const certificate = createSelfSignedCertificate(identityForUser('token'), generatePrivateKey('ecdsa'), dates);
  user.write('expired.pem', certificate.toString('pem'));
});

/** All that these commands could change. */
async function snapshot(): Promise<string[]> {
  const lists = [
    ['rbac', 'export'],
    ['keys', 'list'],
    ['images', 'list', '--state', 'all'],
    ['account', 'get'],
  ];
  return await Promise.all(lists.map(async (words) => JSON.stringify(await user.json(...words))));
}

const machine = '6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001';

/** A command, and what its message and hint say. */
const refused: readonly [line: string, message: string, hint?: string][] = [
  ['users create --from user.yaml --password-stdin', 'user.yaml: emial: is not a known field', 'did you mean email?'],
  ['users update alice --from user.yaml', 'user.yaml: emial: is not a known field', 'did you mean email?'],
  ['roles create --from role.yaml', 'role.yaml: mebmers: is not a known field', 'did you mean members?'],
  ['roles update dev --from role.yaml', 'role.yaml: mebmers: is not a known field', 'did you mean members?'],
  ['policies create --from policy.json', 'policy.json: rule: is not a known field', 'did you mean rules?'],
  [`images create ${machine} web 2.0.0 --from image.yaml`, 'image.yaml: descripton: is not a known field', 'did you mean description?'],
  ['keys delete twin --yes', '2 keys are named "twin"', 'give the fingerprint'],
  ['keys get twin', '2 keys are named "twin"', 'give the fingerprint'],
  ['keys create one.pub --attestation expired.pem', 'expired.pem: the certificate expired on Jan'],
  ['users keys create alice one.pub --attestation expired.pem', 'expired.pem: the certificate expired on Jan'],
  ['keys create one.pub --attestation one.pub', 'one.pub: is not a PEM certificate'],
  ['roles tags set kees dev', '"kees" is not a resource: there is no collection kees', 'did you mean keys?'],
  ['roles tags add keys/a/b dev', '"keys/a/b" is not a resource: it is too long'],
  ['images share web@1.0.0 alice', '"alice" is not the UUID of an account'],
  [`images create ${machine} web 2.0.0 --acl alice`, '"alice" is not the UUID of an account'],
  ['images update web@1.0.0 --from acl.yaml', '"alice" is not the UUID of an account'],
  ['images create web-1 web 2.0.0', '"web-1" is not the UUID of an instance', 'cloud help local-service'],
  ['roles update dev --remove-member bob', 'bob is not a member of role dev'],
  ['users keys create .. one.pub', '".." is not a name'],
  ['users keys create . one.pub', '"." is not a name'],
  ['roles tags set keys/.. dev', '".." is not a name'],
  ['users get ..', '".." is not a name'],
  ['packages get ..', '".." is not a name'],
  ['datacenters get .', '"." is not a name'],
  ['api my/keys', '"my/keys" does not begin with a slash', 'cloud api GET /my/keys'],
  ['api keys', '"keys" does not begin with a slash', 'cloud api GET /my/keys'],
  ['users delete alice', 'there is no terminal to confirm it', 'add --yes'],
  ['users password alice', 'there is no terminal', '--password-stdin or --password-file'],
];

test('bad input is refused in one line, and nothing is changed', async () => {
  const before = await snapshot();
  const outcomes = [];
  for (const [line] of refused) outcomes.push(await user.cloud(line.split(' '), { input }));
  for (const [at, { code, stdout, stderr }] of outcomes.entries()) {
    const [line = '', message = '', hint] = refused[at] ?? [];
    expect([line, code, stdout]).toEqual([line, 2, '']);
    const [first = '', second, ...more] = stderr.trimEnd().split('\n');
    expect(first).toContain(message);
    if (hint !== undefined) expect(second).toContain(hint);
    expect(second ?? 'hint: ', line).toMatch(/^hint: /);
    expect(more, line).toEqual([]);
  }
  expect(await snapshot()).toEqual(before);
});
