import { chmodSync, readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerHere } from '../support/answer-here.ts';
import { useShared } from '../support/shared-service.ts';
import { openShell, type ShellSession } from '../support/shell-session.ts';
import { lacks } from '../support/witnesses.ts';

const program = resolve(import.meta.dirname, '../../bin/cloud');
/** Names that a shell must be given quoted. */
const oddKey = `it's $HOME "a;b" \\ (new)`;
const oddEnd = 'two! of it !!';
/** Names that end in a quotation mark. */
const endsInDouble = 'say "hi"';
const endsInSingle = "quoted 'so'";
const oddObject = `odd $x 'y' "z" \\w`;

const sandbox = useShared();
const calls = join(sandbox.home, 'calls');
/** The shells ask the same: what they are answered does not change. */
const answers = new Map<string, ReturnType<typeof sandbox.here>>();
const answer = answerHere({
  here: (words) => {
    const known = answers.get(words.join('\0')) ?? sandbox.here(words);
    answers.set(words.join('\0'), known);
    return known;
  },
});

beforeAll(async () => {
  const file = join(sandbox.home, 'id');
  for (const [at, name] of ['laptop', 'work', oddKey, oddEnd, endsInDouble, endsInSingle].entries()) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', '', '-f', `${file}${at}`]);
    await sandbox.here(['keys', 'create', `${file}${at}.pub`, '--name', name]);
  }
  await sandbox.here(['stor', 'mkdir', '-p', 'photos/2024', 'photos/2023', 'a folder/in it']);
  for (const path of ['photos/2024/one.jpg', `photos/${oddObject}`, 'a folder/in it/x', '/demo/stor/-dash', '/demo/stor/--dashes'])
    await sandbox.here(['stor', 'put', '-', path], { input: 'x' });
});

/** What is completed is looked up, by these lines; of what is run then, the words are looked at. */
function writeProgram(lines: string): void {
  const script = sandbox.write(
    'bin/cloud',
    `#!/usr/bin/env bash\nprintf '%s\\n' "$#" "$@" >> "${calls}"\ncase $* in *__complete*|*completion*) ${lines}\n;; esac\n`,
  );
  chmodSync(script, 0o755);
}

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
  ['cloud stor cp local/stor:pho', 'cloud stor cp local/stor:photos/'],
  ['cloud stor sync local/stor:photos/2024/o', 'cloud stor sync local/stor:photos/2024/one.jpg '],
  ['cloud stor ls ~~/stor/pho', 'cloud stor ls ~~/stor/photos/'],
  ['cloud stor ls /de', 'cloud stor ls /demo/'],
  ['cloud stor ls /demo/stor/pho', 'cloud stor ls /demo/stor/photos/'],
  ['cloud api GET /my/serv', 'cloud api GET /my/services '],
  ['cloud api GET /my/keys/lap', 'cloud api GET /my/keys/laptop '],
  ['cloud --profile local images get ub', 'cloud --profile local images get ubuntu-24.04 '],
  ['cloud --profile nonsense images get ub', 'cloud --profile nonsense images get ub'],
  ['cloud stor ls many/n0000', 'cloud stor ls many/n0000'],
];

/** An alias of the same name, as people have for the profile of their work. */
const aliases = {
  bash: "alias cloud='cloud --profile local'",
  zsh: "alias cloud='cloud --profile local'",
  fish: "alias cloud 'cloud --profile local'",
};

for (const shell of shells) {
  describe.skipIf(lacks(shell))(`looked-up values in ${shell}`, () => {
    testLookup(shell, []);
  });
  describe.skipIf(lacks(shell))(`looked-up values in ${shell} with an alias that is called cloud`, () => {
    testLookup(shell, [aliases[shell]]);
  });
}

/** With an alias, a few lines of each kind: the rest is the same functions of the shell. */
function choose<T>(lines: readonly T[], before: readonly string[]): readonly T[] {
  return before.length === 0 ? lines : lines.filter((_, at) => at % 6 === 0);
}

/** Command lines with Tab and Enter, and the words that the program is called with. */
const run: readonly (readonly [string, readonly string[]])[] = [
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
  [`cloud keys get "say\t\n`, ['keys', 'get', endsInDouble]],
  [`cloud keys get 'quo\t\n`, ['keys', 'get', endsInSingle]],
  [`cloud keys get say\t\n`, ['keys', 'get', endsInDouble]],
  // Half typed within double quotes, with what only a backslash keeps as it is there.
  [`cloud stor stat "photos/odd \\$x\t\n`, ['stor', 'stat', `photos/${oddObject}`]],
  [`cloud stor stat "photos/odd \\$x 'y' \\"z\\" \\\\\t\n`, ['stor', 'stat', `photos/${oddObject}`]],
  // A name that begins with a dash, after the end of the options.
  [`cloud stor stat -- -da\t\n`, ['stor', 'stat', '--', '-dash']],
  [`cloud stor stat -- --da\t\n`, ['stor', 'stat', '--', '--dashes']],
];

function testLookup(shell: keyof typeof installations, before: readonly string[]): void {
  let session: ShellSession | undefined;

  async function press(keys: string) {
    if (session === undefined) throw new Error(`${shell} did not start`);
    return await session.type(keys);
  }

  beforeAll(async () => {
    // Images are looked up by the built program too, in each shell.
    const built = `case $* in *__complete\\ image*|*completion*) exec "${process.execPath}" "${program}" "$@";; esac`;
    writeProgram(before.length > 0 ? `${built}; ${answer()}` : answer());
    session = await openShell(shell, { env: sandbox.env, cwd: sandbox.home, setUp: [...before, ...installations[shell]] });
  });
  afterAll(async () => await session?.close());

  it.each(choose(completed, before))('completes "%s" to "%s"', async (typed, line) => {
    expect((await press(`${typed}\t`)).line.trimEnd()).toBe(line.trimEnd());
  });

  it.each(choose(run, before))('%j reaches the program as %j', async (keys, words) => {
    await press(keys);
    expect(lastCall()).toEqual(before.length > 0 ? ['--profile', 'local', ...words] : words);
  });
}
