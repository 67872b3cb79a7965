import { spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useSandbox } from '../support/sandbox.ts';

const user = useSandbox();
const isRoot = process.getuid?.() === 0;
const nobody = 65_534;

let outside: string;
let decoy: ChildProcess;

beforeAll(() => {
  outside = join(user.home, 'outside');
  decoy = spawn('sleep', ['600'], { stdio: 'ignore' });
});
afterAll(() => {
  decoy.kill('SIGKILL');
});

/** Everything below a folder: what it is, and what is in it. */
function describeTree(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((name) => {
      const path = join(folder, name);
      const stats = lstatSync(path);
      return `${name} ${stats.mode} ${stats.uid} ${stats.isFile() ? readFileSync(path, 'utf8') : ''}`;
    });
}

/** What somebody planted in the data directory before its user's first start; the rest of it is the user's own. */
const planted: [what: string, plant: (data: string) => void][] = [
  ['a directory that everybody can write to', (data) => chmodSync(data, 0o777)],
  ['a directory that its group can write to', (data) => chmodSync(data, 0o770)],
  [
    'a link in the place of the directory',
    (data) => {
      rmSync(data, { recursive: true });
      symlinkSync(join(outside, 'folder'), data);
    },
  ],
  [
    'a file in the place of the directory',
    (data) => {
      rmSync(data, { recursive: true });
      writeFileSync(data, 'x');
    },
  ],
  ...['keys', 'tls', 'bytes', 'tmp', 'zones'].map((name): [string, (data: string) => void] => [
    `a link for ${name}`,
    (data) => symlinkSync(join(outside, 'folder'), join(data, name)),
  ]),
  ...['cloud.pid', 'service.log', 'run.json', 'cloud.db', 'peer.secret'].map((name): [string, (data: string) => void] => [
    `a link for ${name}`,
    (data) => symlinkSync(join(outside, 'file'), join(data, name)),
  ]),
  ['a link to nothing for service.log', (data) => symlinkSync(join(outside, 'new'), join(data, 'service.log'))],
  [
    'keys that everybody can write to',
    (data) => {
      mkdirSync(join(data, 'keys'));
      chmodSync(join(data, 'keys'), 0o777);
    },
  ],
  [
    'a link for the key',
    (data) => {
      mkdirSync(join(data, 'keys'), { mode: 0o700 });
      symlinkSync(join(outside, 'file'), join(data, 'keys/demo.pem'));
    },
  ],
  ...(isRoot
    ? ([
        ['a directory of another user', (data) => chownSync(data, nobody, nobody)],
        [
          'a key file of another user, which would receive the new key',
          (data) => {
            mkdirSync(join(data, 'keys'), { mode: 0o700 });
            writeFileSync(join(data, 'keys/demo.pem'), '', { mode: 0o600 });
            chownSync(join(data, 'keys/demo.pem'), nobody, nobody);
          },
        ],
        [
          'a run.json of another user, which names a process of this one',
          (data) => {
            writeFileSync(join(data, 'run.json'), JSON.stringify({ pid: decoy.pid, computeUrl: 'https://localhost:1', instance: 'x' }));
            chownSync(join(data, 'run.json'), nobody, nobody);
          },
        ],
      ] satisfies [string, (data: string) => void][])
    : []),
];

const ports = ['--compute-port', '0', '--stor-port', '0'];
const commands = [['start', ...ports], ['serve', ...ports], ['status'], ['logs'], ['seed'], ['stop'], ['reset', '-y']];

/** Each directory is tried by a start and two others in turn: all have one way in. */
function chooseCommands(what: string): string[][] {
  const turn = planted.findIndex(([name]) => name === what) * 2;
  const [start = [], ...others] = commands;
  return [start, ...[turn, turn + 1].map((at) => others[at % others.length] ?? [])];
}

describe('a data directory that somebody else prepared is refused in one line, and nothing outside of it is touched', () => {
  test.each(planted)('%s', async (what, plant) => {
    rmSync(outside, { recursive: true, force: true });
    mkdirSync(join(outside, 'folder'), { recursive: true, mode: 0o777 });
    writeFileSync(join(outside, 'file'), 'of somebody else', { mode: 0o666 });
    const data = join(user.home, 'data');
    rmSync(data, { recursive: true, force: true });
    mkdirSync(data, { mode: 0o700 });
    plant(data);
    const before = [describeTree(outside), existsSync(data) && lstatSync(data).isDirectory() ? describeTree(data) : []];
    const outcomes = await Promise.all(
      chooseCommands(what).map(async (words) => {
        const argv = ['local', ...words, '--data', data];
        // The service is a process, whether `start` makes it or not.
        return { words, ...(await (words[0] === 'serve' ? user.cloud(argv) : user.here(argv))) };
      }),
    );
    for (const { words, code, stdout, stderr } of outcomes) {
      expect([words[0], code, stdout, stderr]).toEqual([
        words[0],
        2,
        '',
        expect.stringMatching(
          /^cloud local .*: data directory \S+ is not safe to use: [^\n]*\nhint: choose another directory with --data DIR\n$/u,
        ),
      ]);
    }
    expect([describeTree(outside), existsSync(data) && lstatSync(data).isDirectory() ? describeTree(data) : []]).toEqual(before);
    expect([decoy.exitCode, decoy.signalCode]).toEqual([null, null]);
  });
});

test('a directory of another user is refused by whoever is not that user', async () => {
  // For root there is one that was made for the test, for others any of the system's.
  const data = isRoot ? join(user.home, 'foreign') : '/etc';
  if (isRoot) {
    mkdirSync(data, { mode: 0o755 });
    chownSync(data, nobody, nobody);
  }
  const { code, stderr } = await user.here(['local', 'start', ...ports, '--data', data]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`${data} belongs to another user (uid `)]);
});

test('one of the own, also one that was made beforehand, is used', async () => {
  const data = join(user.home, 'own');
  mkdirSync(data, { mode: 0o755 });
  const { code } = await user.here(['local', 'start', ...ports, '--data', data, '-j']);
  try {
    expect(code).toBe(0);
    expect(lstatSync(join(data, 'keys/demo.pem')).mode & 0o077).toBe(0);
    expect((await user.here(['local', 'status', '-j', '--data', data])).stdout).toContain('"running":true');
  } finally {
    expect((await user.here(['local', 'stop', '--data', data])).code).toBe(0);
  }
});
