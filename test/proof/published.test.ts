import { createHash, randomBytes } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { installPublished } from '../support/published.ts';
import { useLocal } from '../support/sandbox.ts';

/** Clients that others have written for these services find in the local ones what they expect. */

const user = useLocal();
let shell: Awaited<ReturnType<typeof installPublished>>;

beforeAll(async () => {
  shell = await installPublished(user);
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
  ['mrm -r "/$MANTA_USER/stor/theirs" && mls "/$MANTA_USER/stor"', /^documents\/$/m],
])('%s', async (line, expected) => {
  const { code, stdout, stderr } = await shell(line);
  expect([line, code, stderr]).toEqual([line, 0, expect.any(String)]);
  expect(stdout).toEqual(typeof expected === 'string' ? expected : expect.stringMatching(expected));
});
