import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { splitWords } from '../../src/config/aliases.ts';
import { writeRsaKeyFile } from '../support/rsa-keys.ts';
import { useShared } from '../support/shared-service.ts';
import { openTerminal, type TerminalSession } from '../support/terminal.ts';

const user = useShared('--http');
const open = (line: string, env: NodeJS.ProcessEnv = user.env): TerminalSession =>
  openTerminal(line, { env, cwd: user.home, columns: 120 });

/** Waits until no process has a word on its command line any more. */
async function waitForNone(word: string): Promise<void> {
  const runs = (pid: string): boolean => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word);
    } catch {
      return false;
    }
  };
  while (readdirSync('/proc').some((pid) => /^\d+$/.test(pid) && runs(pid))) await new Promise((resume) => void setTimeout(resume, 20));
}

/** Each question before something is deleted, and the line that ends with 0 as long as it is there. */
const questions: readonly (readonly [line: string, question: RegExp, there: string])[] = [
  ['users delete asked', /Delete user asked\? \[y\/N\] $/, 'users get asked'],
  ['users keys delete keyed mine', /Delete key mine of keyed\? \[y\/N\] $/, 'users keys get keyed mine'],
  ['stor rm q/object', /Delete \/demo\/stor\/q\/object\? \[y\/N\] $/, 'stor stat q/object'],
  ['stor rm -r q/tree', /Delete \/demo\/stor\/q\/tree and everything in it\? \[y\/N\] $/, 'stor stat q/tree/a'],
  ['stor find q/found --delete', /Delete all matches\? \[y\/N\] $/, 'stor stat q/found/a'],
  ['stor sync here stor:q/synced --delete', /Delete 1 entry of stor:\/demo\/stor\/q\/synced\? \[y\/N\] $/, 'stor stat q/synced/a'],
  ['rbac apply rbac.yaml --prune', /Delete .*policy asked.*\? \[y\/N\] $/, 'policies get asked'],
  ['stor snapshot delete q/kept@one', /Delete .*q\/kept@one\? \[y\/N\] $/, 'stor snapshot diff q/kept@one'],
];

beforeAll(async () => {
  user.write('rbac.yaml', 'version: "1"\npolicies: []\n');
  user.write('object', 'a');
  user.write('here/b', 'b');
  user.write('password', 'Passw0rd-of-mine\n');
  writeRsaKeyFile(join(user.home, 'mine'));
  for (const line of [
    'users create asked --email a@example.com --password-file password',
    'users create keyed --email a@example.com --password-file password',
    'users keys create keyed mine.pub --name mine',
    ...['object', 'tree/a', 'kept/a', 'found/a', 'synced/a', 'closed/a'].map((name) => `stor put -p object q/${name}`),
    `policies create asked --rule 'CAN listkeys'`,
    'stor snapshot create q/kept@one',
  ])
    await user.json(...splitWords(line));
});

/** What is typed instead of a yes, the exit code, and what is said. */
const refusals: readonly (readonly [keys: string, code: number, said: string])[] = [
  ['\r', 2, 'nothing was done'],
  ['\u0003', 130, 'interrupted'],
  ['n\r', 2, 'nothing was done'],
  ['yess\r', 2, 'nothing was done'],
  ['\u0004', 130, 'no answer'],
];

async function answer(line: string, question: RegExp, keys: string): Promise<readonly [keys: string, code: number | null, said: string]> {
  const session = open(`cloud ${line}`);
  await session.until(question);
  session.type(keys);
  const { code, text } = await session.end();
  return [keys, code, /: ([^:\n]+)\n$/.exec(text)?.[1] ?? ''];
}

test.each(questions)('cloud %s does nothing after another answer than yes, and all of it after yes', async (line, question, there) => {
  // One question has all the answers; they are read in one place.
  const tried = line.startsWith('stor rm q/object') ? refusals : refusals.slice(0, 2);
  expect(await Promise.all(tried.map(([keys]) => answer(line, question, keys)))).toEqual(tried);
  expect((await user.here(there.split(' '))).code).toBe(0);
  const [, code] = await answer(line, question, 'Y\r');
  expect(code).toBe(0);
  expect((await user.here(there.split(' '))).code).not.toBe(0);
});

test('a terminal that is closed at a question ends the command, and nothing is done', async () => {
  const closed = open('cloud stor rm -r q/closed');
  await closed.until(/and everything in it\? \[y\/N\] $/);
  closed.hangUp();
  await waitForNone('q/closed');
  expect((await user.here(['stor', 'stat', 'q/closed/a'])).code).toBe(0);
});

describe('profile create', () => {
  const profiles = (): string[] => readdirSync(join(user.home, '.config/cloud/profiles')).toSorted();

  test('asks again after an answer that cannot serve, and keeps nothing when it is interrupted at any question', async () => {
    const before = profiles();
    const bad = open('cloud profile create asking');
    for (const [question, answer, refusal] of [
      [/Address of the compute service: $/, 'htp://x\r', /"htp:\/\/x" is not the URL/],
      [/Address of the compute service: $/, '\r', /--url is required/],
      [/Address of the compute service: $/, `${user.local.computeUrl}\r`, undefined],
      [/Login of the account: $/, 'a b\r', /"a b" is not a login/],
      [/Login of the account: $/, 'demo\r', undefined],
      [/Fingerprint of the key: $|Key, by number or fingerprint.*: $/, '99\r', /"99" is not a fingerprint/],
    ] as const) {
      await bad.until(question);
      bad.type(answer);
      if (refusal) await bad.until(refusal);
    }
    await bad.until(/"99" is not a fingerprint[^]*: $/);
    bad.type('\u0004');
    expect((await bad.end()).code).toBe(130);
    for (const keys of ['\u0003', '\u0004']) {
      const first = open('cloud profile create asking');
      await first.until(/Address of the compute service: $/);
      first.type(keys);
      expect((await first.end()).code).toBe(130);
    }
    const closed = open('cloud profile create closed-while-asking');
    await closed.until(/Address of the compute service: $/);
    closed.hangUp();
    await waitForNone('closed-while-asking');
    expect(profiles()).toEqual(before);
  });
});

test('a passphrase that is wrong is said to be so, three times, and then how to do without', async () => {
  writeRsaKeyFile(join(user.home, 'locked'), { passphrase: 'sesame', pem: true });
  await user.here(['keys', 'create', 'locked.pub', '--name', 'locked', '-q']);
  const opened = open('cloud keys get locked --key-file locked -o name');
  await opened.until(/^Passphrase of .*locked: $/);
  opened.type('open\r');
  await opened.until(/Wrong passphrase\. Passphrase of .*locked: $/);
  opened.type('sesame\r');
  const right = await opened.end();
  expect([right.code, right.raw.includes('sesame')]).toEqual([0, false]);
  const shut = open('cloud keys get locked --key-file locked');
  for (const times of [1, 2, 3]) {
    await shut.until(new RegExp(`(Passphrase of [^]*){${times}}: $`));
    shut.type('open\r');
  }
  expect(await shut.end()).toMatchObject({ code: 4, text: expect.stringMatching(/wrong passphrase, 3 times\nhint: .*ssh-add /) as string });
});

test('names and links that move no bytes are not summed up as none', async () => {
  await user.line('cloud stor put -pq object m/a; cloud stor put -q object m/b');
  const shown = async (line: string): Promise<string> => (await open(line).end()).text;
  expect(await shown('cloud stor mv m/a m/c')).toBe('/demo/stor/m/a -> /demo/stor/m/c\n');
  expect(await shown('cloud stor cp -r m n')).toMatch(/(^|\n)[23] files in \d+ms\n$/);
});

describe('an editor at the terminal', () => {
  const edits = (): string[] => {
    const folder = join(user.home, '.local/state/cloud/edits');
    return existsSync(folder) ? readdirSync(folder) : [];
  };
  const editor = (script: string): NodeJS.ProcessEnv => ({
    ...user.env,
    VISUAL: '',
    EDITOR: `sh ${user.write(`editor-${String(script.length)}.sh`, script)}`,
  });

  beforeAll(async () => {
    await user.here(['policies', 'create', 'edited', '--rule', 'CAN listkeys', '-q']);
  });

  test('is opened again with the reason above a text that is refused, as often as it is changed', async () => {
    const env = editor(
      'echo run >> runs\ncase $(grep -c run runs) in 1) sed -i s/CAN/CANN/ "$1";; *) grep "^# ! " "$1" > reason; sed -i s/CANN/CAN/ "$1"; sed -i s/listkeys/getkey/ "$1";; esac\n',
    );
    const session = open('cloud policies edit edited', env);
    expect(await session.end()).toMatchObject({ code: 0 });
    expect(readFileSync(join(user.home, 'reason'), 'utf8')).toMatch(/^# ! .+/);
    expect(readFileSync(join(user.home, 'runs'), 'utf8')).toBe('run\nrun\n');
    expect(await user.json('policies', 'get', 'edited')).toMatchObject({ rules: ['CAN getkey'] });
    expect(edits()).toEqual([]);
  });

  test('that fails, or that Ctrl-C ends, changes nothing', async () => {
    const failed = await open('cloud policies edit edited', editor('sed -i s/getkey/deletekey/ "$1"; exit 3\n')).end();
    expect([failed.code, failed.text]).toEqual([1, expect.stringMatching(/the editor \(.*\) ended with 3: nothing was done/)]);
    const session = open('cloud policies edit edited', editor('sed -i s/getkey/deletekey/ "$1"; echo editing; exec sleep 60\n'));
    await session.until(/editing/);
    session.type('\u0003');
    const { code } = await session.end();
    expect(code).toBe(130);
    expect(await user.json('policies', 'get', 'edited')).toMatchObject({ rules: ['CAN getkey'] });
  });
});
