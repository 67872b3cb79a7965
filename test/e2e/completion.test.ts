import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useSandbox, type Sandbox } from '../support/sandbox.ts';
import { lacks } from '../support/witnesses.ts';
import { openShell, type ShellSession } from '../support/shell-session.ts';

const program = resolve(import.meta.dirname, '../../bin/cloud');
const odd = `it's $5 \\ "a;b" (new).pub`;

/** The one line that installs the completion, as the help of `cloud completion SHELL` has it. */
const installations = {
  bash: ['source <(cloud completion bash)'],
  zsh: ['fpath=($HOME/functions $fpath)', 'cloud completion zsh > "${fpath[1]}/_cloud"', 'compinit -u -D'],
  fish: ['cloud completion fish | source'],
};
const shells = Object.keys(installations) as (keyof typeof installations)[];

/** Words before Tab, and the command line after it. */
const completed: readonly (readonly [string, string])[] = [
  ['cloud im', 'cloud images '],
  ['cloud image l', 'cloud image list '],
  ['cloud images sho', 'cloud images show '],
  ['cloud -o json images li', 'cloud -o json images list '],
  ['cloud -o json --profile work im', 'cloud -o json --profile work images '],
  ['cloud -ojson im', 'cloud -ojson images '],
  ['cloud -qlo json im', 'cloud -qlo json images '],
  ['cloud --output=json im', 'cloud --output=json images '],
  ['cloud --key-id SHA256:abc= im', 'cloud --key-id SHA256:abc= images '],
  ['cloud --url https://cloud.example.com:8443/ im', 'cloud --url https://cloud.example.com:8443/ images '],
  ['cloud account config se', 'cloud account config set '],
  ['cloud images list --stat', 'cloud images list --state '],
  ['cloud roles update dev --add-m', 'cloud roles update dev --add-member '],
  ['cloud images --out', 'cloud images --output '],
  ['cloud --vers', 'cloud --version '],
  ['cloud images list --state dis', 'cloud images list --state disabled '],
  ['cloud images list --state=dis', 'cloud images list --state=disabled '],
  ['cloud images list -j --state active -o js', 'cloud images list -j --state active -o json'],
  ['cloud images list --color=nev', 'cloud images list --color=never '],
  ['cloud api -f name=images --inc', 'cloud api -f name=images --include '],
  ['cloud api /my/images --inc', 'cloud api /my/images --include '],
  ['cloud help im', 'cloud help images '],
  ['cloud help exi', 'cloud help exit-codes '],
  ['cloud help account config se', 'cloud help account config set '],
  ['cloud completion z', 'cloud completion zsh '],
  ['cloud profile use wo', 'cloud profile use work '],
  ['cloud --profile wo', 'cloud --profile work '],
  ['cloud keys create plai', 'cloud keys create plain.pub '],
  ['cloud keys create -j -o json plai', 'cloud keys create -j -o json plain.pub '],
  ['cloud keys create --attestation plai', 'cloud keys create --attestation plain.pub '],
  ['cloud local start --data a\\ f', 'cloud local start --data a\\ folder/'],
  ['cloud images get plai', 'cloud images get plai'],
  ['cloud nonsense plai', 'cloud nonsense plai'],
  ['cloud ping images li', 'cloud ping images li'],
  ['cloud images list -- --stat', 'cloud images list -- --stat'],
];

/** Words before Tab, what must be offered then, and what must not. */
const offered: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ['cloud ', ['account', 'keys', 'images', 'stor', 'completion', 'help'], ['image', 'storage', '--output', 'plain.pub']],
  ['cloud images ', ['list', 'get'], ['ls', 'show', '--state']],
  ['cloud -o json images ', ['list', 'get'], ['json', 'images']],
  ['cloud images list --st', ['--state', '--stor-url'], ['--output']],
  ['cloud images list --state ', ['active', 'unactivated', 'disabled', 'failed', 'all'], ['--state', 'plain.pub']],
  ['cloud -o ', ['table', 'json', 'jsonl', 'yaml', 'csv', 'tsv', 'name'], ['images', '-o', 'plain.pub']],
  ['cloud images list --c', ['--color', '--columns', '--curl', '--ca'], ['--copies']],
  ['cloud help s', ['stor', 'services', 'signing', 'scripting'], ['storage', 'images']],
  ['cloud profile use ', ['home', 'work'], ['plain.pub']],
];

/** A `cloud` that writes down how it was called, and then is the real one. */
function watchCalls(sandbox: Sandbox): { list: () => string[][] } {
  const file = join(sandbox.home, 'calls');
  const script = sandbox.write(
    'bin/cloud',
    `#!/bin/sh\nprintf '%s\\n' "$#" "$@" >> "${file}"\nexec "${process.execPath}" "${program}" "$@"\n`,
  );
  chmodSync(script, 0o755);
  return {
    list: () => {
      const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
      const calls: string[][] = [];
      while (lines.length > 0) calls.push(lines.splice(0, Number(lines.shift())));
      return calls;
    },
  };
}

for (const shell of shells)
  describe.skipIf(lacks(shell))(`completion in ${shell}`, () => {
    testCompletion(shell);
  });

describe.skipIf(lacks('fish'))('the script of fish', () => {
  const sandbox = useSandbox();

  it('has no line that fish refuses', async () => {
    const { code, stderr } = await sandbox.shell(`fish --no-config -c 'cloud completion fish | source'`);
    expect([code, stderr]).toEqual([0, '']);
  });
});

function testCompletion(shell: keyof typeof installations): void {
  const sandbox = useSandbox();
  const calls = watchCalls(sandbox);
  let session: ShellSession | undefined;

  async function press(keys: string) {
    if (session === undefined) throw new Error(`${shell} did not start`);
    return await session.type(keys);
  }

  /** The words that are offered at the end of a line: what the terminal lists; fish tells it by a command of its own. */
  async function offer(line: string): Promise<string[]> {
    const { lines } = await press(shell === 'fish' ? `complete -C '${line}'\n` : `${line}\t`);
    const isTable = shell === 'bash' || !lines.some((each) => each.includes(' -- '));
    return lines.flatMap((each) => (isTable && shell !== 'fish' ? each.trim().split(/\s+/) : [each.trim().split(/\s/)[0] ?? '']));
  }

  beforeAll(async () => {
    for (const file of ['plain.pub', odd, 'a folder/file', 'a file', 'functions/empty']) sandbox.write(file, '');
    for (const name of ['home', 'work']) sandbox.write(`.config/cloud/profiles/${name}.json`, '{}');
    session = await openShell(shell, { env: sandbox.env, cwd: sandbox.home, setUp: installations[shell] });
  });
  afterAll(async () => await session?.close());

  it.each(completed)('completes "%s" to "%s"', async (typed, line) => {
    // Shells differ in what they add for the next word: a space, nothing, or (zsh, for a value) a = that a space replaces.
    expect((await press(`${typed}\t`)).line.replace(/[ =]$/, '')).toBe(line.trimEnd());
  });

  it.each(offered)('after "%s" offers %j and not %j', async (typed, words, others) => {
    const found = await offer(typed);
    for (const word of words) expect(found).toContain(word);
    for (const word of others) expect(found).not.toContain(word);
  });

  it('with an empty HOME looks for profiles in no folder that can exist', () => {
    const script = resolve(import.meta.dirname, '../../completions', { bash: 'cloud.bash', zsh: '_cloud', fish: 'cloud.fish' }[shell]);
    const line = shell === 'fish' ? '__cloud_config' : '_cloud_config; echo $config';
    const words = [
      ...(shell === 'fish' ? ['--no-config'] : []),
      '-c',
      `source ${script} 2>/dev/null; ${shell === 'fish' ? 'set HOME ""' : 'HOME='}; ${line}`,
    ];
    const folder = execFileSync(shell, words, { encoding: 'utf8', env: { PATH: process.env['PATH'], HOME: sandbox.home } });
    expect(folder).toBe('/dev/null/.config/cloud\n');
  });

  // fish leaves it to itself what it offers again, and bash shows no descriptions.
  if (shell !== 'fish') {
    it('does not offer an option again, unless it may be repeated', async () => {
      const found = await offer('cloud images list -o json --state all --columns id -v --');
      for (const word of ['--output', '--state', '--columns']) expect(found).not.toContain(word);
      for (const word of ['--verbose', '--name', '--json']) expect(found).toContain(word);
    });
  }
  if (shell !== 'bash') {
    it('shows what a word is for', async () => {
      const { lines } = await press(shell === 'fish' ? `complete -C 'cloud images list --st'\n` : 'cloud images list --st\t');
      expect(lines.join('\n')).toMatch(/--state\s+(?:-- )?Filter by state/);
    });
  }

  it('starts no process, and what it completes reaches the program intact', async () => {
    const before = calls.list().length;
    await press(`cloud keys create it\t --name it\t\n`);
    const made = calls.list();
    const [installing, ...asking] = made.slice(0, before);
    expect(installing?.[0]).toBe('completion');
    // Only what has to be looked up is asked for.
    const lookedUp = completed
      .filter(([line]) => line === 'cloud images get plai')
      .map(() => ['__complete', 'image', 'plai', 'images', 'get']);
    expect(asking).toEqual(lookedUp);
    expect(made.at(-1)).toEqual(['keys', 'create', odd, '--name', 'it']);
  });

  it('offers aliases of the user as the first word', async () => {
    sandbox.write('.config/cloud/aliases.json', JSON.stringify({ linux: 'images list --os linux', 'my-keys': 'keys list' }));
    for (const [typed, line] of [
      ['cloud lin', 'cloud linux'],
      ['cloud -o json my', 'cloud -o json my-keys'],
      ['cloud alias delete li', 'cloud alias delete linux'],
      ['cloud im', 'cloud images'],
    ] as const)
      expect((await press(`${typed}\t`)).line.trimEnd()).toBe(line);
    expect(await offer('cloud ')).toEqual(expect.arrayContaining(['images', 'linux', 'my-keys']));
  });
}
