import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useSandbox } from '../support/sandbox.ts';

describe('completion --install', () => {
  const sandbox = useSandbox();
  const read = (name: string): string => readFileSync(join(sandbox.home, name), 'utf8');

  it.each([
    [
      'bash',
      '.local/share/bash-completion/completions/cloud',
      'bash -ic "source .local/share/bash-completion/completions/cloud; complete -p cloud"',
      '_cloud',
    ],
    ['zsh', '.local/share/cloud/completion.zsh', "zsh -ic 'print -r -- $_comps[cloud]'", '_cloud'],
    ['fish', '.config/fish/completions/cloud.fish', 'fish -c \'complete -C "cloud im"\'', 'images'],
  ])('puts the script of %s where a new shell reads it', async (shell, file, line, expected) => {
    const printed = await sandbox.cloud(['completion', shell]);
    const { code, stdout, stderr } = await sandbox.cloud(['completion', shell, '--install']);
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain(`Installed ${join(sandbox.home, file)}\n`);
    expect(read(file)).toBe(printed.stdout);
    expect((await sandbox.shell(line)).stdout).toContain(expected);
  });

  it('adds its line to the set-up of zsh once', async () => {
    sandbox.write('.zshrc', 'alias x=y');
    await sandbox.cloud(['completion', 'zsh', '--install']);
    const { stderr } = await sandbox.cloud(['completion', 'zsh', '--install']);
    expect(stderr).not.toContain('Added');
    expect(read('.zshrc')).toMatch(/^alias x=y\n[^\n]*completion\.zsh\n$/);
  });
});
