import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packages } from '../../support/witnesses.ts';

const root = resolve(import.meta.dirname, '../../..');

test('no file has lines that an unfinished merge left', () => {
  const { status, stdout, stderr } = spawnSync('git', ['grep', '-nE', String.raw`^(<<<<<<<|>>>>>>>|\|\|\|\|\|\|\|) `], {
    cwd: root,
    encoding: 'utf8',
  });
  expect([status, stdout, stderr]).toEqual([1, '', '']);
});

test('.ci/packages holds a name of a Debian package on each line, each once, and the package of every program that tests compare with', () => {
  const lines = readFileSync(join(root, '.ci/packages'), 'utf8').trimEnd().split('\n');
  expect(lines.filter((line) => !/^[a-z\d][a-z\d+.-]+$/.test(line))).toEqual([]);
  expect(lines).toHaveLength(new Set(lines).size);
  // bash is part of every Debian system.
  expect(Object.values(packages).filter((name) => name !== 'bash' && !lines.includes(name))).toEqual([]);
});

describe('.ci/install-packages', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cloud-packages-'));
  const bin = join(folder, 'bin');
  beforeAll(() => {
    mkdirSync(bin);
    mkdirSync(join(folder, '.ci'));
    cpSync(join(root, '.ci/install-packages'), join(folder, '.ci/install-packages'));
    // A system that has only the package `here`, and a mirror that has all but `nowhere`.
    const fake = (name: string, body: string): void => writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
    fake('id', 'echo 0');
    fake('dpkg-query', 'for last; do :; done; [ "$last" = here ] && printf installed');
    fake(
      'apt-get',
      `echo "$@" >>"${folder}/asked"; case "$*" in *nowhere*) echo "E: Unable to locate package nowhere" >&2; exit 100 ;; esac`,
    );
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function install(list: string): { status: number | null; said: string; asked: string } {
    writeFileSync(join(folder, '.ci/packages'), list);
    writeFileSync(join(folder, 'asked'), '');
    const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}` };
    const { status, stdout, stderr } = spawnSync(join(folder, '.ci/install-packages'), [], { env, encoding: 'utf8' });
    return { status, said: `${stderr}${stdout}`, asked: readFileSync(join(folder, 'asked'), 'utf8') };
  }

  test('asks nobody for what is installed', () => {
    expect(install('here\n')).toEqual({ status: 0, said: '', asked: '' });
  });

  test('installs what is missing', () => {
    expect(install('here\nzsh\njq\n')).toEqual({ status: 0, said: '', asked: 'update -qq\ninstall -y -qq zsh jq\n' });
  });

  test('shows what apt says and names each package that cannot be installed', () => {
    const { status, said } = install('here\nzsh\nnowhere\njq\n');
    expect([status, said]).toEqual([1, expect.stringMatching(/^E: Unable to locate package nowhere\n/)]);
    expect(said.trimEnd().split('\n').at(-1)).toBe('packages that cannot be installed: nowhere');
  });

  test('names lines that are no names of packages, and asks nobody', () => {
    const { status, said, asked } = install('zsh\n<<<<<<< HEAD\njq\n');
    expect([status, said, asked]).toEqual([1, expect.stringContaining('\n2:<<<<<<< HEAD\n'), '']);
  });
});
