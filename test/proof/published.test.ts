import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installPublished, readPublishedVersion } from '../support/published.ts';
import { useLocal } from '../support/sandbox.ts';

/** Clients that others have written for these services find in the local ones what they expect. */

const user = useLocal();
/** An image of the built-in second datacenter. */
const imported = 'b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e0001';
let shell: Awaited<ReturnType<typeof installPublished>>;

/** By subcommand of a published client: whether it worked unchanged. */
const table = new Map<string, string>();

afterAll(() => {
  const versions = (['triton', 'manta', 'smartdc'] as const).map(readPublishedVersion).join(', ');
  const rows = [...table].map(([name, outcome]) => `${name.padEnd(24)} ${outcome}`);
  process.stdout.write(`Published clients against the local services (${versions})\n${rows.join('\n')}\n`);
});

/** The subcommands of a line: `triton image get`, `mput`, `sdc-listkeys`. */
function listSubcommands(line: string): string[] {
  const found = line.matchAll(
    /(?:^|[\s(;&|])(triton (?:rbac )?[a-z-]+(?: (?:list|get|add|delete|update|export|share|unshare|clone|tag|wait|copy))?|m[a-z0-9]{2,7}(?= )|sdc-[a-z]+)/gu,
  );
  return [...found].map(([, name = '']) => name).filter((name) => !/^(?:mkdir)$/u.test(name));
}

beforeAll(async () => {
  shell = await installPublished(user, ['triton', 'manta', 'smartdc']);
  user.write('part', randomBytes(6_000_000));
  user.write('text', 'one\ntwo\n');
});

test.each<[string, string | RegExp]>([
  ['triton account get', /^login: demo$/m],
  ['triton key list -H', /demo/],
  ['triton datacenters -H', /^local /m],
  ['triton services -H', /^storage /m],
  ['triton package list -H -o name', /^g1-nano$/m],
  ['triton image get base-64', /"name": "base-64"/],
  ['triton images -H -o name', /^base-64$/m],
  [`echo '{"name": "lists", "rules": ["CAN listkeys"]}' | triton rbac policy -a - && triton rbac policies -H -o name`, /^lists$/m],
  [
    `echo '{"login": "ann", "email": "a@example.com", "password": "secret123"}' | triton rbac user -a - && triton rbac users -H -o login`,
    /^ann$/m,
  ],
  [
    `echo '{"name": "reader", "policies": [{"name": "lists"}], "members": [{"type": "subuser", "login": "ann"}]}' | triton rbac role -a - && triton rbac roles -H -o name`,
    /^reader$/m,
  ],
  ['triton rbac info', /^users \(1\):[^]*roles \(1\):[^]*policies \(1\):/],
  ['ssh-keygen -q -t rsa -N "" -f theirs && triton key add -n theirs theirs.pub && triton key list -H -o name', /^theirs$/m],
  [
    `cloud images import local-2 ${imported} -q && triton image update ${imported} description=theirs && triton image get ${imported} | grep -c theirs`,
    /^1$/m,
  ],
  [`triton image export ${imported} "/$MANTA_USER/stor/theirs-image" && mls "/$MANTA_USER/stor"`, /theirs-image\.imgmanifest/],
  [`triton image tag ${imported} role=web && triton image get ${imported}`, /"role": "web"/],
  ['triton image list -H -o name,version', /^inventory-base +1\.0\.0$/m],
  ['triton package get g1-nano', /"name": "g1-nano"/],
  ['triton rbac user ann', /login.*ann/],
  ['triton rbac role reader && triton rbac policy lists', /name.*lists/],
  ['triton rbac key -a -n hers ann theirs.pub && triton rbac keys ann', /hers/],
  ['triton rbac role-tags package g1-nano; true', /.*/],
  ['triton account update city=Here && triton account get', /^city: Here$/m],
  ['triton key get theirs', /^ssh-rsa /],
  ['triton key delete -y theirs && triton key list -H -o name', /^(?!theirs$)/m],
  ['triton rbac role -d -y reader && triton rbac policy -d -y lists && triton rbac user -d -y ann && triton rbac info', /^users \(0\):?/m],
  ['sdc-listkeys', /"fingerprint"/],
  ['sdc-createkey -n older theirs.pub && sdc-getkey older', /"name": "older"/],
  ['sdc-deletekey older && sdc-listkeys', /"fingerprint"/],
  ['sdc-getaccount', /"login": "demo"/],
  ['sdc-updateaccount --city=There && sdc-getaccount', /"city": "There"/],
  ['sdc-listdatacenters', /"local":/],
  ['sdc-listpackages', /"g1-nano"/],
  ['sdc-getpackage g1-nano', /"name": "g1-nano"/],
  ['sdc-listimages', /"base-64"/],
  ['sdc-getimage $(sdc-listimages --name=base-64 | jq -r ".[0].id")', /"name": "base-64"/],
  [`sdc-exportimage --mantaPath="/$MANTA_USER/stor/older-image" ${imported}`, /"manifest_path": "\/demo\/stor\/older-image\.imgmanifest"/],
  [`sdc-updateimage --description=older ${imported}`, /"description": "older"/],
  [`sdc-deleteimage ${imported} && sdc-listimages | grep -c inventory-base || true`, '0\n'],
  ['mmkdir -p "/$MANTA_USER/stor/theirs/deep" && mls "/$MANTA_USER/stor/theirs"', 'deep/\n'],
  ['mput -q -f text "/$MANTA_USER/stor/theirs/text" && mget -q "/$MANTA_USER/stor/theirs/text"', 'one\ntwo\n'],
  [
    'mput -q -c 3 -H "content-type: text/csv" -f text "/$MANTA_USER/stor/theirs/typed" && mls -j "/$MANTA_USER/stor/theirs" | tail -1',
    /"durability":3/,
  ],
  ['mln "/$MANTA_USER/stor/theirs/text" "/$MANTA_USER/stor/theirs/link" && mget -q "/$MANTA_USER/stor/theirs/link"', 'one\ntwo\n'],
  ['mmd5 "/$MANTA_USER/stor/theirs/text"', `${createHash('md5').update('one\ntwo\n').digest('hex')}  /demo/stor/theirs/text\n`],
  ['mfind -t o "/$MANTA_USER/stor/theirs"', /\/stor\/theirs\/text$/m],
  ['curl -sS --fail --cacert "$NODE_EXTRA_CA_CERTS" "$(msign "/$MANTA_USER/stor/theirs/text")"', 'one\ntwo\n'],
  [
    'id=$(mmpu create "/$MANTA_USER/stor/theirs/whole") && etag=$(mmpu upload -f part "$id" 0) && mmpu commit "$id" "$etag" && mget -q "/$MANTA_USER/stor/theirs/whole" | cmp - part && echo same',
    'same\n',
  ],
  ['echo "/$MANTA_USER/stor/theirs/text" | mjob create -q -o -m "grep -c o" -r "cat"', '2\n'],
  [
    'mkdir -p tree/sub && cp text tree/sub/ && msync -q tree "/$MANTA_USER/stor/theirs/tree" && mget -q "/$MANTA_USER/stor/theirs/tree/sub/text"',
    'one\ntwo\n',
  ],
  ['mkdir -p back && msync -q -r "/$MANTA_USER/stor/theirs/tree" back && cmp text back/sub/text && echo same', 'same\n'],
  ['minfo "/$MANTA_USER/stor/theirs/text"', /content-length: 8/],
  [
    'id=$(mmpu create "/$MANTA_USER/stor/theirs/given-up") && mmpu get "$id" && mmpu parts "$id" && mmpu list && mmpu abort "$id"',
    /"state": "created"/,
  ],
  ['mrmdir "/$MANTA_USER/stor/theirs/deep" && mls "/$MANTA_USER/stor/theirs"', /^text$/m],
  ['mrm -r "/$MANTA_USER/stor/theirs" && mls "/$MANTA_USER/stor"', /^documents\/$/m],
])('%s', async (line, expected) => {
  for (const name of listSubcommands(line)) table.set(name, 'failed');
  const { code, stdout, stderr } = await shell(line);
  expect([line, code, stderr]).toEqual([line, 0, expect.any(String)]);
  expect(stdout).toEqual(typeof expected === 'string' ? expected : expect.stringMatching(expected));
  for (const name of listSubcommands(line)) table.set(name, 'works');
});
