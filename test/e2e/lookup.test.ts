import { chmodSync, readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useLocal } from '../support/sandbox.ts';
import { openShell, type ShellSession } from '../support/shell-session.ts';

const program = resolve(import.meta.dirname, '../../bin/cloud');
/** Names that a shell must be given quoted. */
const oddKey = `it's $HOME "a;b" \\ (new)`;
const oddEnd = 'two! of it !!';
const oddObject = `odd $x 'y' "z" \\w`;

const installations = {
  bash: ['source <(cloud completion bash)'],
  zsh: ['mkdir -p $HOME/functions; fpath=($HOME/functions $fpath)', 'cloud completion zsh > "${fpath[1]}/_cloud"', 'compinit -u -D'],
  fish: ['cloud completion fish | source'],
};
const shells = Object.keys(installations) as (keyof typeof installations)[];

/** Words before Tab, and the command line after it. */
const completed: readonly (readonly [string, string])[] = [
  ['cloud images get ub', 'cloud images get ubuntu-24.04 '],
  ['cloud images get debian-12@202506', 'cloud images get debian-12@20250615 '],
  ['cloud images get 61fd', 'cloud images get 61fd44f6-b986-44cb-ab14-31249df98718 '],
  ['cloud keys get lap', 'cloud keys get laptop '],
  ['cloud keys delete -y laptop wor', 'cloud keys delete -y laptop work '],
  ['cloud keys delete -- wor', 'cloud keys delete -- work '],
  ['cloud packages get g1-mic', 'cloud packages get g1-micro '],
  ['cloud services get sto', 'cloud services get storage '],
  ['cloud stor get ph', 'cloud stor get photos/'],
  ['cloud stor get photos/20', 'cloud stor get photos/202'],
  ['cloud stor ls photos/2024', 'cloud stor ls photos/2024/'],
  ['cloud stor get photos/2024/o', 'cloud stor get photos/2024/one.jpg '],
  ['cloud stor ls stor:pho', 'cloud stor ls stor:photos/'],
  ['cloud stor ls ~~/stor/pho', 'cloud stor ls ~~/stor/photos/'],
  ['cloud stor ls /de', 'cloud stor ls /demo/'],
  ['cloud stor ls /demo/stor/pho', 'cloud stor ls /demo/stor/photos/'],
  ['cloud api GET /my/serv', 'cloud api GET /my/services '],
  ['cloud api GET /my/keys/lap', 'cloud api GET /my/keys/laptop '],
  ['cloud --profile local images get ub', 'cloud --profile local images get ubuntu-24.04 '],
  ['cloud --profile nonsense images get ub', 'cloud --profile nonsense images get ub'],
  ['cloud stor ls many/n0000', 'cloud stor ls many/n0000'],
];

describe.each(shells)('looked-up values in %s', (shell) => {
  const sandbox = useLocal();
  let session: ShellSession | undefined;
  const calls = join(sandbox.home, 'calls');

  async function press(keys: string) {
    if (session === undefined) throw new Error(`${shell} did not start`);
    return await session.type(keys);
  }

  beforeAll(async () => {
    const file = join(sandbox.home, 'id');
    for (const [at, name] of ['laptop', 'work', oddKey, oddEnd].entries()) {
      execFileSync('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', '', '-f', `${file}${at}`]);
      await sandbox.cloud(['keys', 'create', `${file}${at}.pub`, '--name', name]);
    }
    await sandbox.cloud(['stor', 'mkdir', '-p', 'photos/2024', 'photos/2023', 'a folder/in it']);
    for (const path of ['photos/2024/one.jpg', `photos/${oddObject}`, 'a folder/in it/x'])
      await sandbox.cloud(['stor', 'put', '-', path], { input: 'x' });
    const script = sandbox.write(
      'bin/cloud',
      `#!/bin/sh\nprintf '%s\\n' "$#" "$@" >> "${calls}"\nexec "${process.execPath}" "${program}" "$@"\n`,
    );
    chmodSync(script, 0o755);
    session = await openShell(shell, { env: sandbox.env, cwd: sandbox.home, setUp: installations[shell] });
  }, 60_000);
  afterAll(async () => await session?.close());

  /** The last command line that the program was called with, other than for completion. */
  function lastCall(): string[] {
    const lines = readFileSync(calls, 'utf8').trimEnd().split('\n');
    let call: string[] = [];
    while (lines.length > 0) {
      const words = lines.splice(0, Number(lines.shift()));
      if (words[0] !== '__complete') call = words;
    }
    return call;
  }

  it.each(completed)('completes "%s" to "%s"', async (typed, line) => {
    expect((await press(`${typed}\t`)).line.trimEnd()).toBe(line.trimEnd());
  });

  it.each([
    ['cloud keys get it\t\n', ['keys', 'get', oddKey]],
    [`cloud keys get "it\t\n`, ['keys', 'get', oddKey]],
    [`cloud keys get it\\'s\\ \t\n`, ['keys', 'get', oddKey]],
    ['cloud keys get tw\t\n', ['keys', 'get', oddEnd]],
    ['cloud keys get "tw\t\n', ['keys', 'get', oddEnd]],
    ["cloud keys get 'tw\t\n", ['keys', 'get', oddEnd]],
    [`cloud stor stat photos/odd\t\n`, ['stor', 'stat', `photos/${oddObject}`]],
    [`cloud stor stat 'photos/odd\t\n`, ['stor', 'stat', `photos/${oddObject}`]],
    [`cloud stor stat photos/odd\\ \\$x\t\n`, ['stor', 'stat', `photos/${oddObject}`]],
    [`cloud stor stat a\t\t\t\n`, ['stor', 'stat', 'a folder/in it/x']],
  ])('%j reaches the program as %j', async (keys, words) => {
    await press(keys);
    expect(lastCall()).toEqual(words);
  });
});
