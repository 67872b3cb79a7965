import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';
import { lacks } from '../support/witnesses.ts';

const program = resolve(import.meta.dirname, '../../bin/cloud');

/** Set-up files of shells get one line, and are as they were after --uninstall. */

interface Form {
  readonly name: string;
  readonly make: (file: string, home: string) => void;
}

/** What a set-up file may be like before. */
const forms: readonly Form[] = [
  { name: 'no file', make: () => undefined },
  { name: 'an empty file', make: (file) => writeFileSync(file, '') },
  { name: 'a last line with an end', make: (file) => writeFileSync(file, 'alias x=y\n') },
  { name: 'a last line without an end', make: (file) => writeFileSync(file, 'alias x=y\nalias z=y') },
  { name: 'bytes that are not UTF-8', make: (file) => writeFileSync(file, Buffer.from('# \xe9t\xe9\nx=1\n', 'latin1')) },
  {
    name: 'a link into dotfiles, with permissions of its own',
    make: (file, home) => {
      writeFileSync(join(home, 'dotrc'), 'alias x=y\n');
      chmodSync(join(home, 'dotrc'), 0o640);
      symlinkSync('dotrc', file);
    },
  },
];

interface Seen {
  readonly content: string;
  readonly mode: number;
  readonly isLink: boolean;
}

function look(file: string): Seen | undefined {
  if (!existsSync(file)) return undefined;
  return { content: readFileSync(file, 'latin1'), mode: statSync(file).mode, isLink: lstatSync(file).isSymbolicLink() };
}

const kept = mkdtempSync(join(tmpdir(), 'cloud-completion-'));
afterAll(() => rmSync(kept, { recursive: true }));

/** A `cloud` whose scripts are printed by the program once, and then are those. */
const printsOnce = `#!/bin/sh
script="${kept}/$1-$2"
[ -s "$script" ] || { "${process.execPath}" "${program}" "$@" > "$script.$$" && mv "$script.$$" "$script"; }
exec cat "$script"
`;

async function withHome(work: (sandbox: Sandbox) => Promise<void>): Promise<void> {
  const { sandbox, remove } = createSandbox();
  sandbox.write('bin/cloud', printsOnce);
  try {
    await work(sandbox);
  } finally {
    remove();
  }
}

/** What zsh finds at a start without `cloud`, and keeps for those that follow. */
function keepFunctions(home: string): void {
  const dump = join(kept, 'zcompdump');
  if (!existsSync(dump))
    execFileSync('zsh', ['-fc', `autoload -Uz compinit && compinit -d ${dump}`], { env: { ...process.env, HOME: kept } });
  expect(/\b_cloud\b/u.test(readFileSync(dump, 'utf8')), 'cloud among what zsh has kept').toBe(false);
  copyFileSync(dump, join(home, '.zcompdump'));
}

/** How a new shell shows that it completes `cloud`. */
const checks = {
  bash: "bash -ic 'complete -p cloud' 2>/dev/null",
  zsh: "zsh -ic 'print -r -- $_comps[cloud]' 2>/dev/null",
} as const;

const variables: Readonly<Record<string, { env?: Record<string, string>; zshenv?: string; file: string; note?: string }>> = {
  'ZDOTDIR that is not set': { file: '.zshrc' },
  'an empty ZDOTDIR': { env: { ZDOTDIR: '' }, file: '.zshrc' },
  'a relative ZDOTDIR': { env: { ZDOTDIR: 'zsh' }, file: '.zshrc', note: 'not an absolute path' },
  'a ZDOTDIR with a blank': { env: { ZDOTDIR: '$HOME/z dot' }, file: 'z dot/.zshrc' },
  'a ZDOTDIR of ~/.zshenv that is not exported': { zshenv: 'ZDOTDIR=$HOME/zsh\n', file: 'zsh/.zshrc' },
};

for (const shell of ['bash', 'zsh'] as const)
  describe.skipIf(lacks(shell))(`completion ${shell} --install and --uninstall`, () => {
    const name = shell === 'bash' ? '.bashrc' : '.zshrc';

    it.each(forms)('$name: one line, again none, and then as it was', async ({ make }) => {
      await withHome(async (sandbox) => {
        const file = join(sandbox.home, name);
        make(file, sandbox.home);
        if (shell === 'zsh' && existsSync(file)) keepFunctions(sandbox.home);
        const before = look(file);
        const env = { XDG_DATA_HOME: join(sandbox.home, '.local/share') };
        const first = await sandbox.here(['completion', shell, '--install'], { env });
        expect(first).toMatchObject({ code: 0, stdout: '' });
        expect(first.stderr).toContain(`Added to ${file}: [ -r `);
        const installed = look(file);
        expect(installed?.content.startsWith(before?.content ?? '')).toBe(true);
        expect(installed?.content.match(/# cloud completion/g)).toHaveLength(1);
        expect((await sandbox.here(['completion', shell, '--install'], { env })).stderr).not.toContain('Added');
        expect(look(file)).toEqual(installed);
        expect((await sandbox.shell(checks[shell], { env })).stdout).toContain('_cloud');
        expect((await sandbox.here(['completion', shell, '--uninstall'], { env })).code).toBe(0);
        expect(look(file)).toEqual(before);
        expect((await sandbox.here(['completion', shell, '--uninstall'], { env })).stderr).toContain('was not installed');
      });
    });

    it('a failed installation leaves nothing, and shows the line', async () => {
      await withHome(async (sandbox) => {
        mkdirSync(join(sandbox.home, name));
        const { code, stderr } = await sandbox.here(['completion', shell, '--install']);
        expect(code).toBe(1);
        expect(stderr).toContain('nothing was installed');
        expect(stderr).toContain(`[ -r ${sandbox.home}/.local/share/`);
        expect(existsSync(join(sandbox.home, '.local/share/bash-completion/completions/cloud'))).toBe(false);
        expect(existsSync(join(sandbox.home, '.local/share/cloud/completion.zsh'))).toBe(false);
      });
    });

    it('a line that an earlier release wrote is replaced, and a file that is gone does no harm', async () => {
      await withHome(async (sandbox) => {
        const file = join(
          sandbox.home,
          shell === 'bash' ? '.local/share/bash-completion/completions/cloud' : '.local/share/cloud/completion.zsh',
        );
        const start = shell === 'bash' ? '' : '(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }; ';
        sandbox.write(name, `a=1\n${start}source ${file}\nb=2\n`);
        expect((await sandbox.here(['completion', shell, '--install'])).stderr).toContain('Replaced in');
        expect(readFileSync(join(sandbox.home, name), 'utf8')).toMatch(/^a=1\n\[ -r [^\n]* # cloud completion\nb=2\n$/);
        rmSync(file);
        expect((await sandbox.shell(`${shell} -ic 'echo "<$b>"' 2>&1`)).stdout).toContain('<2>');
        expect((await sandbox.shell(`${shell} -ic 'true' 2>&1`)).stdout).not.toContain('cloud');
        await sandbox.here(['completion', shell, '--uninstall']);
        expect(readFileSync(join(sandbox.home, name), 'utf8')).toBe('a=1\nb=2\n');
      });
    });
  });

describe.skipIf(lacks('zsh'))('completion zsh --install finds the folder that zsh uses', () => {
  it.each(Object.entries(variables))('with %s', async (_, { env = {}, zshenv, file, note }) => {
    await withHome(async (sandbox) => {
      const { home } = sandbox;
      for (const folder of ['zsh', 'z dot', 'elsewhere']) mkdirSync(join(home, folder));
      if (zshenv !== undefined) writeFileSync(join(home, '.zshenv'), zshenv);
      const given = Object.fromEntries(Object.entries(env).map(([key, value]) => [key, value.replace('$HOME', home)]));
      const options = { env: given, cwd: join(home, 'elsewhere') };
      const { code, stderr } = await sandbox.here(['completion', 'zsh', '--install'], options);
      expect([code, existsSync(join(home, file)), existsSync(join(home, 'elsewhere/.zshrc'))]).toEqual([0, true, false]);
      if (note !== undefined) expect(stderr).toContain(note);
      await sandbox.here(['completion', 'zsh', '--uninstall'], options);
      expect(existsSync(join(home, file))).toBe(false);
    });
  });
});

describe.skipIf(lacks('bash'))('completion bash --install', () => {
  it('trusts bash-completion only where a new bash loads it', async () => {
    await withHome(async (sandbox) => {
      sandbox.write('.bashrc', 'echo noise; _completion_loader() { :; }\n');
      expect((await sandbox.here(['completion', 'bash', '--install'])).stderr).not.toContain('Added');
      sandbox.write('.bashrc', 'echo noise\n');
      expect((await sandbox.here(['completion', 'bash', '--install'])).stderr).toContain('Added');
    });
  });
});

describe.skipIf(lacks('fish'))('completion fish', () => {
  it('--uninstall removes what --install put there', async () => {
    await withHome(async (sandbox) => {
      const file = join(sandbox.home, '.config/fish/completions/cloud.fish');
      await sandbox.here(['completion', 'fish', '--install']);
      expect((await sandbox.shell('fish -c \'complete -C "cloud im"\'')).stdout).toContain('images');
      await sandbox.here(['completion', 'fish', '--uninstall']);
      expect(existsSync(file)).toBe(false);
    });
  });
});
