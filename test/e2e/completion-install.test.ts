import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useSandbox } from '../support/sandbox.ts';
import { lacks } from '../support/witnesses.ts';

describe('completion --install', () => {
  const sandbox = useSandbox();
  const read = (name: string): string => readFileSync(join(sandbox.home, name), 'utf8');

  /** What a shell prints. With a socket as stdin, as others have it here, bash would load the script once more. */
  const runShell = (shell: string, words: readonly string[]): string =>
    execFileSync(shell, words, { env: sandbox.env, cwd: sandbox.home, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

  const installed = [
    [
      'bash',
      '.local/share/bash-completion/completions/cloud',
      ['-ic', 'source .local/share/bash-completion/completions/cloud; complete -p cloud'],
      '_cloud',
    ],
    ['zsh', '.local/share/cloud/completion.zsh', ['-ic', 'print -r -- $_comps[cloud]'], '_cloud'],
    ['fish', '.config/fish/completions/cloud.fish', ['-c', 'complete -C "cloud im"'], 'images'],
  ] as const;
  for (const [shell, file, words, expected] of installed)
    it.skipIf(lacks(shell))(`lets a new ${shell} load the script of the release that is installed then`, async () => {
      const { code, stdout, stderr } = await sandbox.cloud(['completion', shell, '--install']);
      expect([code, stdout]).toEqual([0, '']);
      expect(stderr).toContain(`Installed ${join(sandbox.home, file)}\n`);
      expect(read(file)).toContain(`cloud completion ${shell}`);
      expect(read(file).length).toBeLessThan(200);
      expect(runShell(shell, words)).toContain(expected);
    });

  it.skipIf(lacks('bash'))('follows an upgrade: what the program prints now is what bash completes', () => {
    const file = '.local/share/bash-completion/completions/cloud';
    sandbox.write('new/cloud', '#!/bin/sh\nexec "$HOME/bin/cloud" "$@" | sed s/images/pictures/g\n');
    const complete = 'COMP_WORDS=(cloud pic) COMP_CWORD=1 COMP_LINE="cloud pic" COMP_POINT=9; _cloud cloud pic; echo $COMPREPLY';
    const stdout = runShell('bash', ['-c', `chmod +x new/cloud; PATH="$PWD/new:$PATH"; source ${file}; ${complete}`]);
    expect(stdout).toBe('pictures\n');
  });

  it('doctor names a copy that an earlier release installed', async () => {
    const find = async (): Promise<object | undefined> => {
      const { stdout } = await sandbox.here(['doctor', '-j']);
      return (JSON.parse(stdout) as { check: string }[]).find(({ check }) => check === 'completion');
    };
    expect(await find()).toBeUndefined();
    sandbox.write('.config/fish/completions/cloud.fish', (await sandbox.here(['completion', 'fish'])).stdout);
    expect(await find()).toMatchObject({ status: 'warning', fix: 'cloud completion fish --install' });
  });

  it('adds its line to the set-up of zsh once', async () => {
    sandbox.write('.zshrc', 'alias x=y');
    await sandbox.here(['completion', 'zsh', '--install']);
    const { stderr } = await sandbox.here(['completion', 'zsh', '--install']);
    expect(stderr).not.toContain('Added');
    expect(read('.zshrc')).toMatch(/^alias x=y\n\[ -r [^\n]*completion\.zsh; } # cloud completion[^\n]*\n$/);
  });
});
