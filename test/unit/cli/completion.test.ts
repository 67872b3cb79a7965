import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { printBash } from '../../../src/cli/completion/bash.ts';
import { printFish } from '../../../src/cli/completion/fish.ts';
import { listNames, readWords } from '../../../src/cli/completion/words.ts';
import { printZsh } from '../../../src/cli/completion/zsh.ts';
import { globalOptions } from '../../../src/cli/globals.ts';
import { printCommandTable } from '../../../src/cli/markdown.ts';
import { kebab } from '../../../src/config/settings.ts';
import { lacks } from '../../support/witnesses.ts';
import { commands, groups, tree } from './tree.ts';

const words = readWords(tree);
const scripts = { bash: printBash(words), zsh: printZsh(words), fish: printFish(words) };
const shells = Object.keys(scripts) as (keyof typeof scripts)[];

/** A pattern for an option as each script writes it. */
function findOption(shell: keyof typeof scripts, name: string): RegExp {
  if (shell === 'bash') return new RegExp(`[ ,"']${name}[ ,+"']`);
  return shell === 'zsh'
    ? new RegExp(`${name}[=+]?\\[`)
    : new RegExp(name.startsWith('--') ? ` -l ${name.slice(2)} ` : ` -s ${name.slice(1)} `);
}

/** The part of a script that is about one place. */
function findPlace(shell: keyof typeof scripts, path: string): string {
  if (shell === 'fish')
    return scripts.fish
      .split('\n')
      .filter((line) => line.includes(`__cloud_at \\'${path}\\'`))
      .join('\n');
  const body = scripts[shell].slice(scripts[shell].indexOf(shell === 'bash' ? '_cloud_place()' : '_cloud_specs()'));
  const from = body.indexOf(`\n    '${path}')`);
  return body.slice(from, body.indexOf(';;', from));
}

describe('the words of the tree', () => {
  it('has a place for every command and group, and every option there', () => {
    expect(words.places.map(({ path }) => path).sort()).toEqual(
      ['', 'help topic', ...[...commands, ...groups].map(([path]) => path)].sort(),
    );
    for (const [path, { options }] of commands) {
      const place = words.places.find((candidate) => candidate.path === path);
      const names = [...(place?.own ?? []), ...(place?.shared ?? [])].flatMap(listNames);
      for (const name of Object.keys({ ...globalOptions(), ...options })) expect(names).toContain(`--${kebab(name)}`);
      expect(new Set(names).size).toBe(names.length);
    }
  });

  it('leads nowhere but to places', () => {
    const paths = words.places.map(({ path }) => path);
    for (const { commands, fallback = '' } of words.places) {
      for (const target of [fallback, ...commands.map(({ target }) => target)]) expect(paths).toContain(target);
    }
  });
});

describe.each(shells)('the script for %s', (shell) => {
  it('has every option of every command', () => {
    for (const { path, own } of words.places) {
      const part = findPlace(shell, path);
      for (const name of own.flatMap(listNames)) expect(part).toMatch(findOption(shell, name));
    }
    for (const name of words.shared.flatMap(listNames)) expect(scripts[shell]).toMatch(findOption(shell, name));
  });

  it('has every name and alias of every command', () => {
    for (const { path, commands } of words.places) {
      for (const { name, aliases } of commands) {
        for (const word of [name, ...aliases]) expect(scripts[shell]).toContain(`'${path}/${word}'`);
      }
    }
  });

  it('is the same each time, and no machine shows in it', () => {
    const again = { bash: printBash, zsh: printZsh, fish: printFish }[shell](readWords(tree));
    expect(again).toBe(scripts[shell]);
    expect(scripts[shell]).not.toContain(process.cwd());
  });

  it.skipIf(lacks(shell))('is a script that the shell reads', () => {
    const folder = mkdtempSync(join(tmpdir(), 'cloud-completion-'));
    try {
      const file = join(folder, 'script');
      writeFileSync(file, scripts[shell]);
      const { status, stdout, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' });
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('the table of commands', () => {
  it('has a row for every noun, with its verbs', () => {
    const rows = printCommandTable(tree).split('\n');
    expect(rows).toHaveLength(tree.length + 2);
    expect(rows.find((row) => row.startsWith('| `cloud keys`'))).toMatch(/`list`, `get`, `create`, `delete`.*\| SSH keys of the account/);
    for (const row of rows) expect(row.replaceAll('\\|', '').split('|')).toHaveLength(5);
  });

  it('shows the verbs of a group within a noun with their words', () => {
    expect(printCommandTable(tree)).toContain('`config get`');
  });
});
