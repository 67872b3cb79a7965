import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installPublished, listPrograms, readPublishedVersion } from '../support/published.ts';
import { useLocal } from '../support/sandbox.ts';

/** Clients that others have written for these services find in the local ones what they expect. */

const published = ['triton', 'manta', 'smartdc', 'smartdc-8'] as const;
const user = useLocal();
/** An image of the built-in second datacenter. */
const imported = 'b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e0001';
let shell: Awaited<ReturnType<typeof installPublished>>;

/** By subcommand of a published client: whether it worked unchanged. */
const table = new Map<string, string>();

afterAll(() => {
  const versions = published.map(readPublishedVersion).join(', ');
  const rows = [...table].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, outcome]) => `${name.padEnd(30)} ${outcome}`);
  process.stdout.write(`Published clients against the local services (${versions})\n${rows.join('\n')}\n`);
});

/** The subcommands of a line: `triton image get`, `mjob create`, `mput`, `sdc-listkeys`. */
function listSubcommands(line: string): string[] {
  const found = line.matchAll(
    /(?:^|[\s(;&|])((?:older-)?(?:triton (?:(?:rbac|account|key|image|package) )?[a-z-]+|(?:mjob|mmpu|sdc-policy|sdc-role|sdc-user) [a-z-]+|m[a-z0-9]{2,7}(?= )|sdc-[a-z]+))/gu,
  );
  return [...found].map(([, name = '']) => name).filter((name) => name !== 'mkdir');
}

/** The subcommands that a help text lists. */
function readCommands(help: string): string[] {
  const [, commands = ''] = /^Commands:\n([^]*)$/mu.exec(help.replace(/\n(?:Exit Status|See)[^]*$/u, '')) ?? [];
  return [...commands.matchAll(/^ {4}([a-z][a-z-]*)(?: \([^)]*\))? {2,}\S/gmu)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'help');
}

/** Subcommands for what neither document has: instances with their networks and firewalls, sessions in jobs, reports of usage, the time at which a job was archived (`mjob share`), settings of the client itself. */
const elsewhere =
  /^(?:triton (?:profile|env|completion|instances?|create|delete|start|stop|reboot|ssh|ip|network|fwrule|vlan|volume|info|changefeed|rbac (?:instance|network)-role-tags)|mlogin|mjob (?:cost|share)|sdc-(?!createimagefrommachine).*(?:machine|firewall|network|fabric|nics).*)$/u;

/** Every subcommand of the clients whose operation exists here. */
async function listExpected(): Promise<string[]> {
  const groups = [
    'triton account',
    'triton key',
    'triton image',
    'triton package',
    'triton rbac',
    'mjob',
    'mmpu',
    'sdc-policy',
    'sdc-role',
    'sdc-user',
  ];
  const members = await Promise.all(
    groups.map(async (name) => readCommands((await shell(`${name} --help`)).stdout).map((each) => `${name} ${each}`)),
  );
  const top = readCommands((await shell('triton --help')).stdout).map((each) => `triton ${each}`);
  const all = [...top, ...listPrograms('manta'), ...listPrograms('smartdc')].filter((name) => !groups.includes(name));
  return [...all, ...members.flat()].filter((name) => !elsewhere.test(name));
}

beforeAll(async () => {
  shell = await installPublished(user, [...published]);
  user.write('part', randomBytes(6_000_000));
  user.write('text', 'one\ntwo\n');
  const access = {
    users: [{ login: 'zoe', email: 'z@example.com', password: 'secret123' }],
    policies: [{ name: 'zoes', rules: ['CAN listkeys'] }],
    // This client asks for version 9 and writes members and policies in the form of version 8.
    roles: [{ name: 'zoes', members: ['zoe'], default_members: ['zoe'], policies: ['zoes'] }],
  };
  user.write('access.json', JSON.stringify(access));
});

/** A sample instance that images can be made of. */
const machine = '6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001';

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
  ['triton account limits -j', '[]\n'],
  ['triton rbac image-role-tags -a reader base-64 && triton rbac image-role-tags base-64', /^reader$/m],
  ['triton rbac package-role-tags -a reader g1-nano && triton rbac package-role-tags g1-nano', /^reader$/m],
  ['triton rbac role-tags -a reader /demo/keys && triton rbac role-tags /demo/keys', /^reader$/m],
  [`triton image create -w ${machine} made 1.0 && triton image wait made@1.0 && triton image get made`, /"state": "active"/],
  [`triton image share made ${machine} && triton image get made && triton image unshare made ${machine}`, /"acl": \[\s*"6d1a3a4c/],
  // What is cloned must be shared: the service's own word comes through.
  ['triton image clone base-64 2>&1 || true', /is not shared with demo/],
  ['triton image delete -f made && triton image list -H -o name', /^base-64$/m],
  ['TRITON_URL=$(cloud datacenters get local-2 --jq .url) triton image list -H -o name', /^inventory-libs$/m],
  [
    `TRITON_URL=$(cloud datacenters get local-2 --jq .url) triton image copy inventory-libs local && triton image get inventory-libs`,
    /"name": "inventory-libs"/,
  ],
  ['triton account update city=Here && triton account get', /^city: Here$/m],
  ['triton key get theirs', /^ssh-rsa /],
  ['triton key delete -y theirs && triton key list -H -o name', /^(?!theirs$)/m],
  ['triton rbac role -d -y reader && triton rbac policy -d -y lists && triton rbac user -d -y ann && triton rbac info', /^users \(0\):?/m],
  ['triton rbac apply -y -f access.json && triton rbac info', /^users \(1\):\s+zoe [^]*^roles \(1\):\s+zoes[^]*^policies \(1\):\s+zoes/m],
  ['triton rbac reset -y && triton rbac info', /^users \(0\):?[^]*roles \(0\)/m],
  ['sdc-listkeys', /"fingerprint"/],
  ['older-sdc-listkeys && older-sdc-getaccount', /"fingerprint"[^]*"login": "demo"/],
  ['older-sdc-listimages && older-sdc-listpackages', /"base-64"[^]*"g1-nano"/],
  [
    "sdc-policy create --name=lists --rules='CAN listkeys' && id=$(sdc-policy list | jq -r '.[0].id') && sdc-policy update --name=listing $id && sdc-policy get $id",
    /"name": "listing"/,
  ],
  [
    "sdc-user create --login=sam --email=s@example.com --password=secret123 && id=$(sdc-user list | jq -r '.[0].id') && sdc-user update --email=t@example.com $id && sdc-user get $id",
    /"email": "t@example.com"/,
  ],
  ["id=$(sdc-user list | jq -r '.[0].id') && sdc-user change-password --password=secret456 --password-confirmation=secret456 $id", /.*/],
  [
    "id=$(sdc-user list | jq -r '.[0].id') && sdc-user upload-key --name=his $id theirs.pub && sdc-user keys $id && sdc-user key $id his && sdc-user delete-key $id his && sdc-user keys $id",
    /"name": "his"[^]*\[\]\s*$/,
  ],
  [
    "sdc-role create --name=lister --members=sam --policies=listing && id=$(sdc-role list | jq -r '.[0].id') && sdc-role update --name=listers $id && sdc-role get $id",
    /"name": "listers"[^]*"sam"[^]*"listing"/,
  ],
  ['sdc-chmod -- +listers /my/keys && sdc-info /my/keys', /"listers"/],
  ["sdc-role delete $(sdc-role list | jq -r '.[0].id') && sdc-role list", '[]\n'],
  ["sdc-user delete $(sdc-user list | jq -r '.[0].id') && sdc-user list", '[]\n'],
  ["sdc-policy delete $(sdc-policy list | jq -r '.[0].id') && sdc-policy list", '[]\n'],
  [`sdc-createimagefrommachine --machine ${machine} --imageVersion 2.0 --name theirs`, /"name": "theirs"/],
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
  [`cloud images delete inventory-libs -y -q; sdc-deleteimage ${imported} && sdc-listimages | grep -c inventory-base || true`, '0\n'],
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
  ['mchattr -H "m-color: blue" "/$MANTA_USER/stor/theirs/text" && minfo "/$MANTA_USER/stor/theirs/text"', /^m-color: blue$/m],
  [
    'cloud roles create keepers -q && mchmod -- +keepers "/$MANTA_USER/stor/theirs/text" && minfo "/$MANTA_USER/stor/theirs/text"',
    /^role-tag: keepers$/m,
  ],
  [
    'tar cf tree.tar tree && muntar -f tree.tar "/$MANTA_USER/stor/theirs" && mget -q "/$MANTA_USER/stor/theirs/tree/sub/text"',
    '/demo/stor/theirs/tree/sub/text\none\ntwo\n',
  ],
  [
    'id=$(mjob create --open -m "grep -c o") && echo "/$MANTA_USER/stor/theirs/text" | mjob addinputs --open "$id" && mjob inputs "$id" && mjob list && mjob close "$id" && mjob watch "$id" > /dev/null && mjob get "$id" && mget -q "$(mjob outputs "$id")"',
    /theirs\/text\n[^]*"state": "done"[^]*^2$/m,
  ],
  [
    'id=$(mjob create --open -m false) && echo "/$MANTA_USER/stor/theirs/text" | mjob addinputs "$id" && mjob watch "$id" > /dev/null && mjob errors "$id" && mjob failures "$id"',
    /"code":"UserTaskError"[^]*^\/demo\/stor\/theirs\/text$/m,
  ],
  ['id=$(mjob create --open -m cat) && mjob cancel "$id" && mjob get "$id"', /"cancelled": true/],
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

test('every subcommand of the clients whose operation exists here is in the table', async () => {
  const expected = await listExpected();
  expect(expected.length).toBeGreaterThan(80);
  expect(expected.filter((name) => !table.has(name))).toEqual([]);
});

/** Of a line of a published client: its exit code, and what it printed. */
async function tell(line: string): Promise<{ code: number | null; text: string }> {
  const { code, stdout, stderr } = await shell(line);
  return { code, text: stdout + stderr };
}

/** Lines that read and write with each client. */
const daily = {
  mget: 'mget -q "/$MANTA_USER/stor/for-faults"',
  mput: 'mput -q -f for-faults "/$MANTA_USER/stor/for-faults"',
  mls: 'mls "/$MANTA_USER/stor"',
  triton: 'triton key list',
  cloud: 'cloud stor ls && cloud keys list',
};

test.each([
  ['getobject 503:Busy', 'mget', /Busy|503/u],
  ['getobject InternalError', 'mget', /InternalError/u],
  ['getobject throttle', 'mget', /429|TooManyRequests|Throttle/iu],
  ['getobject close', 'mget', /socket hang up|ECONNRESET/u],
  ['getobject wrong-md5', 'mget', /md5/iu],
  ['putobject cut-upload:100', 'mput', /./u],
  ['putobject 507:NotEnoughSpace', 'mput', /NotEnoughSpace/u],
  ['listkeys 503:Busy', 'triton', /Busy|503/u],
  ['listkeys throttle', 'triton', /./u],
  ['listkeys close', 'triton', /socket hang up|ECONNRESET/u],
] as const)('a published client meets the fault %s', async (fault, client, problem) => {
  await user.shell('head -c 100000 /dev/zero > for-faults');
  await shell(daily.mput);
  await user.shell(`cloud local faults add ${fault} -q`);
  const { code, text } = await tell(`${daily[client]} > got`);
  const injected = await user.json<{ injected: number }[]>('local', 'faults', 'list');
  await user.shell('cloud local faults clear -q');
  expect([code === 0, text, (injected[0]?.injected ?? 0) > 0]).toEqual([false, expect.stringMatching(problem), true]);
  expect(await tell(`${daily[client]} > got`)).toMatchObject({ code: 0 });
});

test('mget takes what a cut leaves for the whole object: a test with that fault shows what becomes of it', async () => {
  await user.shell('head -c 100000 /dev/zero > for-faults');
  await shell(daily.mput);
  await user.shell('cloud local faults add getobject cut:100 -q');
  await shell(`${daily.mget} > got`);
  expect(Number((await user.shell('wc -c < got')).stdout)).toBeLessThan(100_000);
  await user.shell('cloud local faults clear -q');
});

test('triton sees stale reads', async () => {
  await user.shell('cloud local faults add listroles stale:10m -q; cloud roles create unseen -q');
  expect(await tell('triton rbac roles')).toMatchObject({ code: 0, text: expect.not.stringContaining('unseen') as string });
  await user.shell('cloud local faults clear -q');
  expect(await tell('triton rbac roles')).toMatchObject({ code: 0, text: expect.stringContaining('unseen') as string });
});

test.each([
  ['getobject stall:100', 'mget'],
  ['getobject latency:10m', 'mget'],
  ['putobject stall-upload:100', 'mput'],
  ['listkeys latency:10m', 'triton'],
] as const)('a published client that hangs by %s goes on when the fault is cleared', { timeout: 60_000 }, async (fault, client) => {
  await user.shell('head -c 100000 /dev/zero > for-faults');
  await shell(daily.mput);
  await user.shell(`cloud local faults add ${fault} -q`);
  const running = tell(`${daily[client]} > got`);
  while ((await user.json<{ injected: number }[]>('local', 'faults', 'list'))[0]?.injected === 0);
  await user.shell('cloud local faults clear -q');
  expect(await running).toMatchObject({ code: 0 });
});

test('published clients go on whatever time it is, and are refused when their clock is too far off', { timeout: 60_000 }, async () => {
  const lines = [daily.mls, daily.triton, daily.cloud];
  for (const change of ['advance 2h', 'advance 400d', 'set 2038-01-19T03:14:08Z']) {
    await user.shell(`cloud local clock ${change} -q`);
    for (const line of [...lines, daily.mput, daily.mget]) expect(await tell(`${line} > got`)).toMatchObject({ code: 0 });
  }
  await user.shell('cloud local clock reset -q');
  for (const [skew, isRefused] of [
    ['290s', false],
    ['310s', true],
  ] as const) {
    await user.shell(`cloud local clock skew ${skew} -q`);
    for (const line of lines) expect([line, (await tell(`${line} > got`)).code !== 0]).toEqual([line, isRefused]);
  }
  await user.shell('cloud local clock reset -q');
  expect(await tell(daily.mls)).toMatchObject({ code: 0 });
});
