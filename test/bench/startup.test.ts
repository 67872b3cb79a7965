import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { median, report } from '../support/figures.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

/** Start-up of the program as ratios to bare `node`: medians of runs that take turns, each beside one of bare node. */

const user = useLocal();
const program = resolve(import.meta.dirname, '../../bin/cloud');
const rounds = scale(5, 61);
const release = Number(process.versions.node.split('.')[0]);
/** An instance of the samples that images can be made of. */
const instance = '6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001';
const imageCount = 100;

/** What is started, and the largest ratio that is promised. */
interface Start {
  readonly name: string;
  readonly words: readonly string[];
  readonly most?: number;
  /** Run before each measurement. */
  readonly before?: () => void;
}

/** Milliseconds of a whole process. */
function time(words: readonly string[]): number {
  const started = performance.now();
  const { status, stderr } = spawnSync(process.execPath, words, { env: user.env, cwd: user.home });
  expect([words, status, stderr.toString()]).toEqual([words, 0, '']);
  return performance.now() - started;
}

/** Milliseconds of a start, and of bare node just before it: what else the machine does changes from second to second. */
interface Pair {
  readonly bare: number;
  readonly ours: number;
}

/** Several starts that take turns; each was made once before, so that what is kept for later runs is there. */
function measure(): Pair[][] {
  for (const { words } of starts) time([program, ...words]);
  const pairs = starts.map((): Pair[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [at, { words, before }] of starts.entries()) {
      before?.();
      pairs[at]?.push({ bare: time(['-e', '0']), ours: time([program, ...words]) });
    }
  }
  return pairs;
}

function dropAnswers(): void {
  rmSync(join(user.home, '.cache/cloud/completion'), { recursive: true, force: true });
}

/** A request over TLS: the whole of it, in a process of its own. */
const request = 2.4;

/** In the order of what a command does: each start does a little more than the one before. */
const starts: readonly Start[] = [
  { name: 'start: cloud --version', words: ['--version'], most: 1.2 },
  { name: 'and text: cloud --help', words: ['--help'], most: 1.2 },
  { name: 'and parsing: cloud images list --help', words: ['images', 'list', '--help'] },
  { name: 'and settings, a table: cloud profile list', words: ['profile', 'list'] },
  { name: 'and a signature: cloud images list --curl', words: ['images', 'list', '--curl'] },
  { name: 'and a request over TLS: cloud images list --name none', words: ['images', 'list', '--name', 'none'] },
  { name: `all of it: cloud images list, ${imageCount} images`, words: ['images', 'list'], most: request },
  { name: 'completion, looked up over TLS', words: ['__complete', 'image', 'ub'], before: dropAnswers },
  { name: 'completion, from the cache', words: ['__complete', 'image', 'ub'], most: 1.6 },
];

/** What a script has to do for the same answer, with the modules of Node.js alone: no profile, no checks, no table. */
const script = `
const { createPrivateKey, sign } = require('node:crypto');
const { readFileSync } = require('node:fs');
const { get } = require('node:https');
const [url, ca, keyFile, keyId] = process.argv.slice(2);
const date = new Date().toUTCString();
const signature = sign('sha256', Buffer.from(date), createPrivateKey(readFileSync(keyFile))).toString('base64');
const authorization = 'Signature keyId="' + keyId + '",algorithm="rsa-sha256" ' + signature;
get(url, { ca: readFileSync(ca), headers: { date, authorization, 'accept-version': '*' } }, (response) => {
  process.exitCode = response.statusCode === 200 ? 0 : 1;
  response.pipe(process.stdout);
});
`;

/** The whole command and the script, in turn. */
function measureBesideScript(): { ours: number; script: number } {
  const { computeUrl, caFile, keyFile, keyId, account } = user.local;
  const file = join(user.home, 'request.cjs');
  writeFileSync(file, script);
  const words = [file, `${computeUrl}/${account}/images`, caFile, keyFile, `/${account}/keys/${keyId}`];
  const times: { ours: number; script: number }[] = [];
  for (let round = 0; round < rounds; round += 1) times.push({ script: time(words), ours: time([program, 'images', 'list']) });
  return { ours: median(times.map(({ ours }) => ours)), script: median(times.map((each) => each.script)) };
}

test('start-up', { timeout: 300_000 }, async () => {
  expect(user.env['NODE_EXTRA_CA_CERTS']).toBeUndefined();
  const { length } = await user.json<object[]>('images', 'list');
  const line = `seq ${length + 1} ${imageCount} | xargs -P4 -I{} cloud images create ${instance} bench{} 1.0.0 -q`;
  await user.shell(line);
  await user.shell('cloud images list --state creating -o name | xargs -r cloud images wait -q');
  expect(await user.json<object[]>('images', 'list')).toHaveLength(imageCount);
  const measured = measure();
  for (const [at, { name, most }] of starts.entries()) {
    const pairs = measured[at] ?? [];
    const [ours, bare] = [median(pairs.map((pair) => pair.ours)), median(pairs.map((pair) => pair.bare))];
    report('bench', {
      name: `${name} (Node.js ${release})`,
      ours: `${ours.toFixed(0)} ms`,
      theirs: `node -e 0: ${bare.toFixed(0)} ms`,
      ratio: ours / bare,
      ...(most !== undefined && { most }),
    });
  }
  const { ours, script: theirs } = measureBesideScript();
  report('bench', {
    name: `the same beside a script with node:https (Node.js ${release})`,
    ours: `${ours.toFixed(0)} ms`,
    theirs: `script: ${theirs.toFixed(0)} ms`,
    ratio: ours / theirs,
  });
});
