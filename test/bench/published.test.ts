import { randomBytes } from 'node:crypto';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { measureRun } from '../support/measured-run.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

/**
 * The same work by the clients that have been published for these services, against the same service:
 * `npm i --prefix DIR triton manta`, then `CLOUD_PUBLISHED=DIR npm run bench`. Without them nothing here runs.
 */

const modules = join(process.env['CLOUD_PUBLISHED'] ?? '', 'node_modules');
const user = useLocal();
const rounds = scale(1, 7);
const files = scale(20, 200);
const client = ['mls', 'mput', 'mget', 'msync'] as const;

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function readVersion(name: string): string {
  const { version } = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')) as { version: string };
  return `${name} ${version}`;
}

/** What a shell needs to know of them: their commands, and whose key signs. */
let settings = '';

beforeAll(async () => {
  const missing = ['triton', 'manta'].filter((name) => !existsSync(join(modules, name)));
  if (missing.length > 0) throw new Error(`not installed in ${modules}: ${missing.join(', ')}`);
  const { local, home } = user;
  mkdirSync(join(home, '.ssh'), { mode: 0o700 });
  copyFileSync(local.keyFile, join(home, '.ssh', 'key'));
  chmodSync(join(home, '.ssh', 'key'), 0o600);
  await user.shell('ssh-keygen -y -f .ssh/key > .ssh/key.pub');
  const names = { URL: ['TRITON', local.computeUrl], ACCOUNT: ['TRITON', local.account], USER: ['MANTA', local.account] };
  settings = [
    ...Object.entries(names).map(([name, [prefix, value]]) => `export ${prefix}_${name}='${value}'`),
    `export MANTA_URL='${local.storUrl}' TRITON_KEY_ID='${local.keyId}' MANTA_KEY_ID='${local.keyId}' TRITON_PROFILE=env`,
    `export NODE_EXTRA_CA_CERTS='${local.caFile}' NODE_NO_WARNINGS=1`,
    ...client.map((name) => `${name}() { '${process.execPath}' '${join(modules, 'manta', 'bin', name)}' "$@"; }`),
    `triton() { '${process.execPath}' '${join(modules, 'triton', 'bin', 'triton')}' "$@"; }`,
    '',
  ].join('\n');
  mkdirSync(join(home, 'tree'));
  for (let number = 0; number < files; number += 1) writeFileSync(join(home, 'tree', `file${number}`), randomBytes(4096));
  writeFileSync(join(home, 'small'), randomBytes(4096));
  writeFileSync(join(home, 'large'), randomBytes(scale(16, 256) * 1024 * 1024));
  const { code, stderr } = await user.shell('cloud stor put large small stor: -q && cloud stor mkdir theirs -q');
  if (code !== 0) throw new Error(stderr);
});

test.each([
  ['list images', 'cloud images list', 'triton images'],
  ['list a directory', 'cloud stor ls', 'mls "/$MANTA_USER/stor"'],
  ['put an object of 4 KiB', 'cloud stor put small ours -q', 'mput -q -f small "/$MANTA_USER/stor/theirs/small"'],
  [
    'get an object of 4 KiB',
    'cloud stor get small back -q && cmp small back',
    'mget -q "/$MANTA_USER/stor/small" > back && cmp small back',
  ],
  ['put a large object', 'cloud stor put large ours-large -q', 'mput -q -f large "/$MANTA_USER/stor/theirs/large"'],
  ['get a large object', 'cloud stor get large back -q && cmp large back', 'mget -q "/$MANTA_USER/stor/large" > back && cmp large back'],
  [`sync ${files} files of 4 KiB`, 'cloud stor sync tree stor:tree-$ROUND -q', 'msync -q tree "/$MANTA_USER/stor/theirs/tree-$ROUND"'],
  [`sync ${files} files again`, 'cloud stor sync tree stor:tree-0 -q', 'msync -q tree "/$MANTA_USER/stor/theirs/tree-0"'],
])('%s', { timeout: 600_000 }, async (what, ours, theirs) => {
  const seconds: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    seconds[0].push((await measureRun(user, `ROUND=${round}; ${ours}`)).seconds);
    const started = performance.now();
    const { code, stderr } = await user.shell(`${settings}ROUND=${round}; ${theirs}`);
    expect([theirs, code, stderr]).toEqual([theirs, 0, '']);
    seconds[1].push((performance.now() - started) / 1000);
  }
  const [own, other] = [median(seconds[0]), median(seconds[1])];
  report('bench', {
    name: `${what}; ${readVersion(ours.startsWith('cloud images') ? 'triton' : 'manta')}`,
    ours: `${Math.round(own * 1000)} ms`,
    theirs: `${Math.round(other * 1000)} ms`,
    ratio: own / other,
    most: 1,
  });
});
